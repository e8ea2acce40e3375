"""The hook inside a miniature simulator: what is simulated, in which order, and what is left behind."""

import pytest

ALL = "pass 0:0 0:1 0:2 0:3 0:4 0:5"


def outputs(run):
    """Every file that a run left behind, but those of the option."""
    files = {path.name: path.read_bytes() for path in run.folder.iterdir() if path.name != "params.out"}
    return {name: content for name, content in files.items() if not name.startswith(("kernelpoint", "script"))}


def cycles(run):
    return {call[1]: int(call[5]) for call in run.calls("complete")}


def test_without_the_option_every_file_is_that_of_the_unpatched_simulator(simulator, unpatched, workload):
    before = unpatched.run(workload)
    expected, parameters = outputs(before), (before.folder / "params.out").read_text()
    run = simulator.run(workload)
    assert run.code == 0 and run.out == before.out and outputs(run) == expected
    assert [p.name for p in run.folder.iterdir() if "kernelpoint" in p.name] == []
    option = "kernel_sampling   =   NULL\n"
    assert (run.folder / "params.out").read_text().replace(option, "") == parameters


def test_simulating_every_launch_is_the_full_run(simulator, unpatched, workload):
    expected = outputs(unpatched.run(workload))
    run = simulator.run(workload, ALL)
    assert run.code == 0 and run.err == "" and outputs(run) == expected
    native = run.stats("general.stat.out")
    assert sum(cycles(run).values()) == native["CYC_COUNT_TOT"][0] == run.stats()["KERNELPOINT_CYCLES"][0]


def test_a_skipped_launch_opens_no_trace(simulator, workload):
    for path in (workload.parent / "Kernel2").iterdir():
        path.unlink()
    run = simulator.run(workload, "pass 0:0 0:2")
    assert run.code == 0 and run.err == "" and "kernel 0:1" not in run.out


def test_cycles_are_those_of_the_gpus_clock_not_ticks_of_all_clocks(simulator, workload):
    equal = cycles(simulator.run(workload, ALL))
    run = simulator.run(workload, ALL, "--ticks_per_cycle=3")
    assert cycles(run) == equal
    assert run.stats("general.stat.out")["CYC_COUNT_TOT"][0] > 2.9 * sum(equal.values())


def test_counters_beyond_32_bits_are_right(simulator, workload, warps):
    run = simulator.run(workload, ALL, "--dram_step=5000000000")
    requests = [float(call[call.index("dram_requests") + 1]) for call in run.calls("complete")]
    assert requests == [5e9 * warps for warps in warps.values()]
    assert run.stats()["KERNELPOINT_DRAM_REQUESTS"][0] == 2 * 5e9 * sum(warps.values()), "the plugin doubles it"
    large = simulator.run(workload, "pass 0:0\nestimate 7000000000 10").stats()
    assert large["KERNELPOINT_CYCLES"][0] > 5 * 7e9


def test_counters_that_a_tree_lacks_are_left_out(simulator, workload):
    words = simulator.run(workload, "pass 0:0").calls("complete")[0]
    assert words[8::2] == ["l1_accesses", "l1_misses", "dram_requests", "mispredictions"], "the miniature has no L2"


def test_half_widths_are_rounded_up_and_left_out_where_none_is_stated(simulator, workload):
    stats = simulator.run(workload, "pass 0:0").stats()
    total = stats["KERNELPOINT_CYCLES"][0]
    assert (stats["KERNELPOINT_CYCLE_SPEEDUP"][0], stats["KERNELPOINT_SAVED_SECONDS"][0]) == (2, 3)
    assert stats["KERNELPOINT_CYCLES_HALF_WIDTH"] == (3, pytest.approx(2.5 / total, rel=1e-4))
    assert "KERNELPOINT_INSTRUCTIONS_HALF_WIDTH" not in stats


def test_a_half_width_of_sampling_error_alone_says_so_in_its_name(simulator, workload):
    stats = simulator.run(workload, "pass 0:0\nbound l1_accesses 0.125").stats()
    assert stats["KERNELPOINT_L1_ACCESSES_SAMPLING_HALF_WIDTH"][1] == 0.125
    assert "KERNELPOINT_L1_ACCESSES_HALF_WIDTH" not in stats
    assert "KERNELPOINT_CYCLES_HALF_WIDTH" in stats


