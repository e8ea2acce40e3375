"""The page of a run: what stands on it, and how it behaves in a browser."""

import base64
import hashlib
import math
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
from views import HOSTILE, a_result, a_run

from kernelpoint.estimation import Estimate
from kernelpoint.finding import Finding
from kernelpoint.journal import OpenLaunchRecord
from kernelpoint.pages import page as pages
from kernelpoint.pages.numbers import amount
from kernelpoint.pages.page import Chart, Page
from kernelpoint.pages.tables import Column, Row, Table
from kernelpoint.report.charts import COLOURS, GREY, channel, chart_of, charts
from kernelpoint.report.page import html_page
from kernelpoint.report.result import rates_from
from kernelpoint.report.text import sentences

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> str:
    """The page of a small run whose counters are written by hand."""
    return html_page(a_result(a_run(tmp_path_factory.mktemp("run") / "run.kpjournal")))


def test_what_the_check_says_of_the_input_stands_on_the_page(tmp_path, no_charts):
    run = a_run(tmp_path / "run.kpjournal")
    what = f"9 of 10 launches have no grid {HOSTILE}"
    finding = Finding("no-grid", what, "", 0.9, None, "trace again", accepted=True)
    end = replace(run.ended(), findings=(finding,))
    page = html_page(a_result(replace(run, records=[*run.records[:-1], end])))
    assert "What is wrong with the input" in page and "no-grid" in page and "accepted" in page and HOSTILE not in page
    assert "What is wrong with the input" not in html_page(a_result(run))


@pytest.fixture
def no_charts(monkeypatch):
    """Pages without charts, which take most of the time that a page takes."""
    monkeypatch.setattr("kernelpoint.report.page.charts", lambda result: {})


def in_browser(page: str, folder, script: str = "", width: int = 1200, dark: bool = False) -> str:
    """The page's DOM after `script` has run on the finished page."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    wait = f"setTimeout(() => {{ {script} }}, 1500)"
    digest = base64.b64encode(hashlib.sha256(wait.encode()).digest()).decode()
    page = page.replace("; script-src ", f"; script-src 'sha256-{digest}' ", 1)  # the policy lets this script run too
    (folder / "page.html").write_text(
        page.removesuffix("</body></html>\n") + f"<script>{wait}</script></body></html>\n", encoding="utf-8"
    )
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={folder}/profile", f"--window-size={width},1600"]
    command += [f"--blink-settings=preferredColorScheme={0 if dark else 1}"]
    command += ["--virtual-time-budget=6000", "--dump-dom", f"file://{folder}/page.html"]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


# Each step leaves what it finds in an attribute of the body, and the page as the next step needs it.
READER = """
const found = document.body.dataset, filter = document.querySelector("[data-table]");
const write = (text) => { filter.value = text; filter.dispatchEvent(new Event("input")) };
const shown = (rows) => document.querySelectorAll(`#kernels ${rows}:not([hidden])`).length;
const heads = document.querySelectorAll("#kernels th"), kernel = () => document.querySelectorAll("#kernels tbody")[1].rows[0];
heads[1].firstChild.click(); heads[0].firstChild.click();
found.sorts = [...heads].map((head) => head.ariaSort).join(); found.first = kernel().dataset.key;
found.below = document.querySelectorAll("#kernels tbody")[3].rows[1].dataset.depth;
write("kernel_7<"); found.filtered = shown("[data-key]"); write("");
document.querySelector("#kernels .open").click(); found.opened = shown("[data-depth]");
write("fillfunctor"); found.variants = shown("[data-depth]"); write("");
const labels = () => [...document.querySelectorAll("#timeline .role-axis-label text")].map((x) => x.textContent).join();
const before = labels(), { left, top, width, height } = document.querySelector("#timeline .background").getBoundingClientRect();
document.querySelector("#timeline .background").dispatchEvent(new WheelEvent("wheel", { deltaY: -400, bubbles: true,
    cancelable: true, clientX: left + 0.7 * width, clientY: top + height / 3 }));
setTimeout(() => { found.zoomed = before !== labels() && before.length > 0; kernel().click() }, 700);
setTimeout(() => { found.faint = document.querySelectorAll("#share path[opacity='0.15']").length }, 1200);
"""


@pytest.fixture(scope="module")
def read(page, tmp_path_factory) -> str:
    """The page's DOM after a reader has sorted, filtered, opened, zoomed and chosen."""
    return in_browser(page, tmp_path_factory.mktemp("read"), READER)


def attribute(dom: str, name: str) -> str:
    """An attribute that the reader's steps leave."""
    return re.search(rf'data-{name}="([^"]*)"', dom)[1]


