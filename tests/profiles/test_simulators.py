"""Output of full runs: Accel-Sim, MacSim, our own journal."""

import pytest
from sealed_lines import journal_of

from kernelpoint.errors import ProfileError
from kernelpoint.journal import PassRecord, ResultRecord, RunRecord
from kernelpoint.journal.text import text_of
from kernelpoint.profiles import read_profile


def accel_sim(launches, more=""):
    """Output of Accel-Sim on launches (uid, name, cycles, instructions), the noise included."""
    text = "Accel-Sim [build x]\n        *** GPGPU-Sim Simulator Version 4.2.0 ***\n-gpgpu_shmem_size   98304 # size\n"
    for uid, name, cycles, instructions in launches:
        text += (
            f"Processing kernel /somewhere/kernel-{uid}.traceg\n-kernel name = {name}\n-kernel id = {uid}\n"
            f"-grid dim = ({uid},2,1)\n-block dim = (128,1,1)\n-shmem = 64\n-nregs = 20\n-cuda stream id = 0\n"
            "-shmem base_addr = 0x00007fb057000000\n-local mem base_addr = 0x00007fb055000000\n"
            f"launching kernel name: {name} uid: {uid} cuda_stream_id: 0\n"
        )
        if cycles is not None:
            text += (
                f"kernel_name = {name} \nkernel_launch_uid = {uid} \nkernel_stream_id = 0\ngpu_sim_cycle = {cycles}\n"
            )
            text += f"gpu_sim_insn = {instructions}\ngpu_ipc =  1.5\ngpu_tot_sim_cycle = 1\n{more}"
    return text


def write(tmp_path, text):
    path = tmp_path / "output.txt"
    path.write_text(text)
    return path


def test_accel_sim_output_gives_cycles_shapes_and_traces(tmp_path):
    profile = read_profile(write(tmp_path, accel_sim([(1, "_Z1av", 5610, 1726), (2, "b", 6027, 99)])))
    assert profile.time.tolist() == [5610.0, 6027.0] and profile.counters["instructions"].tolist() == [1726.0, 99.0]
    assert profile.grid.tolist() == [[1, 2, 1], [2, 2, 1]] and profile.registers.tolist() == [20, 20]
    assert profile.shared_memory.tolist() == [64, 64] and profile.traces == ("kernel-1.traceg", "kernel-2.traceg")


def test_an_accel_sim_run_that_stopped_early_is_refused(tmp_path):
    with pytest.raises(ProfileError, match="launch 2 never finished"):
        read_profile(write(tmp_path, accel_sim([(1, "a", 5610, 1726), (2, "b", None, None)])))


def test_the_output_of_a_sampled_run_is_refused(tmp_path):
    with pytest.raises(ProfileError, match="sampled run"):
        read_profile(write(tmp_path, accel_sim([(1, "a", 1, 1)], "kernelpoint_skipped = 3\n")))


def macsim(starts, end, kernels=None, lcm=2, gpu=2):
    text = f"src/macsim.cc:842: (I=0  C=0):  Clock LCM           : {lcm}\n"
    text += f"src/macsim.cc:844: (I=0  C=0):  GPU clock frequency : {gpu} GHz\n"
    for i, start in enumerate(starts):
        place = f"/w/Kernel{i}/trace.txt current_index:{i} ({kernels or len(starts)})"
        text += f"src/process_manager.cc:426: (I=13  C={start}):  setup_process:0 {place}\n"
    if end is not None:
        text += (
            f"src/retire.cc:563: (I=13  C={end}):  ----- application 0 terminated (/w/Kernel2/trace.txt,0) at {end}\n"
        )
    return text


def test_macsim_output_gives_the_cycles_between_kernels(tmp_path):
    profile = read_profile(write(tmp_path, macsim([0, 7934, 15389], 23590)))
    assert profile.time.tolist() == [7934.0, 7455.0, 8201.0]
    assert profile.traces == ("Kernel0/trace.txt", "Kernel1/trace.txt", "Kernel2/trace.txt")


def test_ticks_of_macsim_become_cycles_of_the_gpu(tmp_path):
    profile = read_profile(write(tmp_path, macsim([0, 6000], 12000, lcm=6, gpu=2)))
    assert profile.time.tolist() == [2000.0, 2000.0]


@pytest.mark.parametrize("text", [macsim([0, 10], None), macsim([0, 10], 20, kernels=3)])
def test_a_macsim_run_that_stopped_early_is_refused(tmp_path, text):
    with pytest.raises(ProfileError, match="not complete"):
        read_profile(write(tmp_path, text))


def journal(results, counts=(2, 1), tail=""):
    first = RunRecord(kernelpoint="x", config={}, bound="none", estimate="mean", launches=list(counts), hashes={})
    records = [first, PassRecord(0), *(ResultRecord(p, i, 0, {"cycles": float(c)}) for p, i, c in results)]
    return journal_of([text_of(record).encode() for record in records]).decode() + tail


def test_a_journal_of_a_full_run_gives_its_results_process_by_process(tmp_path):
    profile = read_profile(write(tmp_path, journal([(1, 0, 30), (0, 1, 20), (0, 0, 10)], tail='{"type":"resu')))
    assert profile.time.tolist() == [10.0, 20.0, 30.0]


def test_a_journal_of_a_sampled_run_is_refused(tmp_path):
    with pytest.raises(ProfileError, match="2 of 3 launches have results"):
        read_profile(write(tmp_path, journal([(0, 0, 10), (1, 0, 30)])))


def test_a_damaged_journal_is_refused_with_its_line(tmp_path):
    with pytest.raises(ProfileError, match=":3: the line does not have its checksum"):
        read_profile(write(tmp_path, journal([]) + '{"type":"result","crc32":"00000000"}\n'))
