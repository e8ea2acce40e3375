"""The template of every page: one self-contained HTML file of verdicts, facts, charts, tables and lists."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from kernelpoint.traces.cache import ArtefactCache, cache_folder, key_of

if TYPE_CHECKING:
    from jinja2 import Template

Spec = dict[str, Any]  # of a chart, in Vega-Lite

WITHOUT_CHARTS = "No charts: they need the package vl-convert-python; pip install '.[report]', then write the page again."


@dataclass(frozen=True)
class Verdict:
    """First block of a page: the main result.

    Attributes:
        figure: main number of the page.
        claim: sentence on the meaning of the number.
        answers: answers by question, shown below the claim.
        lines: sentences shown below the answers.
        interval: relative half-width and error budget, compared in a small picture.
        colour: `good`, `warn`, `bad`, `cool` or `plain`.
        progress: number of finished launches and of all launches, for a run in progress.
    """

    figure: str
    claim: str
    lines: Sequence[str] = ()
    answers: Mapping[str, str] = field(default_factory=dict)
    interval: tuple[float, float] | None = None
    colour: str = "warn"
    progress: tuple[int, int] | None = None


@dataclass(frozen=True)
class Facts:
    """Block of a page that lists names with values. Its last entry must be a command and is shown on a line of its own."""

    values: Mapping[str, str]
    command: str = ""


@dataclass(frozen=True)
class Chart:
    """Block of a page with a chart, a heading and a caption. Screen readers read heading and caption.

    Attributes:
        name: identifier of the chart on the page.
        chart: Vega-Lite specification; None leaves the block out.
    """

    name: str
    title: str
    caption: str
    chart: Spec | None

    @property
    def label(self) -> str:
        """Label for screen readers, which Vega takes from the chart's description."""
        return f"{self.title}. {self.caption}"


@dataclass(frozen=True)
class Text:
    """Block of a page with paragraphs. With a title, it is a heading followed by a list."""

    lines: Sequence[str]
    title: str = ""


@dataclass(frozen=True)
class Page:
    """An HTML page made of blocks.

    >>> page = Page("Example", [Text(["1 < 2"])])
    >>> "<h1>Example</h1><p>1 &lt; 2</p>" in page.html()
    True

    Attributes:
        title: heading of the page, as plain text.
        blocks: blocks of the page, in order; None is skipped. The template has a macro for each class of block.
        about: line of text above the heading.
        reload: seconds after which a browser reloads the page; 0: never.
    """

    title: str
    blocks: Sequence[object]
    about: str = ""
    reload: int = 0

    def html(self) -> str:
        """HTML text of the page. If the extra `report` is not installed, it has a note in place of the charts."""
        drawing = javascript()
        charts = {it.name: it for it in self.blocks if isinstance(it, Chart) and it.chart is not None}
        missing = WITHOUT_CHARTS if charts and drawing is None else ""
        shown = charts if drawing is not None else {}
        specs = {name: {**(it.chart or {}), "description": it.label} for name, it in shown.items()}
        blocks = [
            (type(it).__name__.lower(), it)
            for it in self.blocks
            if it is not None and (not isinstance(it, Chart) or it.name in shown)
        ]
        data = json.dumps(specs, separators=(",", ":")).replace("</", "<\\/")
        scripts = [drawing or "", f"const SPECS = {data};\n{_assets()['js']}"]
        return _template().render(
            page=self, blocks=blocks, missing=missing, scripts=scripts, policy=content_policy(scripts), **_assets()
        )


def content_policy(scripts: Sequence[str]) -> str:
    """Content security policy of a page, with which a browser runs only the given scripts and loads and sends nothing.

    >>> content_policy(["1"])
    "default-src 'none'; script-src 'sha256-a4ayc/80/OGda4BO/1o/V0etpOqiLx1JwB5S3beHW0s='; style-src 'unsafe-inline'; ..."
    """
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


def macro(name: str, block: Any) -> str:
    """HTML of one block of a page, made by the template's macro `name`."""
    return str(getattr(_template().make_module(_assets()), name)(block))


@cache
def _assets() -> dict[str, str]:
    folder = files("kernelpoint.pages") / "assets"
    return {kind: folder.joinpath(f"page.{kind}").read_text(encoding="utf-8") for kind in ("css", "js")}


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # for pages only
    from markupsafe import Markup

    loader = PackageLoader("kernelpoint.pages", "assets")
    environment = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    environment.globals["wbr"], environment.globals["below"] = Markup("_<wbr>"), Markup("<br>± ")
    return environment.get_template("page.html")


def javascript() -> str | None:
    r"""JavaScript of the chart library Vega from the package vl-convert (about 0.9 MB); None if the package is not installed.

    It takes seconds to make, so it has a cache of its own, whose key changes with each installation of the package. `<` is
    written `\x3C` where it could end the element of a page that the JavaScript stands in.
    """
    try:
        installed = os.stat(str(distribution("vl-convert-python").locate_file("vl_convert")))
        import vl_convert
    except (PackageNotFoundError, FileNotFoundError, ModuleNotFoundError):
        return None
    key = key_of(installed.st_ino, installed.st_mtime_ns)
    with closing(ArtefactCache(cache_folder() / "charts")) as kept:
        (text,) = kept.get("vega", [key], lambda texts: [text.decode() for text in texts])
        if text is None:
            text = str(vl_convert.javascript_bundle())  # type: ignore[call-arg]  # without a snippet: all of Vega
            kept.put("vega", {key: text.encode()})
    return re.sub("<(?=/?script|!--)", r"\\x3C", text, flags=re.IGNORECASE)