def test_the_page_is_self_contained_and_under_three_megabytes(page):
    assert len(page.encode()) < 3_000_000
    markup = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", markup)


@pytest.mark.parametrize(
    ("bound_scope", "met", "inside", "colour"),
    [
        ("exact", True, None, "good"),
        ("total error", True, None, "good"),
        ("total error", True, True, "good"),
        ("total error", False, True, "warn"),
        ("sampling error", True, None, "warn"),
        ("nothing", False, None, "bad"),
        ("total error", True, False, "bad"),
    ],
)
def test_the_colour_of_the_verdict_tells_whether_the_number_can_be_trusted(
    no_charts, tmp_path, bound_scope, met, inside, colour
):
    run = a_run(tmp_path / "run.kpjournal", bound_scope=bound_scope, met=met)
    truth = None if inside is None else replace(a_result().truth, inside=inside)
    assert f'<div class="verdict {colour}">' in html_page(replace(a_result(run), truth=truth))


def test_cells_are_sorted_by_their_values_and_those_without_one_are_last():
    cells = (1.5, Estimate.of(2.5, 0.1), math.nan, math.inf, Estimate())
    table = Table([Column("a"), Column("b", amount), *[Column("c")] * 2, Column("d", amount)], [Row(cells)])
    assert re.findall('data-value="([^"]*)"', table.html()) == ["1.5", "2.5"]


def test_a_full_run_that_was_resumed_is_not_shown_as_certain(no_charts, tmp_path):
    run = a_run(tmp_path / "run.kpjournal", bound_scope="exact", met=True, restarts=[1])
    assert '<div class="verdict warn">' in html_page(a_result(run))


def test_what_is_hardly_known_stands_in_grey(no_charts, tmp_path):
    counters = {
        "cycles": Estimate.of(1e4, 1e2),
        "instructions": Estimate.of(1e6, 0.0),
        "l1_misses": Estimate.of(10.0, 3.0),
        "l2_misses": Estimate.of(-10.0, 3.0),
        "dram_reads": Estimate.of(10.0),
    }
    page = html_page(a_result(a_run(tmp_path / "run.kpjournal", counters=counters)))
    cells = re.findall(r'<tr( class="weak")?>\s*<td>([a-z0-9_<>]+)</td>', page)
    rows = {name.replace("<wbr>", ""): bool(weak) for weak, name in cells}
    assert rows == {"cycles": False, "instructions": False, "l1_misses": True, "l2_misses": True, "dram_reads": True}
    assert ">not known</td>" in page and "-10" not in page.split("<h2>Every counter")[1].split("</table>")[0]


def test_the_simulators_command_stands_above_the_first_chart(page):
    place = page.index("<code>sim -trace &#39;my traces/&lt;list&gt;.g&#39;</code>")
    assert place < page.index('<div class="chart"')


def test_a_hostile_kernel_name_stays_text(page):
    assert HOSTILE not in page.replace(HOSTILE.replace("</", "<\\/"), "")


def test_a_long_run_is_drawn_in_bins():
    timeline = charts(a_result(launches=200_000))["timeline"]
    cells = timeline["layer"][0]["data"]["values"]
    assert 300 <= len(cells) <= 21 * 301


def test_a_browser_draws_every_chart_and_a_reader_chooses_filters_sorts_and_zooms(read):
    assert 'data-charts="4"' in read
    assert len(re.findall(r'<svg[^>]*class="marks"', read)) == 4, re.findall(r"<svg[^>]*>", read)
    assert read.count('class="chosen"') == 1 and int(attribute(read, "faint")) >= 10, "a click on a row chooses in all charts"
    assert len(re.findall(r"<tr data-key[^>]*>", read)) == 20 and attribute(read, "filtered") == "1"
    assert attribute(read, "first").startswith("kernel_10&lt;float"), "a click on a heading sorts the table"
    assert attribute(read, "zoomed") == "true", "the wheel zooms the timeline"


@pytest.mark.parametrize("dark", [True, False])
def test_the_page_follows_the_readers_colours_can_be_read_in_both_and_fits_a_phone(page, tmp_path, dark):
    script = (
        "const light = (c) => c.match(/[0-9]+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0) / 765;"
        "const body = getComputedStyle(document.body);"
        'const label = document.querySelector("#share .role-axis-label text");'
        "document.body.dataset.light = [body.backgroundColor, body.color, getComputedStyle(label).fill].map(light).join();"
        "document.body.dataset.wide = document.documentElement.scrollWidth - window.innerWidth"
    )
    dom = in_browser(page, tmp_path, script, dark=dark, width=500)
    paper, ink, label = map(float, re.search(r'data-light="([^"]+)"', dom)[1].split(","))
    assert (paper < 0.2) == dark and 'data-charts="4"' in dom
    assert abs(paper - ink) > 0.6 and abs(paper - label) > 0.6
    assert int(attribute(dom, "wide")) <= 0


