"""MacSim's own statistics files after a sampled run: totals with half-widths, or marked names; never a sample's count."""

BOUNDS = "bound l1_accesses 0.1\nbound l1_misses 0.02"
FILES = ("general.stat.out", "memory.stat.out")


def first_line(run, name):
    return (run.folder / name).read_text().splitlines()[0]


def test_a_statistic_with_a_bound_is_the_total_and_its_half_width_follows(simulator, shared_folders):
    run = simulator.run(shared_folders, f"pass 0:0 0:2 0:3\nestimate 100 10\n{BOUNDS}")
    estimates, general, memory = run.stats(), run.stats("general.stat.out"), run.stats("memory.stat.out")
    assert general["CYC_COUNT_TOT"][0] == estimates["KERNELPOINT_CYCLES"][0]
    assert general["CYC_COUNT_TOT_HALF_WIDTH"] == estimates["KERNELPOINT_CYCLES_HALF_WIDTH"]
    accesses, misses = estimates["KERNELPOINT_L1_ACCESSES"][0], estimates["KERNELPOINT_L1_MISSES"][0]
    assert (memory["L1_MISS_GPU"][0], memory["L1_HIT_GPU"][0]) == (misses, accesses - misses)
    widths = memory["L1_MISS_GPU_SAMPLING_HALF_WIDTH"][0], memory["L1_HIT_GPU_SAMPLING_HALF_WIDTH"][0]
    assert widths[1] >= 0.1 * accesses + 0.02 * misses - 1 and widths[0] < widths[1]


def test_a_statistic_without_a_bound_has_a_marked_name(simulator, workload):
    run = simulator.run(workload, "pass 0:0 0:3\nestimate 100 10\nbound l1_misses 0.3")
    sampled, estimates = run.stats("memory.stat.out"), run.stats()
    assert not {"L1_HIT_GPU", "L1_MISS_GPU", "TOTAL_DRAM"} & set(sampled)
    assert sampled["L1_MISS_GPU_SIMULATED"][0] == estimates["KERNELPOINT_L1_MISSES_SIMULATED"][0]
    assert not [name for name in run.stats("general.stat.out") if name.startswith("INST_COUNT_TOT_HALF")]
    assert "INST_COUNT_TOT_SIMULATED" in run.stats("general.stat.out")


def test_the_first_line_says_that_the_run_was_sampled_and_where_totals_are(simulator, workload):
    run = simulator.run(workload, "pass 0:0 0:3\nestimate 100 10")
    for name in FILES:
        assert first_line(run, name).startswith("# kernelpoint: 2 of 6 launches were simulated.")
        assert first_line(run, name).endswith("All totals: kernelpoint.stat.out")


def test_a_file_of_one_application_holds_marked_names_only(simulator, workload):
    run = simulator.run(workload, f"pass 0:0 0:3\nestimate 100 10\n{BOUNDS}")
    assert all(name.endswith("_SIMULATED") for file in FILES for name in run.stats(f"{file}.0"))


def test_all_launches_from_replayed_state_are_no_full_run(simulator, workload, wanted):
    run = simulator.run(workload, f"replay\n{wanted(range(6))}")
    assert first_line(run, "general.stat.out").startswith("# kernelpoint: 6 of 6")


def test_where_clocks_differ_ticks_are_no_cycles(simulator, workload):
    run = simulator.run(workload, "pass 0:0 0:3\nestimate 100 10", "--ticks_per_cycle=3")
    statistics = run.stats("general.stat.out")
    assert "CYC_COUNT_TOT_SIMULATED" in statistics and "CYC_COUNT_TOT" not in statistics


def test_ramulators_own_file_is_set_aside(simulator, workload):
    """Ramulator writes it when the memory controllers are freed, before MacSim's statistics."""
    options = ("--dram_scheduling_policy=RAMULATOR",)
    run = simulator.run(workload, "pass 0:0 0:3\nestimate 100 10", *options)
    assert (run.folder / "ramulator.simulated.stat.out").read_text() == "ramulator.reads 8\n"
    assert all(line.startswith("#") for line in (run.folder / "ramulator.stat.out").read_text().splitlines())
    full = simulator.run(workload, "pass 0:0 0:1 0:2 0:3 0:4 0:5", *options)
    assert (full.folder / "ramulator.stat.out").read_text().startswith("ramulator.reads")
