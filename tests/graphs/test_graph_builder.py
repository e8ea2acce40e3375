"""The C++ builder against the slow oracle, the validator, and what a graph must not depend on."""

import re
import subprocess
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from compiled import sanitised
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_builder import build_graph_slow
from small_traces import ADD, EXIT, LOAD, launches, trace_text, valued_launches, write_trace

from kernelpoint.errors import ConfigError, TraceError
from kernelpoint.graphs import build_graph
from kernelpoint.graphs import graph as module
from kernelpoint.graphs.graph import SCHEMA, schema_hash


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("traces")


def assert_same(a, b):
    for name, value in vars(a).items():
        if name == "features":
            np.testing.assert_allclose(value, b.features, atol=1e-6)
        else:
            np.testing.assert_array_equal(value, getattr(b, name), err_msg=name)


@settings(max_examples=60, deadline=None)
@given(ctas=launches(), max_nodes=st.sampled_from([16, 20, 40, 20000]))
def test_the_fast_builder_agrees_with_the_slow_one(folder, ctas, max_nodes):
    path = write_trace(folder, ctas)
    assert_same(build_graph(path, max_nodes), build_graph_slow(path, max_nodes))


@settings(max_examples=40, deadline=None)
@given(ctas=valued_launches(), max_nodes=st.sampled_from([16, 30, 20000]), data=st.data())
def test_operand_values_make_the_statistics_of_the_slow_builder_in_any_order_of_ctas(folder, ctas, max_nodes, data):
    path = write_trace(folder, ctas, version=6)
    graph = build_graph(path, max_nodes)
    assert_same(graph, build_graph_slow(path, max_nodes))
    order = data.draw(st.permutations(range(len(ctas))))
    assert_same(graph, build_graph(write_trace(folder, ctas, order=order, version=6), max_nodes))


@settings(max_examples=25, deadline=None)
@given(ctas=launches(), data=st.data())
def test_the_order_of_ctas_in_the_file_does_not_matter(folder, ctas, data):
    order = data.draw(st.permutations(range(len(ctas))))
    for max_nodes in (16, 30, 20000):
        straight = build_graph(write_trace(folder, ctas), max_nodes)
        assert_same(straight, build_graph(write_trace(folder, ctas, order=order), max_nodes))


@settings(max_examples=25, deadline=None)
@given(ctas=launches(), shift=st.integers(1, 2**20))
def test_no_feature_depends_on_where_buffers_lie(folder, ctas, shift):
    moved = re.sub(r"0x7f[0-9a-f]{10}\b", lambda m: hex(int(m[0], 16) + 256 * shift), trace_text(ctas))
    path = folder / "moved.traceg"
    path.write_text(moved)
    assert_same(build_graph(write_trace(folder, ctas), 20000), build_graph(path, 20000))


def test_a_small_launch_has_exactly_the_graph_drawn_by_hand(tmp_path):
    graph = build_graph(write_trace(tmp_path, [[[LOAD, ADD, EXIT]]]))
    kinds = [SCHEMA.node_kinds[kind] for kind in graph.kinds]
    # R4 is read before any write; the load's address meets the pseudo node; R1's new version feeds the addition
    assert kinds == ["variable", "pseudo", "instruction", "variable", "instruction", "variable", "instruction"]
    edges = {(a, b, SCHEMA.relations[r]) for (a, b), r in zip(graph.edge_index.T.tolist(), graph.edge_type, strict=True)}
    assert edges == {
        (0, 1, "left_source"),
        (1, 2, "memory_reference"),
        (2, 3, "destination"),
        (2, 4, "control_flow"),
        (3, 4, "left_source"),
        (0, 4, "right_source"),
        (4, 5, "destination"),
        (4, 6, "control_flow"),
    }
    pseudo = dict(zip(SCHEMA.columns["pseudo"], graph.features[1], strict=False))
    assert pseudo["log_sectors"] == pytest.approx(np.log2(1 + 4) / 6)
    assert pseudo["sector_efficiency"] == 1 and pseudo["is_regular"] == 1 and pseudo["has_step"] == 0


def test_values_that_traces_do_not_carry_are_zero_and_marked(tmp_path):
    graph = build_graph(write_trace(tmp_path, [[[LOAD, ADD, EXIT]]]))
    variables = graph.features[graph.kinds == SCHEMA.node_kinds.index("variable")]
    assert not variables[:, : SCHEMA.column("variable", "has_values") + 1].any()


