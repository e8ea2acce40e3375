"""Pages of a run, a pair, a sweep and a comparison, and ten pages of the site, have no serious finding of axe-core.

The test needs Chromium, and axe-core where $AXE or build/axe says: npm install --prefix build/axe axe-core
"""

import html
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from documented import run

ROOT = Path(__file__).resolve().parents[2]
AXE = Path(os.environ.get("AXE") or ROOT / "build/axe/node_modules/axe-core/axe.min.js")
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
    pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: npm install --prefix build/axe axe-core"),
]
SITE = (
    "index getting-started commands configuration bound how-it-works python tutorials/accelsim tutorials/comparing "
    "evidence/methods"
)
COMMANDS = """\
kernelpoint lab synth iterative-solver -o traces --set rows=256 --launches 200
kernelpoint run --sweep grid.yaml -c kernelpoint.yaml --workers 2 -o sweep.html -- kernelpoint-host -trace traces/kernelslist.g
kernelpoint report run.config-v100.kpjournal -o run.html
kernelpoint compare run.config-v100.kpjournal run.config-rtx.kpjournal -o pair.html
kernelpoint compare -w traces=traces/kernelslist.g,host=rtx,profile=host:v100 -p kernelpoint,stem,gcl --seeds 1 -o compare
"""
SCRIPT = """<script>{axe}</script><script>addEventListener("load", () => setTimeout(async () => {{
  const serious = (await axe.run()).violations.filter(({{ impact }}) => impact === "serious" || impact === "critical");
  const answer = document.createElement("pre");
  answer.id = "axe-findings";
  answer.textContent = JSON.stringify(serious.map(({{ id, nodes }}) => [id, nodes[0].html.slice(0, 200)]));
  document.body.append(answer);
}}, 1500));</script></body>"""


def findings(page: Path, dark: bool) -> list[list[str]]:
    """Rule and first element of each serious or critical finding; the page's security policy, which stops axe, is taken out."""
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text(encoding="utf-8"))
    script = SCRIPT.format(axe=AXE.read_text(encoding="utf-8").replace("</script", "<\\/script"))
    copy = page.with_name(f"axe-{page.name}")
    copy.write_text(script.join(text.rsplit("</body>", 1)), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--window-size=1280,1400", "--virtual-time-budget=20000", "--dump-dom"]
    scheme = [f"--blink-settings=preferredColorScheme={0 if dark else 1}"]
    done = subprocess.run([str(CHROMIUM), *options, *scheme, copy.as_uri()], capture_output=True, text=True, timeout=120)
    copy.unlink()
    (answer,) = re.findall(r'<pre id="axe-findings">(.*?)</pre>', done.stdout, re.DOTALL)
    return json.loads(html.unescape(answer))


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A folder with the pages of two runs, their pair, a sweep and a comparison."""
    pytest.importorskip("distributed")
    pytest.importorskip("vl_convert")
    folder = tmp_path_factory.mktemp("pages")
    (folder / "kernelpoint.yaml").write_text("version: 1\npolicy: kernelpoint\nerror_budget: {relative_error: 0.02}\n")
    (folder / "grid.yaml").write_text("-config: [v100, rtx]\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
        run(COMMANDS, folder)
    return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built."""
    pytest.importorskip("material")
    pytest.importorskip("mkdocstrings")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, check=True, timeout=300)
    return folder


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["run", "pair", "sweep", "compare/comparison"])
def test_a_page_of_results_has_no_serious_finding(pages, name, dark):
    assert findings(pages / f"{name}.html", dark) == []


@pytest.mark.parametrize("name", SITE.split())
def test_a_page_of_the_site_has_no_serious_finding(site, name):
    assert findings(site / f"{name}.html", dark=False) == []
    assert findings(site / f"{name}.html", dark=True) == []


def test_the_search_of_the_site_works_from_the_disk(site):
    options = ["--headless", "--no-sandbox", "--virtual-time-budget=15000", "--dump-dom"]
    address = (site / "evidence" / "index.html").as_uri() + "?q=half-width"
    done = subprocess.run([str(CHROMIUM), *options, address], capture_output=True, text=True, timeout=120)
    assert int(re.findall(r">(\d+) matching documents<", done.stdout)[0]) > 5