@pytest.mark.parametrize("dark", [True, False])
def test_labels_beside_marks_can_be_read_in_both(tmp_path, dark):
    label = chart_of([{"x": 1}], "text", {"x": channel("x"), "text": {"value": "5 %"}}, width="container")
    script = (
        "const light = (c) => c.match(/[0-9]+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0) / 765;"
        'const colours = [document.body, document.querySelector("#share .mark-text text")].map(getComputedStyle);'
        "document.body.dataset.light = [colours[0].backgroundColor, colours[1].fill].map(light).join()"
    )
    dom = in_browser(Page("labels", [Chart("share", "", "", label)]).html(), tmp_path, script, dark=dark)
    paper, text = map(float, re.search(r'data-light="([^"]+)"', dom)[1].split(","))
    assert (paper < 0.2) == dark and abs(paper - text) > 0.6


@pytest.mark.parametrize(("probability", "said"), [(0.1, True), (0.95, False)])
def test_the_launch_that_breaks_the_budget_unseen_stands_beside_the_verdict(no_charts, tmp_path, probability, said):
    open_launch = OpenLaunchRecord(process=0, launch=7, kernel="gemm<half>", times=3.25, probability=probability)
    run = a_run(tmp_path / "run.kpjournal", open_launch=open_launch)
    line = "one launch of gemm<half> that takes 3.25 times the expected cycles breaks the error budget unseen; "
    assert (f"{line}its probability of being sampled was 10 %" in " ".join(sentences(run))) is said
    verdict = html_page(a_result(run)).split('<div class="verdict')[1].split("</dl>")[0]
    assert ("One launch of gemm&lt;half&gt; that takes 3.25 times the expected cycles" in verdict) is said


def test_a_kernel_opens_to_its_variants_and_the_filter_finds_them(page, read):
    assert "at::native::f&lt;FillFunctor&lt;long&gt;&gt;" in page and page.count('<tr data-depth="1" hidden>') == 60
    assert attribute(read, "opened") == "3" and attribute(read, "variants") == "60"


def test_a_row_opens_to_its_own_rows_only_and_closes_with_all_below_it(tmp_path):
    layer = Row(("layer",), inner=[Row(("attention",)), Row(("mlp",))])
    table = Table((Column("range", str),), [Row(("whole",)), Row(("decode",), inner=[layer])], name="ranges")
    script = (
        'const shown = () => [...document.querySelectorAll("#ranges tbody tr:not([hidden])")].length;'
        'const buttons = document.querySelectorAll("#ranges .open"), counts = [shown()];'
        "for (const each of [buttons[0], buttons[1], buttons[0], buttons[0]]) { each.click(); counts.push(shown()); }"
        "document.body.dataset.counts = counts.join();"
    )
    assert 'data-counts="2,3,5,2,3"' in in_browser(Page("ranges", [table]).html(), tmp_path, script)


def test_a_kernel_has_its_rates_with_half_widths_and_the_full_run_below(page):
    first, *inner = re.search(r"<tbody>(<tr data-key.*?)</tbody>", page, re.DOTALL)[1].split("</tr>")[:-1]
    assert re.findall(r">([^<>]* ± [^<>]*)<", first.replace("<br>", " ")) == [
        "1,000,000 ± 20,000",
        "4,000 ± 80",
        "3.00 ± 0.06",
        "25.0 ± 5.0 %",
    ]
    assert "full run" in inner[-1] and "1,010,000" in inner[-1] and ">2.97<" in inner[-1]


def test_a_miss_rate_is_no_more_than_all_and_a_rate_without_a_bound_is_not_shown():
    assert rates_from({"instructions": Estimate.of(90.0), "cycles": Estimate.of(45.0)}) == {}
    rate = rates_from({"l2_misses": Estimate.of(9.0, 3.0), "l2_accesses": Estimate.exact(8.0)})["l2_miss_rate"]
    assert (rate.estimate, rate.half_width) == (1.0, 0.375)


def test_tables_that_scroll_are_reached_with_the_keyboard(page):
    places = re.findall(r'<div class="scroll"[^>]*>', page)
    assert len(places) == 2 and all('tabindex="0" role="group" aria-label="table by ' in place for place in places)


