"""Files of a run for a paper: vector graphics as wide as a column, a table of kernels, a sentence, BibTeX."""

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from views import HOSTILE, a_result

import kernelpoint as kp
from kernelpoint.report.charts import charts
from kernelpoint.report.paper import BIBTEX, LETTERS, ROWS, WIDTH, draw, kernels_table, sentence_of, write_paper
from kernelpoint_lab.commands.synth import synth

ROOT = Path(__file__).resolve().parents[2]
POINTS_A_PIXEL = 0.75


def test_the_table_has_a_row_for_each_large_kernel_and_one_for_the_others():
    result = a_result()
    rows = [line for line in kernels_table(result).latex().splitlines() if line.endswith("\\\\")]
    assert len(rows) == 1 + ROWS + 1
    launches = [int(row.split(" & ")[1].replace(",", "")) for row in rows[1:]]
    assert sum(launches) == sum(kernel.launches for kernel in result.kernels)
    assert all(row.count(" & ") == 5 for row in rows)


def test_names_print_as_they_are_in_latex():
    result = a_result()
    kernel = replace(result.kernels[0], name="gemm_f16 50% $x$ \\input{/x}")
    (row,) = [it for it in kernels_table(replace(result, kernels=[kernel])).latex().splitlines() if it.startswith("gemm")]
    assert row.startswith(r"gemm\_f16 50\% \$x\$ \textbackslash{}input\{/x\} & ") and HOSTILE not in row


def test_the_sentence_states_what_the_run_states_and_the_bibtex_what_the_citation_says(tmp_path, monkeypatch):
    pytest.importorskip("vl_convert", reason="kernelpoint[report] is not installed")
    monkeypatch.chdir(tmp_path)
    synth("iterative-solver", tmp_path / "traces", launches=200, sizes=["rows=256"])
    run = kp.simulate("traces/kernelslist.g", "run.kpjournal", error_budget={"relative_error": 0.02})
    s = run.ended()
    sentence = sentence_of(run)
    assert (
        f"{s.simulated} of 200 kernel launches" in sentence
        and f"{s.estimate:,.0f} cycles ± {100 * s.relative_half_width:.2f} % at 95 %" in sentence
    )
    names = [path.name for path in write_paper(a_result(run), tmp_path / "paper") if path.suffix not in (".pdf", ".svg")]
    assert names == ["kernels.tex", "sentence.txt", "kernelpoint.bib"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert f"year = {{{{{citation['date-released'].year}}}}}" in BIBTEX
    bibtex = (tmp_path / "paper" / "kernelpoint.bib").read_text()
    assert re.sub(r"[{}]", "", bibtex).count(citation["authors"][0]["name"]) == 1
    assert bibtex.count("{") == bibtex.count("}")


@pytest.fixture
def drawn(tmp_path):
    """Draws a result: name of a figure -> text of its SVG."""
    pytest.importorskip("vl_convert", reason="kernelpoint[report] is not installed")

    def svgs_of(result):
        files = draw(charts(result, LETTERS), tmp_path / "figures")
        assert [path for path in files if path.suffix == ".pdf" and path.read_bytes()[:5] != b"%PDF-"] == []
        return {path.stem: path.read_text() for path in files if path.suffix == ".svg"}

    return svgs_of


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    """Folder with the figures of a result, drawn once."""
    pytest.importorskip("vl_convert", reason="kernelpoint[report] is not installed")
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
    files = drawn(result)
    for name in ("share", "timeline"):
        assert words(files[name]).count("$kernel_3$_xx…xxxxxxxxxxxx") == 1
        assert any(word.startswith("other kernels") for word in words(files[name]))
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
