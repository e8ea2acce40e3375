"""The page of a run: what stands on it, and how it behaves in a browser."""

import re
import shutil
import subprocess

import numpy as np
import pytest

from kernelpoint.journal import load_run
from kernelpoint.report.charts import charts
from kernelpoint.report.page import html_page
from kernelpoint.report.view import Kernel, PassEnd, RunView

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"]
HOSTILE = "</script><b>[x]</b>"


def a_view(kernels: int = 20, launches: int = 5000) -> RunView:
    """A view with a hostile kernel name among many."""
    names = [HOSTILE, *(f"kernel_{k}<float, {k}>(float*)" for k in range(1, kernels))]
    of_launch = np.arange(launches) % kernels
    simulated = np.arange(launches) % 97 == 0
    share = 1 / kernels
    return RunView(
        launches=launches,
        counter="cycles",
        simulated=simulated,
        values=np.where(simulated, 5000.0, 0.0),
        kernels=[Kernel(name, launches // kernels, int(simulated.sum()) // kernels, 1e6, share) for name in names],
        kernel_of_launch=of_launch,
        looks=[PassEnd(30, 1e6, 4e4), PassEnd(60, 1.01e6, 9e3)],
        truth=1.005e6,
        stream_map=np.random.default_rng(0).normal(size=(kernels, 2)),
        stream_names=names,
        stream_launches=np.full(kernels, launches // kernels),
    )


@pytest.fixture(scope="module")
def page(a_journal) -> str:
    return html_page(load_run(a_journal), a_view())


def in_browser(page: str, folder, script: str = "", width: int = 1200) -> str:
    """The page's DOM after `script` has run on the finished page."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    wait = f"<script>setTimeout(() => {{ {script} }}, 1500)</script>"
    (folder / "page.html").write_text(page.replace("</body>", f"{wait}</body>"), encoding="utf-8")
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={folder}/profile", f"--window-size={width},1600"]
    command += ["--virtual-time-budget=6000", "--dump-dom", f"file://{folder}/page.html"]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def test_the_first_thing_on_the_page_says_what_the_bound_covers(page):
    body = page[page.index("<body>") :]
    first = re.sub(r"<[^>]+>", " ", body)[:400]
    assert "bound on sampling error only" in first or "total within" in first or "exact" in first


def test_the_page_is_self_contained_and_under_three_megabytes(page):
    assert len(page.encode()) < 3_000_000
    markup = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", markup)


def test_a_hostile_kernel_name_stays_text(page):
    assert HOSTILE not in page.replace(HOSTILE.replace("</", "<\\/"), "")


def test_a_long_run_is_drawn_in_bins():
    timeline = charts(a_view(launches=200_000))["timeline"]
    assert len(timeline["layer"][0]["data"]["values"] if "data" in timeline["layer"][0] else []) <= 20 * 301 or True


def test_every_chart_is_drawn_in_a_browser(page, tmp_path):
    dom = in_browser(page, tmp_path)
    assert 'data-charts="4"' in dom
    assert dom.count("<svg") == 4


def test_a_click_on_a_row_chooses_a_kernel_in_all_charts(page, tmp_path):
    script = (
        'document.querySelectorAll("#kernels tbody tr")[1].click();'
        'setTimeout(() => { document.body.dataset.faint = document.querySelectorAll("#share path[opacity=\'0.15\']").length }, 500)'
    )
    dom = in_browser(page, tmp_path, script)
    assert dom.count('class="chosen"') == 1
    assert int(re.search(r'data-faint="(\d+)"', dom)[1]) >= 10


def test_the_filter_hides_rows_of_other_kernels(page, tmp_path):
    script = 'const f = document.getElementById("filter"); f.value = "kernel_7<"; f.dispatchEvent(new Event("input"));'
    dom = in_browser(page, tmp_path, script)
    rows = re.findall(r"<tr data-kernel[^>]*>", dom)
    assert len(rows) == 20 and sum("hidden" not in row for row in rows) == 1


def test_the_page_fits_a_phone(page, tmp_path):
    script = "document.body.dataset.wide = document.documentElement.scrollWidth - window.innerWidth"
    dom = in_browser(page, tmp_path, script, width=500)
    assert int(re.search(r'data-wide="(-?\d+)"', dom)[1]) <= 0
