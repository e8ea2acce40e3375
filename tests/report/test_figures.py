"""Figures for papers: vector graphics as wide as a column."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from views import HOSTILE, a_result

pytest.importorskip("vl_convert", reason="kernelpoint[report] is not installed")

from kernelpoint.report.charts import charts
from kernelpoint.report.paper import LETTERS, WIDTH, draw

POINTS_A_PIXEL = 0.75


@pytest.fixture
def drawn(tmp_path):
    """Draws a result: name of a figure -> text of its SVG."""

    def svgs_of(result):
        files = draw(charts(result, LETTERS), tmp_path / "figures")
        assert [path for path in files if path.suffix == ".pdf" and path.read_bytes()[:5] != b"%PDF-"] == []
        return {path.stem: path.read_text() for path in files if path.suffix == ".svg"}

    return svgs_of


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    """Folder with the figures of a result, drawn once."""
    folder = tmp_path_factory.mktemp("once")
    draw(charts(a_result(), LETTERS), folder)
    return folder


@pytest.fixture
def svgs(once):
    """The texts of its SVGs, by the names of the figures."""
    return {path.stem: path.read_text() for path in once.glob("*.svg")}


def test_every_figure_is_a_column_wide_and_all_vectors(svgs):
    assert set(svgs) == set(charts(a_result()))
    for name, text in svgs.items():
        root = ElementTree.fromstring(text)
        assert root.attrib["width"] == f"{WIDTH}", name
        assert not [node for node in root.iter() if node.tag.endswith("image")], f"{name} holds pixels"


def test_letters_are_text_of_a_size_that_can_be_read(svgs):
    for name, text in svgs.items():
        sizes = [float(size) for size in re.findall(r'font-size="([\d.]+)px"', text)]
        assert sizes and min(sizes) * POINTS_A_PIXEL >= 6.9, name


def test_kernels_are_named_whatever_letters_they_hold(drawn, svgs):
    names = [f"$kernel_{k}$_{'x' * 60}" for k in range(20)]
    result = a_result()
    kernels = [replace(k, name=n) for k, n in zip(result.kernels, names, strict=True)]
    result = replace(result, kernels=kernels, passes=[], stream_map=None)
    found = drawn(result)
    for name in ("share", "timeline"):
        assert words(found[name]).count("$kernel_3$_xx…xxxxxxxxxxxx") == 1
        assert any(word.startswith("other kernels") for word in words(found[name]))
    assert HOSTILE in [k.name for k in a_result().kernels]
    assert words(svgs["share"]).count(HOSTILE) == 1


def words(svg):
    """The texts that a figure shows."""
    return [node.text or "" for node in ElementTree.fromstring(svg).iter() if node.tag.endswith("text")]


def test_the_same_run_gives_the_same_svg(drawn, svgs):
    def without_numbers(texts):  # of clip paths, which a process numbers
        return {name: re.sub(r"clip\d+", "clip", text) for name, text in texts.items()}

    assert without_numbers(drawn(a_result())) == without_numbers(svgs)


def test_a_figure_without_data_is_left_out(drawn):
    result = replace(a_result(), kernels=[], stream_map=None, passes=[], truth=None)
    assert drawn(result) == {}
