"""Files of a run for a paper: a table of kernels, a sentence, BibTeX."""

import re
from dataclasses import replace
from pathlib import Path

import yaml
from views import HOSTILE, a_result

import kernelpoint as kp
from kernelpoint.report.paper import BIBTEX, ROWS, kernels_table, sentence_of, write_paper
from kernelpoint_lab.commands.synth import synth

ROOT = Path(__file__).resolve().parents[2]


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
    (row,) = [
        it for it in kernels_table(replace(result, kernels=[kernel])).latex().splitlines() if it.startswith("gemm")
    ]
    assert row.startswith(r"gemm\_f16 50\% \$x\$ \textbackslash{}input\{/x\} & ") and HOSTILE not in row


def test_the_sentence_states_what_the_run_states_and_the_bibtex_what_the_citation_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    synth("iterative-solver", tmp_path / "traces", launches=200, sizes=["rows=256"])
    run = kp.simulate("traces/kernelslist.g", "run.kpjournal", error_budget={"relative_error": 0.02})
    s = run.ended()
    sentence = sentence_of(run)
    assert (
        f"{s.simulated} of 200 kernel launches" in sentence
        and f"{s.estimate:,.0f} cycles ± {100 * s.relative_half_width:.2f} % at 95 %" in sentence
    )
    names = [
        path.name for path in write_paper(a_result(run), tmp_path / "paper") if path.suffix not in (".pdf", ".svg")
    ]
    assert names == ["kernels.tex", "sentence.txt", "kernelpoint.bib"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert f"year = {{{{{citation['date-released'].year}}}}}" in BIBTEX
    bibtex = (tmp_path / "paper" / "kernelpoint.bib").read_text()
    assert re.sub(r"[{}]", "", bibtex).count(citation["authors"][0]["name"]) == 1
    assert bibtex.count("{") == bibtex.count("}")