VALUES = {
    # R1, loaded at R4, is added as a float to 1: of R1 the addition lists 0.5 in each lane, R4 lists addresses
    "load": "0000 ffffffff 1 R1 LDG.E.SYS 1 R4 4 1 0x7f6000000000 4 0 Val 1 0x0 32 "
    + " ".join(hex(0x60000000 + 4 * lane) for lane in range(32)),
    "add": "0010 ffffffff 1 R2 FADD 2 R1 R5 0 0 Val 1 0x3fc00000 1 0x3f000000 1 0x3f800000",
    "count": "0020 0000000f 1 R6 IADD3 1 R7 0 0 Val 1 0xffffffff 32 " + " ".join(hex(lane) for lane in range(32)),
}


def variables_of(graph):
    rows = graph.features[graph.kinds == SCHEMA.node_kinds.index("variable")]
    return [dict(zip(SCHEMA.columns["variable"], row.tolist(), strict=False)) for row in rows]


def test_statistics_of_values_are_those_computed_by_hand(tmp_path):
    graph = build_graph(write_trace(tmp_path, [[list(VALUES.values())]], version=6))
    address, loaded, constant, total, input_, count = variables_of(graph)
    assert all(variable["has_values"] == 1 for variable in variables_of(graph))
    offsets = np.log2(1 + 4 * np.arange(32)) / 32
    assert address["value_mean"] == pytest.approx(offsets.mean()) and address["value_max"] == pytest.approx(offsets[-1])
    assert loaded["value_median"] == pytest.approx(np.log2(1 + 65536 * 0.5) / 32) and loaded["value_std"] == 0
    assert constant["value_min"] == pytest.approx(np.log2(1 + 65536) / 32)
    assert total["value_max"] == pytest.approx(np.log2(1 + 65536 * 1.5) / 32)
    lanes = np.log2(1 + np.arange(4)) / 32  # of those that execute
    assert input_["value_p75"] == pytest.approx(np.percentile(lanes, 75), rel=1e-5)
    assert input_["value_skewness"] == pytest.approx(((lanes - lanes.mean()) ** 3).mean() / lanes.std() ** 3 / 4, rel=1e-4)
    assert count["value_mean"] == pytest.approx(-1 / 32) and count["value_skewness"] == 0


def test_values_do_not_tell_where_buffers_lie(tmp_path):
    lines = list(VALUES.values())
    moved = [re.sub(r"0x600000([0-9a-f]{2})", r"0x612340\1", line) for line in lines]
    assert moved != lines
    here, there = (build_graph(write_trace(tmp_path, [[text]], version=6)) for text in (lines, moved))
    np.testing.assert_array_equal(here.features, there.features)


def test_equal_warps_with_other_values_stay_one_warp(tmp_path):
    other = [line.replace("0x3f000000", "0x3e000000") for line in VALUES.values()]
    graph = build_graph(write_trace(tmp_path, [[list(VALUES.values())], [other]], version=6))
    assert graph.warp_weights.tolist() == [2]
    first = build_graph(write_trace(tmp_path, [[list(VALUES.values())]], version=6))
    np.testing.assert_array_equal(graph.features, first.features)


def test_equal_warps_are_one_warp_with_a_weight(tmp_path):
    single = build_graph(write_trace(tmp_path, [[[LOAD, EXIT]]]))
    many = build_graph(write_trace(tmp_path, [[[LOAD, EXIT]] * 3] * 100))
    assert many.num_nodes == single.num_nodes and many.warp_weights.tolist() == [300]


def test_the_most_frequent_warps_are_kept_when_not_all_fit(tmp_path):
    rare, common = [ADD] * 10, [LOAD, EXIT]
    graph = build_graph(write_trace(tmp_path, [[rare]] + [[common]] * 5), 20)
    assert graph.warp_weights.tolist() == [5] and graph.left_out_warps == 1 and not graph.truncated


def test_equally_frequent_warps_are_chosen_from_all_over_the_grid(tmp_path):
    ctas = [[[LOAD.replace("ffffffff", f"{(1 << lanes) - 1:08x}")]] for lanes in range(1, 33)]
    graph = build_graph(write_trace(tmp_path, ctas), 16)
    lanes = graph.features[:, SCHEMA.column("instruction", "active_lanes")][graph.kinds == 0] * 32
    assert len(lanes) == 4 and lanes.min() < 12 and lanes.max() > 20


