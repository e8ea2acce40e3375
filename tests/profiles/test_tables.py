"""The uniform CSV, results of a full simulation, and the door that tells formats apart."""

import gzip
import lzma

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_traces import shared

from kernelpoint.errors import ProfileError
from kernelpoint.profiles import read_profile
from kernelpoint.profiles.formats.tables import exact

UNIFORM = """idx,name,grid,block,regs,smem,stream,ts_us,dur_us,gpu
1,"void b<4, int>(int*)",16x2x1,128x1x1,32,2048,7,1661203462600478.25,2.5,V100
0,a(),1x1x1,32x1x1,16,0,7,1661203462600470,10,V100
2,ncclKernel_AllReduce(x),8x1x1,512x1x1,96,0,9,1661203462600490,100,V100
3,Memcpy HtoD (Pageable -> Device),,,,,7,1661203462600495,1,V100
"""
RESULTS = """launch_index,trace,kernel_name,cycles,instructions,l1_misses
1,kernel-2.traceg,b,200,20,
0,kernel-1.traceg,a,100,10,3
"""


def write(tmp_path, text, name="profile.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_a_uniform_csv_needs_no_more_than_names_and_times(tmp_path):
    profile = read_profile(write(tmp_path, "name,dur_us\nattention,2.5\nmlp,10\n"))
    assert [profile.names[i] for i in range(2)] == ["attention", "mlp"]
    assert profile.duration.tolist() == [2_500.0, 10_000.0]
    assert not profile.grid.any() and not profile.block.any()


def test_units_become_nanoseconds_and_launches_stand_in_program_order(tmp_path):
    profile = read_profile(write(tmp_path, UNIFORM))
    assert [profile.names[i] for i in range(3)] == ["a()", "void b<4, int>(int*)", "ncclKernel_AllReduce(x)"]
    assert profile.duration.tolist() == [10_000.0, 2_500.0, 100_000.0]
    assert profile.start.tolist() == [1661203462600470000, 1661203462600478250, 1661203462600490000]
    assert profile.grid.tolist()[1] == [16, 2, 1] and profile.block.tolist()[1] == [128, 1, 1]
    assert profile.registers.tolist() == [16, 32, 96] and profile.shared_memory.tolist() == [0, 2048, 0]


def test_copies_are_left_out_and_counted_and_nccl_can_be_dropped(tmp_path):
    profile = read_profile(write(tmp_path, UNIFORM))
    assert profile.left_out == {"memcpy": 1}
    assert profile.without_communication().size == 2
    assert profile.without_communication().left_out == {"memcpy": 1, "NCCL kernel": 1}


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress])
def test_compressed_files_are_read_the_same(tmp_path, compress):
    plain = read_profile(write(tmp_path, UNIFORM))
    path = tmp_path / "compressed"
    path.write_bytes(compress(UNIFORM.encode()))
    assert read_profile(path).hash() == plain.hash()


def test_results_of_a_simulation_have_cycles_and_counters_and_no_duration(tmp_path):
    profile = read_profile(write(tmp_path, RESULTS))
    assert profile.time.tolist() == [100.0, 200.0] and tuple(profile.traces) == ("kernel-1.traceg", "kernel-2.traceg")
    assert profile.instructions.tolist() == [10.0, 20.0]
    assert profile.counters["l1_misses"][0] == 3 and np.isnan(profile.counters["l1_misses"][1])


def test_what_is_known_without_results_has_no_time_and_no_counter_but_instructions(tmp_path):
    before = read_profile(write(tmp_path, RESULTS)).without_results()
    assert set(before.counters) == {"instructions"}
    with pytest.raises(ProfileError, match="no launch has a duration or cycles"):
        _ = before.time
    assert np.isnan(read_profile(write(tmp_path, UNIFORM)).without_results().duration).all()


def test_launches_taken_from_nowhere_are_unknown(tmp_path):
    profile = read_profile(write(tmp_path, UNIFORM)).take(np.array([1, -1]))
    assert profile.names[1] == "" and np.isnan(profile.duration[1]) and profile.registers[1] == -1
    assert profile.duration[0] == 2500.0


def test_equal_signatures_are_equal_launches(tmp_path):
    profile = read_profile(write(tmp_path, UNIFORM)).take(np.array([1, 0, 1, 2]))
    assert profile.signature.tolist() == [0, 1, 0, 2]


def test_a_missing_file_is_refused_by_name(tmp_path):
    with pytest.raises(ProfileError, match=r"absent\.csv cannot be read: No such file"):
        read_profile(tmp_path / "absent.csv")


@given(st.integers(0, 2**50), st.integers(0, 999))
def test_no_digit_of_a_timestamp_is_lost(whole, part):
    assert exact(f"{whole}.{part:03d}", 3, "x:1") == whole * 1000 + part


@pytest.mark.parametrize(
    ("name", "launches", "nccl"),
    [("v100_df_index", 19_370, 2_020), ("h100_owlv2", 4_330, 0), ("b200_eager", 768, 74)],
)
def test_real_profiles_are_read_whole(name, launches, nccl):
    profile = read_profile(shared(f"profiles/{name}.csv.gz"))
    assert profile.size == launches and np.isfinite(profile.duration).all()
    assert profile.without_communication().size == launches - nccl


def test_real_ground_truth_is_read_whole():
    profile = read_profile(shared("ground_truth/simpletorch_accelsim_qv100.csv.gz"))
    assert profile.size == 901 and profile.time.sum() == 5_103_506