def test_a_counter_of_which_draws_tell_nothing_has_no_total(simulator, workload):
    run = simulator.run(workload, "pass 0:0\nbound l1_accesses 1e308")  # times its sum: infinite
    stats = run.stats()
    assert "KERNELPOINT_L1_ACCESSES" not in stats and "KERNELPOINT_L1_ACCESSES_SIMULATED" in stats
    assert "KERNELPOINT_L1_ACCESSES_SAMPLING_HALF_WIDTH" not in stats


def test_cycles_and_instructions_have_a_total_also_where_no_launch_was_simulated(simulator, workload):
    stats = simulator.run(workload, "pass \nestimate 5000 100").stats()
    launches = stats["KERNELPOINT_LAUNCHES"][0]
    assert stats["KERNELPOINT_CYCLES"][0] == 5000 * launches and stats["KERNELPOINT_INSTRUCTIONS"][0] == 100 * launches


def test_ratios_of_totals_are_reported_with_their_half_widths(simulator, workload):
    stats = simulator.run(workload, ALL).stats()
    ipc = stats["KERNELPOINT_INSTRUCTIONS"][0] / stats["KERNELPOINT_CYCLES"][0]
    assert stats["KERNELPOINT_IPC"] == (pytest.approx(ipc, rel=1e-5), pytest.approx(ipc, rel=1e-5))
    assert stats["KERNELPOINT_IPC_HALF_WIDTH"] == (0.001, pytest.approx(0.001 / ipc, rel=1e-5))


def test_launches_that_share_a_folder_are_launches_of_their_own(simulator, shared_folders):
    run = simulator.run(shared_folders, "pass 0:0 0:2 0:3")
    assert run.code == 0 and list(cycles(run)) == ["0:0", "0:2", "0:3"]
    assert cycles(run)["0:2"] < cycles(run)["0:0"], "warm by then"


def test_too_few_open_files_are_told_before_the_launch(simulator, workload):
    options = ("--warps_per_core=16",)
    assert simulator.run(workload, "pass 0:1", *options, limit=104).code == 0
    run = simulator.run(workload, "pass 0:1", *options, limit=103)
    assert run.code == 1 and "keeps 104 files open" in run.err and "allows 103" in run.err


def test_a_limit_of_the_simulator_ends_the_run_normally(simulator, workload, warps):
    run = simulator.run(workload, ALL, f"--max_insts1={warps[0] + 1}")
    assert run.code == 0 and run.kernels() == ["0:0", "0:1"] and len(run.calls("complete")) == 2
    stopped = simulator.run(workload, ALL, "--max_cycles=60")
    assert stopped.code == 0 and stopped.calls("abort")[0][1] == "0:1"


def test_what_cannot_be_sampled_is_refused_before_the_first_cycle(simulator, workload, two):
    without_value = ("--kernel_sampling=", "--kernel_sampling")
    refused = [
        (simulator.run(workload, ALL, "--repeat_trace=1"), "repeat_trace: got 1; allowed with kernel_sampling: 0"),
        (simulator.run(two, ALL), "trace_file_list: got 2 applications; allowed with kernel_sampling: 1."),
        *((simulator.run(workload, None, word), f"kernel_sampling: got {word}, which") for word in without_value),
    ]
    for run, reason in refused:
        assert run.code == 1 and reason in run.err and run.kernels() == [] and run.log == []


def test_a_list_without_kernels_or_without_gpu_applications_is_refused(simulator, workload):
    workload.write_text("nvbit\n14\n-1\n")
    assert "names no kernel" in simulator.run(workload, ALL).err
    workload.write_text("x86\n1\n-1\n")
    assert "names no GPU application" in simulator.run(workload, ALL).err


@pytest.mark.parametrize("name", ["./Kernel;touch${IFS}X/trace.txt", "./../trace.txt", "Kernel\u00e4/trace.txt"])
def test_a_name_that_no_tracer_gives_is_refused_before_the_simulator_sees_it(simulator, workload, name):
    with workload.open("a") as file:
        file.write(f"{name}\n")
    run = simulator.run(workload, ALL)
    assert run.code == 1 and "is refused: it" in run.err and run.kernels() == []


def test_the_configuration_hash_leaves_out_paths_and_follows_the_machine(simulator, workload):
    def hash_of(*options):
        return simulator.run(workload, "pass 0:0", *options).calls("open")[0][-1]

    assert hash_of() == hash_of("--out=.//")
    assert hash_of() != hash_of("--warps_per_core=9")


def test_the_option_may_stand_in_the_parameter_file(simulator, workload):
    run = simulator.run(workload, "pass 0:0", parameters="kernel_sampling script.txt\n")
    assert run.code == 0 and run.kernels() == ["0:0"]
