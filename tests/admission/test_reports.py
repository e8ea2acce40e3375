"""The public reports: each is read with the right value, named, or refused."""

import numpy as np
import pytest

import kernelpoint as kp
from kernelpoint.admission import findings_of
from kernelpoint.cli.check import check
from kernelpoint.errors import AdmissionError, BudgetError, ProfileError
from kernelpoint.profiles import read_profile

SOUND, NAMED, REFUSED = 0, 1, 2
# Case -> exit code of `kernelpoint check --gpu v100`, and the kinds of its findings.
LISTS = {
    "plain": (SOUND, set()),
    "c01_list_ends_with_memcpy": (NAMED, {"ends-with-copy"}),
    "c03b_two_contexts_no_list": (REFUSED, "kernelslist_ctx_0x55d0.g, kernelslist_ctx_0x7a10.g"),
    "c04_empty_ctas": (REFUSED, {"missing-warps"}),
    "c06_only_first_kernel_processed": (REFUSED, {"unreadable"}),
    "c07_code_after_exit": (NAMED, {"single-warp-exits"}),
    "c10_addresses_all_zero": (REFUSED, {"zero-addresses"}),
    "c11_stream_pointer": (SOUND, set()),
    "c11b_stream_negative": (SOUND, set()),
    "c14_crlf_everywhere": (SOUND, set()),
    "c16_list_absolute_paths": (NAMED, {"names-not-read"}),
    "c16b_half_of_list_dot_slash": (NAMED, {"names-not-read"}),
    "c21_gzip_traces": (NAMED, {"container"}),
    "c22_mixed_containers": (NAMED, {"container"}),
    "c24_no_version_lines": (SOUND, set()),
    "c27_sm86_traces_on_qv100": (NAMED, {"newer-code"}),
    "c29_ctas_shuffled": (SOUND, set()),
    "c32_cta_outside_grid": (NAMED, {"unreadable"}),
    "c34_graph_captured_once": (SOUND, set()),
}
PROFILES = {
    "profiles/kineto_custom_allreduce.json": (NAMED, {"communication"}),
    "profiles/kineto_cut.json": (REFUSED, "ends or is damaged"),
    "profiles/kineto_overlap_same_stream.json": (REFUSED, {"overlapping-durations"}),
    "profiles/kineto_plain.json": (SOUND, set()),
    "profiles/kineto_ts0_dur0.json": (REFUSED, {"zero-durations"}),
    "profiles/kineto_two_gpus.json": (REFUSED, "launches of several GPUs, 0, 1"),
    "profiles/ncu_details.csv": (SOUND, set()),
    "profiles/nsys_graph_blocks.sqlite": (REFUSED, {"graph-blocks"}),
    "profiles/nsys_graph_replays.sqlite": (NAMED, {"graph-replays"}),
    "profiles/nsys_only_graph_blocks.sqlite": (REFUSED, "--cuda-graph-trace=node"),
    "profiles/nsys_plain.sqlite": (SOUND, set()),
    "profiles/rocprofv3_kernel_trace.csv": (SOUND, set()),
    "profiles/stats_ctx_0x55d0": (SOUND, set()),
    "profiles/stats_ctx_0x55d1": (SOUND, set()),
    "profiles/stats_ctx_0x66": (SOUND, set()),
    "outputs/o1_full.txt": (SOUND, set()),
    "outputs/o2_killed_between_kernels.txt": (REFUSED, {"cut-output"}),
    "outputs/o3_max_insn.txt": (REFUSED, {"limit-reached"}),
}


@pytest.mark.parametrize("case", [*LISTS, *PROFILES])
def test_a_report_is_judged_by_its_exit_code_and_kinds(reports, case, capsys):
    import json

    import typer

    code, wanted = {**LISTS, **PROFILES}[case]
    with pytest.raises(typer.Exit) as end:
        check([reports / case], ["v100"], None, True)
    (record,) = json.loads(capsys.readouterr().out)
    assert end.value.exit_code == code, record
    kinds = {finding["kind"] for finding in record["findings"]}
    assert kinds == wanted if isinstance(wanted, set) else wanted in record["error"]