def test_headings_are_buttons_that_say_how_the_table_is_sorted(page, read):
    table = page.split('<table id="kernels">')[1].split("</table>")[0]
    assert table.count('aria-sort="none"><button type="button">') == 11
    assert attribute(read, "sorts") == f"ascending{',none' * 10}" and attribute(read, "below") == "1"


def test_every_chart_has_a_label_for_screen_readers(page, read):
    for dom in (page, read):
        places = re.findall(r'<div class="chart[^>]*>', dom)
        assert len(places) == 4 and all(re.search(r'role="[^"]+" aria-label="[^"]{40,}"', place) for place in places)


def test_a_page_without_the_extra_for_charts_has_no_empty_sections(tmp_path, monkeypatch):
    monkeypatch.setattr("kernelpoint.pages.page.javascript", lambda: None)
    page = html_page(a_result(a_run(tmp_path / "run.kpjournal")))
    assert "Where the cycles are" not in page and 'class="chart"' not in page and ".[report]" in page


def contrast(first: str, other: str) -> float:
    """Contrast of two colours as WCAG 2 defines it, 1 to 21."""

    def light(colour: str) -> float:
        shares = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, bright = sorted((light(first), light(other)))
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("paper", ["#ffffff", "#16191f"])
@pytest.mark.parametrize("colour", [*COLOURS, GREY])
def test_marks_of_charts_have_a_contrast_of_3_on_the_white_and_on_the_dark_page(colour, paper):
    assert contrast(colour, paper) >= 3.0


def test_every_counter_stands_beside_the_full_run(tmp_path):
    truth = replace(a_result().truth, totals={"cycles": 1e4})
    page = html_page(replace(a_result(a_run(tmp_path / "run.kpjournal")), truth=truth))
    table = page.split("<h2>Every counter")[1].split("</table>")[0]
    assert ">full run</button></th>" in table and re.search(r">10,000</td>\s*<td[^>]*>\+1.00 %</td>", table)


def test_the_javascript_of_charts_is_made_once_and_cannot_end_the_pages_script(tmp_path, monkeypatch):
    made = []
    fake = SimpleNamespace(javascript_bundle=lambda: made.append(1) or "var made = '</SCRIPT><!--' < 5;")
    monkeypatch.setitem(sys.modules, "vl_convert", fake)
    monkeypatch.setattr(pages, "distribution", lambda name: SimpleNamespace(locate_file=lambda name: __file__))
    monkeypatch.setenv("KERNELPOINT_CACHE", str(tmp_path))
    for _ in range(2):
        assert pages.javascript() == r"var made = '\x3C/SCRIPT>\x3C!--' < 5;"
    assert made == [1]


# Each of these a page of a stranger's text might hold if it were not escaped; the policy stops it a second time.
INJECTED = """
<script>document.body.dataset.ran = "script"</script>
<img src="x" onerror="document.body.dataset.ran = 'handler'">
<a id="link" href="javascript:document.body.dataset.ran = 'link'">x</a>
<base href="https://evil.example/"><iframe src="data:text/html,x"></iframe>
<form action="https://evil.example/" id="form"></form>
"""
TRIES = """
const found = document.body.dataset, blocked = [];
document.addEventListener("securitypolicyviolation", (event) => {
  blocked.push(event.effectiveDirective); found.blocked = [...new Set(blocked)].sort().join();
});
document.getElementById("link").click(); document.getElementById("form").submit();
try { eval("1"); found.ran = "eval"; } catch { }
fetch("https://evil.example/").then(() => { found.ran = "fetch"; }, () => { });
new Image().src = "https://evil.example/x.png";
const sheet = { rel: "stylesheet", href: "https://evil.example/x.css" };
document.head.append(Object.assign(document.createElement("link"), sheet));
const added = document.createElement("script");
added.textContent = "document.body.dataset.ran = 'added'"; document.body.append(added);
setTimeout(() => { found.done = "yes"; }, 500);
"""


def test_a_page_runs_no_other_script_and_loads_and_sends_nothing(page, tmp_path):
    dom = in_browser(page.replace("</main>", f"</main>{INJECTED}", 1), tmp_path, TRIES)
    assert 'data-done="yes"' in dom and "data-ran" not in dom
    blocked = re.search(r'data-blocked="([^"]*)"', dom)
    assert blocked and {"connect-src", "img-src", "script-src", "script-src-elem", "style-src-elem"} <= set(
        blocked[1].split(",")
    )
    assert int(re.search(r'data-charts="(\d+)"', dom)[1]) >= 3, "the page's own scripts run"
