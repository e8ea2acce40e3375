"""The hook inside a miniature simulator: what is simulated, in which order, and what is printed."""

import os
import re
from pathlib import Path

import pytest
import yaml
from trace_writer import cta, numbered, small_trace

import kernelpoint

PLUGIN = Path(kernelpoint.__file__).parent / "lib" / "libkernelpoint.so"
LAUNCHES = range(6)
TOTAL = "kernelpoint_total"
ROWS = ("-kernel_sampling_rows", "1")


def uids(run):
    return [int(line.rsplit("uid: ", 1)[1]) for line in run.lines("launching kernel name")]


def before_estimates(text):
    return text.split("kernelpoint: launches that")[0].replace("kernelpoint", "")


def test_without_the_option_only_its_own_line_of_the_dump_tells_of_the_patch(simulator, workload):
    run = simulator.run(workload)
    assert run.code == 0 and uids(run) == [1, 2, 3, 4, 5, 6]
    ours = [line for line in run.out.splitlines() if "kernelpoint" in line.lower() or "kernel_sampling" in line]
    assert ours == run.lines("-kernel_sampling") and len(ours) == 2
    assert "NULL" in run.lines("-kernel_sampling")[0]


def test_simulating_every_launch_prints_what_the_full_run_prints(simulator, workload):
    full, sampled = simulator.run(workload), simulator.run(workload, "pass 0 1 2 3 4 5")
    lines = [line for line in before_estimates(sampled.out).splitlines() if not line.startswith("-kernel_sampling")]
    expected = [line for line in full.out.splitlines() if not line.startswith(("-kernel_sampling", "GPGPU-Sim:"))]
    assert lines == expected
    assert sampled.values("gpu_tot_sim_cycle")[-1] == full.values("gpu_tot_sim_cycle")[-1]
    assert sampled.values("L2_total_cache_accesses")[-2] == full.values("L2_total_cache_accesses")[-1]


@pytest.mark.parametrize("wanted", [[], [1, 2, 3, 4]], ids=str)
def test_the_run_ends_normally_whichever_launches_are_skipped(simulator, workload, wanted):
    run = simulator.run(workload, "pass " + " ".join(map(str, wanted)) + "\nestimate 100 10")
    assert run.code == 0 and run.err == ""
    assert uids(run) == [launch + 1 for launch in wanted]
    assert run.out.splitlines()[-1] == "GPGPU-Sim: *** exit detected ***"
    assert run.values("kernel_launch_uid")[-1] == "6" and run.values("kernel_name")[-1] == TOTAL


def test_a_skipped_launch_opens_no_trace(simulator, workload):
    workload.with_name("kernel-2.traceg").unlink()
    run = simulator.run(workload, "pass 0 4")
    assert run.code == 0
    assert [line.rsplit("/", 1)[1] for line in run.lines("Processing kernel")] == ["kernel-1.traceg", "kernel-5.traceg"]


def test_copies_come_once_in_their_order_before_the_launches_behind_them(simulator, workload):
    run = simulator.run(workload, "pass 1 2\npass 0 5\npass 3")
    events = [re.sub(r".*(0x\d|uid: \d).*", r"\1", line) for line in run.lines("launching ")]
    # Of the first pass: the copies before launches 1 and 2; then the rest of that pass; later passes bring none.
    assert events == ["0x0", "uid: 2", "0x2", "uid: 3", "0x4", "uid: 1", "uid: 6", "uid: 4"]


def test_a_result_carries_the_cycles_instructions_and_counters_of_its_launch_alone(simulator, workload):
    run = simulator.run(workload, "pass 1 3")
    words = [dict(zip(call[2::2], call[3::2], strict=True)) for call in run.calls("complete")]
    assert [w["instructions"] for w in words] == [str(40 * 64), str(300 * 64)]
    assert [w["cycles"] for w in words] == ["48", "308"]
    assert [w["l2_accesses"] for w in words] == ["40", "300"]
    assert [w["warp_instructions"] for w in words] == ["40", "300"]
    assert [w["dram_reads"] for w in words] == ["1", "1"]
    assert "energy" not in words[0]


