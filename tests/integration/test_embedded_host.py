"""From the simulator's option to the summary, through the plugin and the interpreter."""

import random
import re
import signal
import subprocess
import time

import pytest

import kernelpoint as kp
from kernelpoint.errors import JournalError
from kernelpoint.journal import load_run
from kernelpoint.journal.records import plain

RANDOM = "policy: random\nerror_budget: {relative_error: 0.05}"


def totals(text):
    return dict(re.findall(r"^(gpu_tot_\w+) = (\S+)", text, re.MULTILINE))


def test_policy_all_simulates_exactly_what_an_unsampled_run_does(bench):
    plain, sampled = bench.had(None), bench.had("policy: all")
    assert plain.returncode == sampled.returncode == 0, sampled.stderr
    assert totals(plain.stdout) == totals(sampled.stdout)
    assert "kernelpoint" not in plain.stdout
    summary = bench.report().content()
    assert summary["estimate"] == float(totals(plain.stdout)["gpu_tot_sim_cycle"]) and summary["half_width"] == 0


def test_random_sampling_states_a_bound_that_holds_the_full_run(bench):
    full = float(totals(bench.had(None).stdout)["gpu_tot_sim_cycle"])
    done = bench.had(RANDOM)
    assert done.returncode == 0, done.stderr
    summary = bench.report().content()
    assert summary["met"] and summary["skipped"] > 0
    assert abs(summary["estimate"] - full) <= summary["half_width"] + 0.01 * full  # the margin: skipping warms caches otherwise


def test_the_output_carries_the_estimate_and_what_it_rests_on(bench):
    lines = dict(re.findall(r"^(kernelpoint_\w+) = (\S+)", bench.had(RANDOM).stdout, re.MULTILINE))
    summary = bench.report().content()
    assert float(lines["kernelpoint_cycles"]) == pytest.approx(summary["estimate"])
    assert float(lines["kernelpoint_cycles_half_width"]) == pytest.approx(summary["half_width"])
    assert int(lines["kernelpoint_simulated"]) == summary["simulated"]


def test_what_the_traces_determine_is_summed_over_all_launches_under_a_policy_that_reads_none(bench):
    full, sampled = totals(bench.had(None).stdout), bench.had(RANDOM).stdout
    lines = dict(re.findall(r"^(kernelpoint_\w+) = (\S+)", sampled, re.MULTILINE))
    for name, total in (("instructions", "sim_insn"), ("ctas", "ctas"), ("warp_instructions", "warp_instructions")):
        assert lines[f"kernelpoint_{name}"] == totals(sampled)[f"gpu_tot_{total}"] == full[f"gpu_tot_{total}"]
        assert lines[f"kernelpoint_{name}_half_width"] == "0"
    ipc = float(full["gpu_tot_sim_insn"]) / float(lines["kernelpoint_cycles"])
    assert float(totals(sampled)["gpu_tot_ipc"]) == pytest.approx(ipc, abs=1e-4)


def test_what_no_simulated_launch_has_met_is_no_plain_zero(bench):
    sampled = bench.had(RANDOM).stdout
    lines = dict(re.findall(r"^(kernelpoint_\w+) = (\S+)", sampled, re.MULTILINE))
    unknown = set(re.search(r"^kernelpoint: half-width above .*:(.*)$", sampled, re.MULTILINE)[1].split())
    assert unknown and not unknown & {name.removeprefix("gpu_tot_") for name in totals(sampled)}
    assert not unknown & {name.removeprefix("kernelpoint_") for name, value in lines.items() if float_or_none(value) == 0}


def float_or_none(text):
    try:
        return float(text)
    except ValueError:
        return None


def test_a_refused_configuration_stops_the_run_before_cycle_0_with_one_message(bench):
    done = bench.run("policy: random\nplan: absent.kpplan")
    assert done.returncode == 1
    assert "cannot read the file absent.kpplan: No such file" in done.stderr and "Traceback" not in done.stderr
    assert "gpu_tot_sim_cycle" not in done.stdout and not bench.journal.exists()


