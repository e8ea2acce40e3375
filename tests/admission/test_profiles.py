"""Every check of profiles and outputs finds its input, names its share, and leaves a sound one alone."""

import math
from dataclasses import replace

import pytest
from profiler_files import write_nsys_tables

from kernelpoint.admission import Effect, admit, admitted_profile, findings_of, in_graphs
from kernelpoint.errors import AdmissionError, ProfileError
from kernelpoint.profiles import read_profile
from kernelpoint.program import ProgramBuilder, Remark
from kernelpoint.program.communication import communication


def profile_of(rows):
    """A profile of (name, start, duration, stream, call) in ns."""
    builder = ProgramBuilder("made.csv")
    for name, start, duration, stream, call in rows:
        builder.add(name, (2, 1, 1), (64, 1, 1), stream=stream, start=start, duration=duration, order=call)
    return builder.finish()


def sound(count=200):
    return [(f"k{i % 3}", 1000 + 10_000 * i, 5000.5 + i, 7, i + 1) for i in range(count)]


def by_kind(profile):
    return {finding.kind: finding for finding in findings_of(profile)}


def test_a_sound_profile_has_no_finding():
    assert findings_of(profile_of(sound())) == []


@pytest.mark.parametrize(("lost", "outcome"), [(1, Effect.NAMED), (3, Effect.REFUSES)])
def test_calls_whose_kernels_are_lost_are_named_and_their_share_refuses(lost, outcome):
    profile = profile_of(sound(198))
    case = by_kind(replace(profile, remarks={"lost-kernels": Remark(lost)}))["lost-kernels"]
    assert case.outcome is outcome and case.launches == lost / (198 + lost)


def changed(rows, which, **parts):
    names = ("name", "start", "duration", "stream", "call")
    return [tuple(parts.get(n, v) for n, v in zip(names, row, strict=True)) if which(i) else row for i, row in enumerate(rows)]


DAMAGES = {
    "zero-durations": dict(duration=0.0),
    "negative-durations": dict(duration=-40.0),
    "unknown-durations": dict(duration=math.nan),
    "overlapping-durations": dict(duration=1e9),
}


