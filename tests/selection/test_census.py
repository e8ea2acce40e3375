"""Reading launch censuses, and profiles beside or in place of one."""

import pytest

from kernelpoint.errors import ConfigError, ProfileError
from kernelpoint.profiles import read_profile
from kernelpoint.selection import read_census
from kernelpoint.selection.census import with_profile

QUIET = [].append
NAMES = """Kernel0 name: _Z1aPf
  Grid size: (4, 2, 1), Block size: (128, 1, 1), maxBlockPerCore: 9, # of regs: 20, static shared mem: 64, dynamic shared mem: 8

Kernel1 name: void b<int>(int*, float)
  Grid size: (1, 1, 1), Block size: (32, 4, 1), maxBlockPerCore: 32, # of regs: 8, static shared mem: 0, dynamic shared mem: 0
"""
TIMES = """idx,name,grid,block,regs,smem,stream,ts_us,dur_us
0,gemm(float*),64x1x1,256x1x1,32,0,7,0,9
1,bias(),8x1x1,128x1x1,16,0,7,1,2
2,somebody_elses(),1x1x1,32x1x1,16,0,7,2,1
"""


def test_a_census_of_accel_sims_tracer_gives_names_and_shapes_of_every_launch(census):
    counted = read_census(census, None, QUIET)
    assert (counted.tracer, counted.numbers[0], counted.size) == ("accelsim", 1, 400)
    assert counted.names[0] == "_Z4gemmPf" and counted.grid[0].tolist() == [64, 1, 1]
    assert counted.block[3].tolist() == [64, 1, 1] and not counted.has_times


def test_instructions_that_the_tracer_counted_are_kept(census):
    census.write_text(census.read_text().replace("256, 0,0\n", "256, 5120,5120\n", 1))
    counts = read_profile(census).counters["warp_instructions"]
    assert counts[0] == 5120 and counts[1] != counts[1]


def test_a_census_of_macsims_tracer_counts_from_0(tmp_path):
    path = tmp_path / "kernel_names.txt"
    path.write_text(NAMES)
    counted = read_census(path, None, QUIET)
    assert (counted.tracer, counted.numbers[0], counted.size) == ("macsim", 0, 2)
    assert counted.names[1] == "void b<int>(int*, float)"
    assert counted.grid.tolist() == [[4, 2, 1], [1, 1, 1]]
    assert counted.shared_memory.tolist() == [72, 0] and counted.registers.tolist() == [20, 8]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("kernel-2-ctx", "kernel-9-ctx", "stats_ctx_0x5d0:3: expected kernel-2"),
        ("_Z4biasv, 8, 1,", "_Z4biasv, 0, 1,", "stats_ctx_0x5d0:3: grid and block sizes must be 1 or more"),
        ("_Z4biasv, 8, 1,", "_Z4biasv, x, 1,", "stats_ctx_0x5d0:3: expected a number"),
        ("kernel-2-ctx_0x5d0.trace.xz, _Z4biasv,", "", "stats_ctx_0x5d0:3: expected 'kernel-N"),
        (
            "kernel-2-ctx_0x5d0",
            "kernel-2-ctx_0x9",
            "stats_ctx_0x5d0:3: got a launch of a second CUDA context, 'ctx_0x9' after 'ctx_0x5d0'",
        ),
    ],
)
def test_a_damaged_census_is_refused_with_its_line(census, old, new, message):
    census.write_text(census.read_text().replace(old, new, 1))
    with pytest.raises(ProfileError, match=message):
        read_census(census, None, QUIET)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [("Kernel1 name", "Kernel5 name", "4: expected 'Kernel1 name"), ("Block size: (32", "Block: (32", "Grid size")],
)
def test_a_damaged_census_of_macsim_is_refused_with_its_line(tmp_path, old, new, message):
    path = tmp_path / "kernel_names.txt"
    path.write_text(NAMES.replace(old, new))
    with pytest.raises(ProfileError, match=message):
        read_census(path, None, QUIET)


def test_times_of_a_profile_go_to_the_launches_of_the_same_name_and_shape(census, tmp_path):
    profile = tmp_path / "profile.csv"
    names = ("gemm(float*)", "bias()", "relu()", "sum(float*)")
    rows = ""
    for launch in (launch for launch in range(400) if launch != 7):
        grid, block = (64 + (launch >= 200), 8, 16, 4)[launch % 4], (256, 128, 128, 64)[launch % 4]
        rows += f"{launch},{names[launch % 4]},{grid}x1x1,{block}x1x1,16,0,7,{launch},{launch + 1}\n"
    profile.write_text(TIMES.split("\n")[0] + "\n" + rows)
    said = []
    program = with_profile(read_census(census, None, QUIET), read_profile(profile), said.append)
    assert program.duration[8] == 9000.0 and program.duration[7] != program.duration[7]
    assert "399 of 400 launches are in the profile, matched by order" in said[0]


def test_a_profile_of_another_program_is_refused(census, tmp_path):
    profile = tmp_path / "profile.csv"
    profile.write_text(TIMES.replace("gemm", "conv").replace("bias", "relu"))
    with pytest.raises(ProfileError, match="only 0 of the 400 launches"):
        with_profile(read_census(census, None, QUIET), read_profile(profile), QUIET)


def test_a_profile_stands_for_a_census_where_the_tracer_is_named(tmp_path):
    profile = tmp_path / "profile.csv"
    profile.write_text(TIMES)
    with pytest.raises(ConfigError, match="--tracer is missing: "):
        read_census(profile, None, QUIET)
    said = []
    counted = read_census(profile, "macsim", said.append)
    assert (counted.numbers[0], counted.size) == (0, 3) and "a profile in place of the tracer's table" in said[0]


def test_traces_that_a_simulators_output_names_are_not_read_for_a_selection(tmp_path):
    (tmp_path / "results.csv").write_text("launch_index,trace,kernel_name,cycles\n0,kernel-1.traceg,k,500\n")
    assert not read_census(tmp_path / "results.csv", "accelsim", QUIET).has_traces


def test_a_census_of_another_tracer_than_was_named_is_refused(census):
    with pytest.raises(ConfigError, match="the tracer of accelsim made"):
        read_census(census, "macsim", QUIET)


def test_a_profile_of_several_processes_is_refused_because_a_tracer_numbers_each_of_them(tmp_path):
    head = "Index,KernelName,gpu-id,queue-id,pid,tid,grd,wgr,lds,BeginNs,EndNs\n"
    rows = (f"{i},gemm,0,0,{pid},1,256,64,0,{1000 * i + 1000},{1000 * i + 1900}\n" for i, pid in enumerate((7, 7, 9)))
    (tmp_path / "ranks.csv").write_text(head + "".join(rows))
    with pytest.raises(ConfigError, match="launches of 2 processes, and a tracer numbers"):
        read_census(tmp_path / "ranks.csv", "accelsim", print)