def test_a_warp_too_large_for_the_bound_is_cut_and_said_to_be(tmp_path):
    graph = build_graph(write_trace(tmp_path, [[[ADD] * 1000]]), 100)
    assert graph.truncated and 95 <= graph.num_nodes <= 100


def test_a_warp_that_executed_nothing_is_no_warp(tmp_path):
    graph = build_graph(write_trace(tmp_path, [[[], [EXIT]]]))
    assert graph.total_warps == 1


@pytest.mark.parametrize("max_nodes", [0, 15, -1, 2.5, "many", True])
def test_a_bound_on_nodes_that_cannot_be_is_refused(tmp_path, max_nodes):
    with pytest.raises(ConfigError, match="max_nodes"):
        build_graph(write_trace(tmp_path, [[[EXIT]]]), max_nodes)


def test_a_broken_trace_is_refused_with_its_place(tmp_path):
    path = write_trace(tmp_path, [[[LOAD, "0010 zzz"]]])
    with pytest.raises(TraceError, match=r"kernel-1\.traceg"):
        build_graph(path)


def test_arrays_are_views_of_the_builders_memory(tmp_path):
    graph = build_graph(write_trace(tmp_path, [[[LOAD, EXIT]]]))
    arrays = [value for value in vars(graph).values() if isinstance(value, np.ndarray)]
    assert len(arrays) == 7
    assert all(not a.flags.owndata and a.flags.c_contiguous for a in arrays)


def test_every_kind_has_columns_that_fit_and_differ():
    assert tuple(SCHEMA.columns) == SCHEMA.node_kinds
    for names in SCHEMA.columns.values():
        assert len(set(names)) == len(names) <= SCHEMA.feature_count


def test_opcodes_of_the_vocabulary_differ():
    assert len(set(SCHEMA.opcodes)) == len(SCHEMA.opcodes)


def test_the_hash_changes_with_every_part_of_the_schema(monkeypatch):
    seen = {schema_hash()}
    for field in fields(SCHEMA):
        value = getattr(SCHEMA, field.name)
        other = value + 1 if isinstance(value, int) else () if isinstance(value, tuple) else {}
        monkeypatch.setattr(module, "SCHEMA", replace(SCHEMA, **{field.name: other}))
        seen.add(schema_hash())
    assert len(seen) == 1 + len(fields(SCHEMA))


STORE = "0030 0000ffff 0 STG.E.128.SYS 2 R4 R2 4 2 0x7f6000000000" + " 16" * 15
VALUED = [
    LOAD + " 0 Val 32" + " 0x7fc00000 0xffffffff" * 16 + " 32" + " 0x7f6000000000 0x8000000000000000" * 16,
    "0010 ffffffff 1 R2 FADD 2 R1 R5 0 0 Val 1 0x7f800000 1 0xff800000 32" + " 0xffffffffffffffff" * 32,
    "0020 00000000 1 R6 IADD3 2 R2 R6 0 0 Val 1 0x1 1 0x2 1 0x3",
]


@pytest.fixture(scope="module")
def builder(tmp_path_factory):
    output = tmp_path_factory.mktemp("sanitized") / "builder"
    return sanitised([Path(__file__).with_name("sanitized_builder.cc")], output)


@pytest.mark.slow
def test_the_builder_is_clean_on_whole_and_on_damaged_traces(builder, tmp_path):
    whole = trace_text([[[LOAD, ADD, STORE, EXIT], [ADD] * 100], [[LOAD] * 9, [EXIT]]] * 3)
    valued = trace_text([[VALUED, VALUED * 9], [VALUED[:2], VALUED[::-1]]], version=6)
    texts = [text[:cut] for text in (whole, valued) for cut in (len(text), *range(0, len(text), len(text) // 40))]
    paths = []
    for number, text in enumerate(texts):
        paths.append(tmp_path / f"kernel-{number}.traceg")
        paths[-1].write_text(text)
    done = subprocess.run([builder, *paths], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 3 * len(texts) and lines[2].endswith("edges") and lines[-1].startswith("refused")
    assert lines[3 * len(texts) // 2].endswith("edges"), "the whole trace with values is refused"