def test_energy_is_power_times_time_where_power_is_on(simulator, workload):
    run = simulator.run(workload, "pass 1 3", "-power", "1")
    energies = [float(call[call.index("energy") + 1]) for call in run.calls("complete")]
    assert energies == pytest.approx([50 * 48 / 1e9, 50 * 308 / 1e9])
    (report,) = (path for path in workload.parent.iterdir() if "kernelpoint_energy" in path.read_text("latin-1"))
    first, *lines = report.read_text().splitlines()
    assert first == "kernelpoint: a sample: 2 of 6 launches count; the whole run is estimated at the end"
    assert "kernelpoint: everything above is of simulated launches: 2 of the 6 of the run count" in lines
    whole = dict(line.split(" = ") for line in lines if " = " in line)
    assert float(whole["kernelpoint_energy"]) == pytest.approx(2 * sum(energies)), "the scripted plugin doubles it"
    assert float(whole["gpu_tot_avg_power"]) == pytest.approx(100), "twice the energy in the time of the sample"
    assert "kernelpoint_average_power_half_width" in whole
    delay = float(whole["kernelpoint_energy_delay_product"])
    assert delay == pytest.approx(2 * sum(energies) * (48 + 308) / 1e9)
    assert float(whole["gpu_avg_L2CP,"]) == pytest.approx(14), "mean power of a part, under AccelWattch's own name"


def test_the_totals_at_the_end_are_the_estimates_under_the_native_names(simulator, workload):
    run = simulator.run(workload, "pass 1 3\nestimate 100 10")
    assert run.values("kernel_name")[-1] == TOTAL
    assert run.values("gpu_tot_sim_cycle")[-1] == str(48 + 308 + 4 * 100)
    assert run.values("gpu_tot_sim_insn")[-1] == str(340 * 64 + 4 * 10)
    assert run.values("L2_total_cache_accesses")[-1] == "680", "the scripted plugin doubles every counter"
    assert run.values("kernelpoint_cycles") == ["756"] and run.values("kernelpoint_cycles_half_width") == ["2.5"]
    assert run.values("kernelpoint_cycle_speedup") == ["2"] and run.values("kernelpoint_saved_seconds") == ["3"]
    assert run.values("kernelpoint_simulated") == ["2"] and run.values("kernelpoint_skipped") == ["4"]


def test_a_counter_of_which_too_little_is_known_does_not_stand_under_its_own_name(simulator, workload):
    run = simulator.run(workload, "pass 1 3\nbound l2_misses 0.26\nbound l2_accesses 0.24")
    lines = run.out.split(f"kernel_name = {TOTAL}")[2].splitlines()
    printed = {name.strip(): value.strip() for name, value in (line.split("=") for line in lines if "=" in line)}
    assert printed["L2_total_cache_accesses"] == "680" and printed["total dram reads"] == "4"
    assert printed["L2_total_cache_misses"] == "nan", "its half-width is above a quarter of it"
    assert printed["total dram writes"] == "nan", "no simulated launch has written, the others may"
    assert "kernelpoint_dram_writes" not in printed and "kernelpoint_dram_reads" in printed
    (loose,) = run.lines("kernelpoint: nan, half-width above 25 %")
    (unseen,) = run.lines("kernelpoint: nan, not met by any simulated launch")
    assert "l2_misses" in loose.split() and "dram_writes" in unseen.split() and "l2_accesses" not in loose + unseen


def test_a_counter_of_which_no_simulated_launch_has_any_is_zero_where_it_has_an_upper_limit(simulator, workload):
    run = simulator.run(workload, "pass 1 3\nat_most dram_writes 90")
    assert run.values("total dram writes")[-1] == "0" and run.values("kernelpoint_dram_writes_at_most") == ["90"]
    assert not any("dram_writes" in line for line in run.lines("kernelpoint: nan"))


def test_a_part_of_the_power_that_is_0_in_each_simulated_launch_is_0_where_it_has_an_upper_limit(simulator, workload):
    run = simulator.run(workload, "pass 1 3\nat_most energy_tensorp 9", "-power", "1")
    (report,) = (path for path in workload.parent.iterdir() if "kernelpoint_energy" in path.read_text("latin-1"))
    lines = report.read_text().splitlines()
    whole = dict(line.split(" = ") for line in lines if " = " in line)
    assert run.values("kernelpoint_energy_tensorp_at_most") == ["9"]
    assert whole["gpu_avg_TENSORP,"] == "0" and "kernelpoint_avg_TENSORP_half_width" not in whole
    seconds = (48 + 308 - 2.5) / 1e9
    assert float(whole["kernelpoint_avg_TENSORP_at_most"]) == pytest.approx(9 / seconds, rel=0.02)
    (zero,) = [line for line in lines if "nan, 0 in each simulated launch" in line]
    assert "TEXP" in zero.split() and "TENSORP" not in zero.split(), "of the others nothing limits the total"