def broken_copy(bench, launch):
    """The same list with the trace of one launch cut short."""
    folder = bench.folder / "broken"
    folder.mkdir()
    lines = bench.list_path.read_text().split()
    kernels = [i for i, line in enumerate(lines) if line.startswith("kernel")]
    for name in {lines[i] for i in kernels}:
        (folder / name).symlink_to(bench.list_path.parent / name)
    victim = lines[kernels[launch]]
    text = (bench.list_path.parent / victim).read_text()
    (folder / "kernel-broken.traceg").write_text(text[: len(text) // 2])
    lines[kernels[launch]] = "kernel-broken.traceg"
    (folder / "kernelslist.g").write_text("\n".join(lines) + "\n")
    return folder / "kernelslist.g"


def test_a_corrupt_trace_costs_the_bound_but_not_the_other_results(bench):
    bench.list_path = broken_copy(bench, 17)
    done = bench.run("policy: all")
    assert done.returncode == 3, done.stderr
    summary = bench.report().content()
    assert summary["lost"] == [17] and summary["half_width"] is None
    assert summary["simulated"] == summary["launches"] - 1 and summary["degraded"]


@pytest.mark.parametrize("policy", ["kernelpoint", "kernelpoint\nclusters: online"])
def test_a_corrupt_trace_in_a_sampled_run_is_one_launch_less_known_with_a_wider_bound(bench, policy):
    full = float(totals(bench.had(None).stdout)["gpu_tot_sim_cycle"])
    yaml = f"policy: {policy}\nerror_budget: {{relative_error: 0.2}}"
    bench.had(yaml)
    victim = min(bench.report().results)  # it is drawn
    bench.journal.unlink()
    bench.list_path = broken_copy(bench, victim)
    done = bench.run(yaml)
    assert done.returncode == 0, done.stderr
    summary = bench.report().content()
    sentences = [line for line in summary["degraded"] if "kernel-broken.traceg" in line]
    assert len(sentences) == 1 and f"launch {victim} " in sentences[0]
    assert summary["lost"] == [victim] and summary["skipped"] > 1 and summary["half_width"] is not None
    assert abs(summary["estimate"] - full) <= summary["half_width"] + 0.01 * full
    assert any("1 launch has no result" in line and "wider by" in line for line in summary["warnings"])


def test_runs_killed_at_random_moments_resume_to_the_same_summary(bench):
    yaml = "policy: random\nerror_budget: {relative_error: 0.002}"
    bench.run(yaml)
    whole = bench.report()
    expected = {unit: result.counters for unit, result in whole.results.items()}
    bench.journal.unlink()
    moments, kills = random.Random(11), 0
    for _ in range(4):
        process = subprocess.Popen(bench.command(yaml), cwd=bench.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for_results(bench, moments.randrange(1, 12), process)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        process.wait(timeout=60)
    assert bench.run(yaml).returncode == 0
    again = bench.report()
    assert kills > 0 and {unit: result.counters for unit, result in again.results.items()} == expected
    assert plain(again.summary) == plain(whole.summary), "each launch begins in a replayed state, whatever ran before it"


def wait_for_results(bench, more, process):
    """Until the journal has `more` results more than now, or the run ends."""
    seen, deadline = count_results(bench), time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline and count_results(bench) < seen + more:
        time.sleep(0.001)


def count_results(bench):
    return bench.journal.read_bytes().count(b'"type":"outcome"') if bench.journal.exists() else 0


def test_ctrl_c_leaves_a_journal_from_which_the_run_goes_on(bench):
    yaml = "policy: all"
    process = subprocess.Popen(bench.command(yaml), cwd=bench.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for_results(bench, 5, process)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) in (0, 130)
    before = count_results(bench)
    assert bench.run(yaml).returncode == 0
    assert before >= 5 and count_results(bench) == 200
    assert bench.report().content()["simulated"] == 200


def test_a_simulator_whose_journal_is_removed_ends_with_an_error_and_keeps_all_results(bench):
    with subprocess.Popen(
        bench.command("policy: random\nerror_budget: {relative_error: 0.002}"),
        cwd=bench.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        wait_for_results(bench, 5, process)
        bench.journal.unlink()
        said = process.stderr.read()
    kept = bench.folder / "run.kpjournal.1"
    assert process.returncode == 1
    assert f"was removed or replaced while the run went on; it is kept as {kept}" in said
    assert len(load_run(kept).results) >= 5 and not bench.journal.exists()


def test_another_budget_is_refused_by_its_key_where_predictions_sized_the_first_sample(bench):
    bench.had("policy: kernelpoint\nerror_budget: {relative_error: 0.05}")
    with pytest.raises(JournalError, match=r"relative_error: the journal has 0\.05, this run 0\.01") as refused:
        kp.simulate(bench.list_path, bench.journal, error_budget={"relative_error": 0.01})
    assert "the sample is sized for the error budget before the first launch" in str(refused.value)
