"""Rows of a profile belong to launches."""

import difflib
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_traces import shared

from kernelpoint.profiles import match, matching, read_profile
from kernelpoint.profiles.names import base_key, demangle, full_key
from kernelpoint.program import Program, ProgramBuilder

MANGLED = (
    "_ZN2at6native40_GLOBAL__N__0f1a8107_8_Shape_cu_49f7391c26CatArrayBatchedCopy_contigINS1_10OpaqueTypeILj4EEEjLi1ELi128E"
    "Li1EEEvPT_NS1_25CatArrInputTensorMetadataIS5_T0_XT2_EXT3_EEENS1_16TensorSizeStrideIS8_Lj4EEEiS8_"
)
NSYS_NAME = (
    "void at::native::<unnamed>::CatArrayBatchedCopy_contig<at::native::<unnamed>::OpaqueType<(unsigned int)4>, unsigned int, "
    "(int)1, (int)128, (int)1>(T1 *, at::native::<unnamed>::CatArrInputTensorMetadata<T1, T2, T4, T5>, int, T2)"
)
KINETO_NAME = (
    "void at::native::(anonymous namespace)::CatArrayBatchedCopy_contig<at::native::(anonymous namespace)::OpaqueType<4u>, "
    "unsigned int, 1, 128, 1>(at::native::(anonymous namespace)::OpaqueType<4u>*, unsigned int)"
)


def profile(names, grid=(1, 1, 1)):
    builder = ProgramBuilder("p")
    for name in names:
        builder.add(name, grid, (32, 1, 1))
    return builder.finish()


def launches(names, grid=(1, 1, 1)):
    return Program.of(names, np.array([grid] * len(names)), np.array([(32, 1, 1)] * len(names)))


def test_mangled_and_demangled_names_of_all_tools_agree():
    assert full_key(MANGLED) == full_key(NSYS_NAME) == full_key(KINETO_NAME)
    assert base_key(MANGLED) == base_key(NSYS_NAME) == "CatArrayBatchedCopy_contig"


def test_template_arguments_tell_kernels_apart():
    assert full_key("void f<4>(int)") != full_key("void f<8>(int)") and base_key("void f<4>(int)") == base_key("void f<8>(int)")


@pytest.mark.parametrize("name", ["gemm_128x64", "_Znonsense", "", "operator()(int)", "a::b"])
def test_names_that_are_no_c_plus_plus_stay_usable(name):
    assert demangle(name) == name
    assert isinstance(base_key(name), str)


def test_launches_missing_on_either_side_are_reported():
    matched = match(profile(["a()", "b()", "x()", "d()"]), launches(["a()", "b()", "c()", "d()"]))
    assert matched.rows.tolist() == [0, 1, -1, 3] and matched.extra.tolist() == [2]
    said = " ".join(matched.sentences())
    assert "3 of 4" in said and "launch 2" in said and "row 2" in said


def test_other_shapes_are_other_launches():
    assert match(profile(["a()"], (2, 1, 1)), launches(["a()"])).matched == 0


def test_a_profile_without_shapes_is_matched_by_name():
    assert match(profile(["a()", "b()"], (0, 0, 0)), launches(["a()", "b()"])).matched == 2


def test_template_arguments_written_in_an_unknown_way_fall_back_to_the_function_name():
    matched = match(profile(["void f<strange#>(int)", "g()"]), launches(["void f<8>(int)", "g()"]))
    assert matched.rows.tolist() == [0, 1] and matched.by_base == 1
    assert any("without template arguments" in sentence for sentence in matched.sentences())


kinds = st.lists(st.sampled_from("abcd"), max_size=25)


@given(kinds, kinds)
def test_as_many_launches_are_matched_as_order_allows(ours, theirs):
    if not ours or not theirs:
        return
    rows = match(profile(theirs), launches(ours)).rows
    pairs = [(i, int(j)) for i, j in enumerate(rows) if j >= 0]
    assert all(ours[i] == theirs[j] for i, j in pairs)
    assert all(a < b for (_, a), (_, b) in itertools.pairwise(pairs))
    longest = np.zeros((len(ours) + 1, len(theirs) + 1), dtype=int)
    for i, a in enumerate(ours):
        for j, b in enumerate(theirs):
            longest[i + 1, j + 1] = longest[i, j] + 1 if a == b else max(longest[i, j + 1], longest[i + 1, j])
    assert len(pairs) == longest[-1, -1]
    assert len(pairs) >= sum(b.size for b in difflib.SequenceMatcher(None, ours, theirs).get_matching_blocks())


def test_too_many_differences_fall_back_to_occurrences_and_say_so(monkeypatch):
    monkeypatch.setattr(matching, "MOST_EDITS", 2)
    matched = match(profile(["a", "a", "b", "c"]), launches(["c", "b", "a", "a"]))
    assert matched.how == "occurrence" and matched.rows.tolist() == [3, 2, 0, 1]
    assert "by occurrence" in matched.sentences()[0]


def test_a_real_profile_with_launches_missing_is_matched():
    whole = read_profile(shared("profiles/h100_owlv2.csv.gz"))
    kept = np.sort(np.random.default_rng(0).permutation(whole.size)[:-200])
    matching = match(whole.take(kept), whole)
    assert matching.matched == len(kept) and len(matching.extra) == 0
    rows = np.flatnonzero(matching.rows >= 0)
    assert np.array_equal(whole.signature[kept[matching.rows[rows]]], whole.signature[rows])