def test_zero_is_a_count_where_every_launch_was_simulated(simulator, workload):
    run = simulator.run(workload, "pass 0 1 2 3 4 5")
    assert run.values("total dram writes") == ["0"] and not run.lines("kernelpoint: nan")


def test_blocks_of_skipped_launches_carry_on_the_totals_up_to_the_estimate(simulator, workload):
    run = simulator.run(workload, "pass 1 3\nestimate 100 10", *ROWS)
    assert run.values("gpu_tot_sim_cycle") == ["48", "48", "356", "356", "456", "556", "656", "756", "756"]
    blocks = run.out.split("kernel_name = ")[3:-2]
    assert [block.splitlines()[0] for block in blocks] == ["work0", "work2", "work1", "work2"]
    for block in blocks:
        assert "L2_total_cache_accesses = nan" in block, "nothing is known of one launch's counters"


def rows(text, key):
    """Rows of upstream's scripts with -k -K: differences of a running total from one kernel_name to the next."""
    differences, last, previous = [], 0.0, False
    for block in text.split("kernel_name = ")[1:]:
        values = [float(line.split("=")[1]) for line in block.splitlines() if line.startswith(f"{key} =")]
        if values:
            differences.append((block.splitlines()[0].strip(), values[-1] - (last if previous else 0.0)))
            last = values[-1]
        previous = bool(values)
    return differences


def test_rows_of_the_scripts_are_the_launches_that_count_each_whole_and_the_total(simulator, workload):
    run = simulator.run(workload, "pass 1 3\nuncounted 1\npass 0 5\nestimate 100 10")
    assert uids(run) == [4, 1, 6]
    names = ["work0", "work0", "work2", TOTAL]
    for key, amounts in {
        "gpu_tot_sim_cycle": [308, 12, 16, None],
        "gpu_tot_sim_insn": [300 * 64, 4 * 64, 8 * 64, None],
        "L2_total_cache_accesses": [300, 4, 8, None],
        "kernel_launch_uid": [1, 1, 1, 6],
    }.items():
        read = rows(run.out, key)
        read = [*read[:3], read[-1]]  # the scripted plugin takes launch 1 for one of an earlier process
        assert [name for name, _ in read] == names
        for (_, row), amount in zip(read, amounts, strict=True):
            assert row == amount or (amount is None and row == float(run.values(key)[-1])), key


def test_the_last_line_of_each_name_that_is_no_total_is_nan(simulator, workload):
    run = simulator.run(workload, "pass 1 3")
    assert run.values("gpu_ipc")[-1] == "nan" and run.values("gpu_occupancy") == ["nan%"]
    assert run.values("L2_BW") == ["nan GB/Sec"] and run.values("gpgpu_silicon_slowdown") == ["nanx"]
    assert run.values("gpgpu_simulation_rate") == ["nan (inst/sec)", "nan (cycle/sec)"]
    assert re.search(r"\(\d+ sec\)", run.values("gpgpu_simulation_time")[-1])


REGEXES = os.environ.get("KERNELPOINT_ACCELSIM_STATS")


@pytest.mark.skipif(not REGEXES, reason="KERNELPOINT_ACCELSIM_STATS names no folder util/job_launching/stats")
def test_each_regex_that_upstream_ships_finds_a_line_of_the_final_block(simulator, workload):
    run = simulator.run(workload, "pass 1 3\nestimate 100 10")
    block = run.out.split(f"kernel_name = {TOTAL}")[2].splitlines()
    files = list(Path(REGEXES).glob("*.yml"))
    assert files, REGEXES
    for path in files:
        kinds = yaml.safe_load(path.read_text())
        for regex in (regex for kind in kinds.values() for regex in kind):
            matches = [match for match in map(re.compile(regex).search, block) if match]
            assert matches, regex
            # The regex of L2_BW captures nothing, of the simulator's own lines neither.
            assert re.match(r"(nan|\d|$)", matches[-1].group(1).strip()), regex


def test_a_launch_that_another_process_simulated_has_its_own_counters(simulator, workload):
    run = simulator.run(workload, "done 0 70 20 3\npass 1 3\nestimate 100 10")
    rows, _, whole = run.out.partition("kernelpoint: the whole run, estimated")
    others = rows.partition("kernelpoint: launches that this process did not simulate")[2]
    before = sum(int(dict(zip(call[2::2], call[3::2], strict=True))["l2_accesses"]) for call in run.calls("complete"))
    assert f"L2_total_cache_accesses = {before + 3}\n" in others, "running totals, of which a row is the difference"
    assert "nan" not in others and whole


