"""Figures for papers: vector graphics as wide as a column."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from views import HOSTILE, a_view

pytest.importorskip("vl_convert", reason="kernelpoint[report] is not installed")

from kernelpoint.report.charts import charts
from kernelpoint.report.figures import WIDTH, draw_figures

POINTS_A_PIXEL = 0.75


@pytest.fixture
def drawn(tmp_path):
    """Draws a view: name of a figure -> text of its SVG."""

    def draw(view):
        files = draw_figures(view, tmp_path / "figures")
        assert [path for path in files if path.suffix == ".pdf" and path.read_bytes()[:5] != b"%PDF-"] == []
        return {path.stem: path.read_text() for path in files if path.suffix == ".svg"}

    return draw


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    """Folder with the figures of a view, drawn once."""
    folder = tmp_path_factory.mktemp("once")
    draw_figures(a_view(), folder)
    return folder


@pytest.fixture
def svgs(once):
    """The texts of its SVGs, by the names of the figures."""
    return {path.stem: path.read_text() for path in once.glob("*.svg")}


def test_every_figure_is_a_column_wide_and_all_vectors(svgs):
    assert set(svgs) == set(charts(a_view()))
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
    view = a_view()
    kernels = [replace(k, name=n) for k, n in zip(view.kernels, names, strict=True)]
    view = replace(view, kernels=kernels, looks=[], stream_map=None)
    found = drawn(view)
    for name in ("share", "timeline"):
        assert words(found[name]).count("$kernel_3$_xx…xxxxxxxxxxxx") == 1
        assert any(word.startswith("other kernels") for word in words(found[name]))
    assert HOSTILE in [k.name for k in a_view().kernels]
    assert words(svgs["share"]).count(HOSTILE) == 1


def words(svg):
    """The texts that a figure shows."""
    return [node.text or "" for node in ElementTree.fromstring(svg).iter() if node.tag.endswith("text")]


def test_the_same_run_gives_the_same_svg(drawn, svgs):
    def without_numbers(texts):  # of clip paths, which a process numbers
        return {name: re.sub(r"clip\d+", "clip", text) for name, text in texts.items()}

    assert without_numbers(drawn(a_view())) == without_numbers(svgs)


def test_a_figure_without_data_is_left_out(drawn):
    view = replace(a_view(), kernels=[], stream_map=None, looks=[], truth=None)
    assert drawn(view) == {}