@pytest.mark.parametrize("kind", DAMAGES)
@pytest.mark.parametrize(("every", "outcome"), [(4, Effect.REFUSES), (150, Effect.NAMED)])
def test_durations_that_cannot_be_are_named_and_large_shares_refused(kind, every, outcome):
    rows = changed(sound(), lambda i: i % every == every // 2, **DAMAGES[kind])
    finding = by_kind(profile_of(rows))[kind]
    assert "made.csv: launch" in finding.place and finding.remedy
    assert finding.outcome is (Effect.REFUSES if kind == "overlapping-durations" else outcome)


def test_times_in_whole_microseconds_are_named_for_what_they_are():
    rows = [("k", 1000 * i, 1000.0 * (i % 3), 7, i) for i in range(1, 300)]
    assert by_kind(profile_of(rows))["whole-microseconds"].outcome is Effect.NAMED
    rows = changed(sound(), lambda i: i % 2 == 0, duration=0.0, start=0)
    assert by_kind(profile_of(rows))["zero-durations"].outcome is Effect.REFUSES


def test_streams_and_nodes_of_graphs_may_overlap():
    rows = [("k", 1000 + 100 * i, 5000.0, i % 50, i + 1) for i in range(200)]
    assert "overlapping-durations" not in by_kind(profile_of(rows))
    rows = [("k", 1000 + 100 * i, 5000.0, 7, 1 + i // 20) for i in range(200)]
    profile = profile_of(rows)
    assert in_graphs(profile).all()
    assert set(by_kind(profile)) == {"graph-replays"}


NAMES = {
    "void vllm::cross_device_reduce_2stage<__nv_bfloat16, 8>(vllm::RankData*)": "vLLM all-reduce",
    "_ZN4vllm25cross_device_reduce_1stageI6__halfLi4EEEvPNS_8RankDataE": "vLLM all-reduce",
    "void sglang::quickreduce::allreduce_prototype_twoshot<int>(...)": "vLLM all-reduce",
    "void deep_ep::internode::dispatch<false, 3>(...)": "DeepEP",
    "void deep_ep::intranode::combine<__nv_bfloat16, 8, 768>(...)": "DeepEP",
    "nvshmemi_transfer_amo_nonfetch": "NVSHMEM",
    "void tensorrt_llm::kernels::twoShotAllReduceKernel<__half, 8>(...)": "TensorRT-LLM",
    "void tensorrt_llm::kernels::lamport::lamportMultiplyReduce(...)": "TensorRT-LLM",
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)": "NCCL",
    "mscclKernel_Sum_half_Simple": "MSCCL++",
    "void moe_a2a_dispatch_kernel<__nv_bfloat16>(...)": "TensorRT-LLM",
    "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16>(...)": "PyTorch symmetric memory",
    "_Z5gemm_i": "",
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(...)": "",
    "void flash::flash_fwd_splitkv_combine_kernel<...>(flash::Flash_fwd_params)": "",
    "triton_poi_fused_add_mul_0": "",
}


@pytest.mark.parametrize("name", NAMES)
def test_kernels_of_communication_are_known_by_their_library(name):
    assert communication(name) == NAMES[name]


def test_communication_is_said_with_its_share_of_the_time_and_left_out_by_compare():
    rows = changed(sound(), lambda i: i % 10 == 0, name="void deep_ep::internode::dispatch<false, 3>(...)")
    profile = profile_of(rows)
    finding = by_kind(profile)["communication"]
    assert "DeepEP" in finding.what and finding.launches == pytest.approx(0.1) and finding.time == pytest.approx(0.1, abs=0.01)
    assert finding.outcome is Effect.NAMED and profile.without_communication().size == 180


def kernels(path, rows, graphs=()):
    """An export of Nsight Systems: (start, end, process, call, node), and blocks of graphs."""
    columns = "start, end, globalPid, correlationId, graphNodeId, demangledName, streamId, "
    columns += "gridX, gridY, gridZ, blockX, blockY, blockZ"
    blocks = "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start, end);"
    blocks += "".join(f"INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES {block};" for block in graphs)
    return write_nsys_tables(path, columns, [(*row, 1, 7, 2, 1, 1, 64, 1, 1) for row in rows], [(1, "k")], blocks)


def test_graphs_that_were_recorded_as_blocks_are_refused_with_the_option_to_record_nodes(tmp_path):
    rows = [(1000 * i, 1000 * i + 500, 1, i, None) for i in range(1, 7)]
    path = kernels(tmp_path / "blocks.sqlite", rows, [(10**6 * i, 10**6 * i + 900_000) for i in range(1, 51)])
    with pytest.raises(AdmissionError, match=r"graph-blocks: 50 replays .*45 ms .*--cuda-graph-trace=node"):
        admitted_profile(path, (), print)
    said = []
    assert admitted_profile(path, ["graph-blocks"], said.append).size == 6 and said[0].endswith("(accepted)")
    only = kernels(tmp_path / "only.sqlite", [], [(1, 2)])
    with pytest.raises(ProfileError, match=r"no kernel launch .*1 x CUDA graph.*--cuda-graph-trace=node"):
        read_profile(only)


def test_launches_of_two_processes_stand_one_process_after_the_other(tmp_path):
    rows = [(1000 * i + p, 1000 * i + p + 400, p << 24, i, None) for i in range(1, 6) for p in (1, 2)]
    profile = read_profile(kernels(tmp_path / "two.sqlite", rows))
    assert profile.start.tolist() == [1000 * i + p for p in (1, 2) for i in range(1, 6)]
    assert by_kind(profile)["processes"].what == "launches of 2 processes"


def test_a_refusal_has_a_line_for_each_finding_and_says_how_to_go_on():
    rows = changed(changed(sound(), lambda i: i % 4 == 0, duration=0.0), lambda i: i % 4 == 1, duration=-1.0)
    with pytest.raises(AdmissionError) as caught:
        admit(findings_of(profile_of(rows)), ["zero-durations"], print)
    assert "negative-durations: 50 of 200" in str(caught.value) and "zero-durations" not in str(caught.value)