def test_a_launch_that_an_earlier_process_simulated_is_not_called_estimated(simulator, workload):
    run = simulator.run(workload, "done 0 70 20\npass 1 3\nestimate 100 10")
    assert run.values("kernelpoint_estimated") == ["0"] and run.values("gpu_sim_cycle")[-1] == "70"
    run = simulator.run(workload, "done 0 70 20\npass 1 3\nestimate 100 10", *ROWS)
    assert run.values("kernelpoint_estimated") == ["0", "1", "1", "1"]
    assert run.values("gpu_sim_cycle")[-4:] == ["70", "100", "100", "100"]


def test_a_launch_that_does_not_count_is_not_shown_so_that_rows_add_up_to_the_total(simulator, workload):
    run = simulator.run(workload, "pass 1 2\nuncounted 1\nestimate 70.4 700.4", *ROWS)
    cycles = [int(value) for value in run.values("gpu_sim_cycle")]
    assert len(cycles) == 6 and sum(cycles) == int(run.values("gpu_tot_sim_cycle")[-1])
    assert run.lines("kernelpoint: launch 1 is simulated for validation or to warm up; its output is left out")


def test_a_skipped_launch_has_the_name_that_the_plugin_knows(simulator, workload):
    run = simulator.run(workload, "pass 1 3\nestimate 100 10\nname 2 gemm", *ROWS)
    blocks = run.out.split("kernel_name = ")[3:-2]
    assert [block.splitlines()[0] for block in blocks] == ["work0", "gemm", "work1", "work2"]


def test_messages_of_the_plugin_leave_standard_error_empty(simulator, workload):
    run = simulator.run(workload, "pass 1\nsay hello")
    assert run.lines("hello") == ["hello"] and run.err == ""


def test_ratios_are_printed_with_their_bounds(simulator, workload):
    run = simulator.run(workload, "pass 1 3")
    ipc = 340 * 64 / (48 + 308)
    assert float(run.values("kernelpoint_ipc")[0]) == pytest.approx(ipc)
    assert run.values("kernelpoint_ipc_half_width") == ["0.001"]
    assert float(run.values("kernelpoint_ipc_relative_half_width")[0]) == pytest.approx(0.001 / ipc)


def test_a_launch_is_stopped_inside_and_its_resident_ctas_drain(simulator, workload):
    run = simulator.run(workload, "pass 3 5\ninterval 50\nstop 3 100")
    calls = run.calls("progress")
    assert [call[3] for call in calls] == ["50", "100"], "none after the stop, none for the short launch"
    assert calls[-1][5:10:2] == ["100", "92", "300"], "issued, completed, all"
    complete = run.calls("complete")
    assert complete[0][1:6] == ["3", "flags", "1", "cycles", "108"]
    assert complete[1][1:4] == ["5", "flags", "0"]
    assert run.values("kernelpoint_projected") == ["1"]


def test_blocks_of_skipped_launches_do_not_carry_what_a_stopped_launch_had_left_to_do(simulator, workload):
    run = simulator.run(workload, "pass 3 5\ninterval 50\nstop 3 100\nwhole 3 308 19200\nestimate 100 10", *ROWS)
    simulated = int(run.values("gpu_tot_sim_cycle")[3])
    rest = 308 - 108
    expected = [simulated + rest + 100 * others for others in (1, 2, 3, 4)]
    assert [int(total) for total in run.values("gpu_tot_sim_cycle")[4:]] == [*expected, expected[-1]]
    assert [int(cycles) for cycles in run.values("gpu_sim_cycle")[2:6]] == [100] * 4


@pytest.mark.parametrize(
    "damage, reason",
    [
        (lambda whole: "", "empty file"),
        (lambda whole: "garbage\n#END_TB\n", "kernel-3.traceg"),
        (lambda whole: whole[: whole.index("#END_TB")], "kernel-3.traceg"),
        (lambda whole: whole.replace("ffffffff", "fff%ffff"), "fff%ffff"),
    ],
    ids=["empty", "garbage", "truncated", "damaged in its middle"],
)
def test_a_broken_trace_is_not_opened_and_the_run_goes_on(simulator, tmp_path, damage, reason):
    whole = small_trace(cta(["0000 ffffffff 0 MOV 0 0"]))
    for launch in LAUNCHES:
        (tmp_path / f"kernel-{launch}.traceg").write_text(numbered(whole, f"kernel-{launch}"))
    (tmp_path / "kernelslist.g").write_text("".join(f"kernel-{launch}.traceg\n" for launch in LAUNCHES))
    script = f"version: 1\npolicy: random\nerror_budget.relative_error: 0.001\njournal: {tmp_path}/run.kpjournal\n"
    (tmp_path / "kernel-3.traceg").write_text(damage(whole))
    run = simulator.run(tmp_path / "kernelslist.g", script, plugin=str(PLUGIN))
    assert run.code == 0 and run.err == ""
    assert uids(run) == [1, 2, 3, 5, 6]
    assert not any("kernel-3.traceg" in line for line in run.lines("Processing kernel"))
    assert any("kernel-3.traceg" in line and reason in line for line in run.lines("kernelpoint: degraded"))