def totals(folder, tmp_path, **keys):
    """Cycles of a full run on the embedded host, and its summary."""
    run = kp.simulate(folder, tmp_path / "run.kpjournal", "v100", "all", **keys).ended()
    return run.estimate, run


@pytest.mark.parametrize(
    "case",
    [
        "c11b_stream_negative",
        "c16_list_absolute_paths",
        "c16b_half_of_list_dot_slash",
        "c21_gzip_traces",
        "c24_no_version_lines",
    ],
)
def test_unusual_forms_of_the_same_traces_have_its_cycles(reports, tmp_path, case):
    plain, _ = totals(reports / "plain", tmp_path)
    assert totals(reports / case, tmp_path, resume="never")[0] == plain


def test_zero_addresses_take_the_bound_and_the_word_exact(reports, tmp_path):
    said = []
    _, summary = totals(reports / "c10_addresses_all_zero", tmp_path, log=said.append)
    assert summary.bound_scope == "nothing" and summary.half_width is None and not summary.met
    assert [finding.kind for finding in summary.findings] == ["zero-addresses"]
    assert np.isnan(summary.counters["cycles"].half_width)
    assert not any("exact" in line for line in said) and any("zero-addresses" in line for line in said)


def test_what_is_accepted_goes_on_with_its_bound_and_stands_in_the_journal(reports, tmp_path):
    said = []
    _, summary = totals(reports / "c10_addresses_all_zero", tmp_path, log=said.append, accept=["zero-addresses"])
    assert summary.half_width == 0.0 and summary.findings[0].accepted
    assert any("accepted: zero-addresses" in line for line in said)
    assert kp.Run.load(tmp_path / "run.kpjournal").header.config["accept"] == ["zero-addresses"]


def test_traces_that_cannot_meet_a_budget_refuse_plan_and_run(reports, tmp_path):
    case = reports / "c06_only_first_kernel_processed"
    with pytest.raises(BudgetError, match="cannot be met"):
        kp.Plan.from_traces(case)
    with pytest.raises(AdmissionError, match="11 of 12 launches cannot be read"):
        totals(case, tmp_path)


def test_two_contexts_are_two_programs(reports, tmp_path):
    case = reports / "c03b_two_contexts_no_list"
    alone = [totals(case / f"kernelslist_ctx_0x{name}.g", tmp_path, resume="never") for name in ("55d0", "7a10")]
    assert alone[0][1].launches == alone[1][1].launches == 6


@pytest.mark.parametrize(
    ("case", "size", "total"),
    [
        ("ncu_default_long.csv", 2, 7500.0),
        ("nsys_gui_events.csv", 3, 296_991.0 + 45_600 + 1_250_000),
        ("nsys_kern_exec_trace.csv", 2, 7500.0),
        ("nsys_stdout.csv", 2, 7500.0),
        ("nsys_stdout_with_preamble.csv", 2, 7500.0),
        ("nvprof_gpu_trace.csv", 2, 7500.0),
        ("rocprof_v1_results.csv", 2, 7500.0),
        ("rocprofv3_kernel_trace.csv", 2, 7500.0),
    ],
)
def test_profiles_of_every_tool_have_their_launches_and_times(shared_cases, case, size, total):
    profile = read_profile(shared_cases / "refused_profiles" / case)
    assert profile.size == size and profile.duration.sum() == pytest.approx(total, rel=1e-12)
    assert profile.names[0] in ("kernel_a", "kernel_a(float*)") and not findings_of(profile)
    if case != "nsys_gui_events.csv":
        ctas = 256 if "rocprof" in case else 64  # of 65,536 work items
        assert profile.grid.tolist() == [[ctas, 1, 1]] * 2 and profile.block.tolist() == [[256, 1, 1]] * 2


def test_a_summary_of_kernels_is_refused_with_what_to_export(shared_cases):
    with pytest.raises(ProfileError, match="cuda_gpu_trace"):
        read_profile(shared_cases / "refused_profiles" / "nsys_kern_sum.csv")