def test_a_trace_without_a_header_is_an_error_and_not_an_empty_kernel(simulator, workload):
    workload.with_name("kernel-3.traceg").write_text("-kernel name = a\n#BEGIN_TB\n#END_TB\n")
    run = simulator.run(workload, "pass 0 2 4")
    assert run.code == 1 and "no grid" in run.err and [call[1] for call in run.calls("complete")] == ["0"]


def test_overlapping_kernels_are_refused_before_the_first_cycle(simulator, workload):
    run = simulator.run(workload, "pass 0", "-gpgpu_concurrent_kernel_sm", "1")
    assert run.code == 1 and "gpgpu_concurrent_kernel_sm: got 1; allowed" in run.err
    assert run.lines("launching") == []


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("kernel-1;touch X;.traceg.xz", "it contains ';'"),
        ("kernel-1.traceg.xz X", "it contains a space"),
        ("kernel-$(touch${IFS}X).traceg.xz", "it contains '$'"),
        ("kernel/../../kernel-1.traceg", "its part '..' leads outside"),
        ("kernel-1.traceg\r", "it contains the byte 0x0d"),
        ("kernel-\u00e4.traceg", "it contains the byte 0xc3"),
    ],
)
def test_a_name_that_a_shell_would_run_is_refused_before_the_simulator_sees_it(simulator, workload, tmp_path, name, reason):
    """The user's own folder may have any name; the text of a list may not."""
    listed = workload.parent.rename(tmp_path / "my traces") / workload.name
    listed.write_text(f"kernel-1.traceg\n{name}\n", newline="")
    run = simulator.run(listed, "pass 0 1")
    assert run.code == 1 and reason in run.err and "Processing" not in run.out
    assert not list(tmp_path.rglob("X")) and run.calls("open") == []
    listed.write_text("kernel-1.traceg\nkernel-2.traceg\n")
    assert simulator.run(listed, "pass 0 1").code == 0


@pytest.mark.parametrize("size", ["4294967296", "-1", "9" * 30, ""])
def test_a_copy_that_the_simulator_would_never_end_is_refused(simulator, workload, size):
    workload.write_text(f"MemcpyHtoD,0x0,{size}\nkernel-1.traceg\n")
    run = simulator.run(workload, "pass 0")
    assert run.code == 1 and f'copy "MemcpyHtoD,0x0,{size}"' in run.err and run.calls("open") == []


@pytest.mark.parametrize("text", ["MemcpyHtoD,0x0000,256\n", "el-2.traceg\n", "./kernel-1.traceg\n"])
def test_a_list_of_which_the_simulator_reads_no_launch_is_refused(simulator, workload, text):
    workload.write_text(text)
    run = simulator.run(workload, "pass 0")
    assert run.code == 1 and "names no launch that the simulator reads" in run.err and run.calls("open") == []


def test_the_configuration_hash_depends_on_the_simulated_gpu_alone(simulator, workload, tmp_path):
    def digest(*options):
        return simulator.run(workload, "pass 0", *options).calls("open")[0][5]

    moved = tmp_path / "elsewhere" / "kernelslist.g"
    moved.parent.mkdir()
    for path in workload.parent.iterdir():
        (moved.parent / path.name).write_bytes(path.read_bytes())
    assert simulator.run(moved, "pass 0").calls("open")[0][5] == digest()
    assert digest("-power", "1") != digest()


def test_a_failed_assertion_of_the_simulator_is_told_before_the_process_ends(simulator, workload):
    run = simulator.run(workload, "pass 0 2 4", "-assert_in", "3")
    assert run.code == -6 and [call[1] for call in run.calls("complete")] == ["0"]
    (words,) = run.calls("abort")
    assert words[1] == "2" and " ".join(words).endswith("the simulator ended in it: an assertion failed")
    assert "goes on without it" in run.err
