"""The few SVG parts that the pictures of a report are drawn with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

# Twelve colours that people with the common colour deficiencies tell apart; further clusters share grey.
COLOURS = (
    "#2a78d6", "#e07b1c", "#1c9a6c", "#c9417c", "#8059c9", "#a08a12",
    "#d1453b", "#2aa3b8", "#6b8e23", "#b05fa8", "#5a6fa8", "#a8612a",
)  # fmt: skip
OTHER = "#8a8f98"


def colour(rank: int) -> str:
    """The colour of the cluster with the `rank`-th largest share of the cycles."""
    return COLOURS[rank] if 0 <= rank < len(COLOURS) else OTHER


@dataclass(frozen=True)
class Scale:
    """Maps values from [low, high] to pixels from `start` to `end`.

    >>> Scale(0, 10, 100, 200)(5)
    150.0
    """

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The pixel of a value."""
        span = (self.high - self.low) or 1.0
        return self.start + (value - self.low) / span * (self.end - self.start)

    def ticks(self, count: int = 4) -> list[float]:
        """Values for `count` + 1 evenly spaced ticks."""
        return [self.low + (self.high - self.low) * i / count for i in range(count + 1)]


def picture(width: float, height: float, parts: Iterable[str], label: str) -> str:
    """A whole SVG that scales with the page; `label` is read to people who do not see it."""
    return f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(label, quote=True)}">{"".join(parts)}</svg>'


def text(x: float, y: float, content: str, anchor: str = "start", cls: str = "") -> str:
    """One line of text."""
    kind = f' class="{cls}"' if cls else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{kind}>{escape(content)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, cls: str = "axis") -> str:
    """A straight line."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{cls}"/>'


def circle(x: float, y: float, radius: float, fill: str, title: str = "", opacity: float = 1.0) -> str:
    """A dot; `title` shows when pointed at."""
    tip = f"<title>{escape(title)}</title>" if title else ""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{fill}" fill-opacity="{opacity:g}">{tip}</circle>'


def bar(x: float, y: float, width: float, height: float, fill: str, title: str = "", opacity: float = 1.0) -> str:
    """A filled rectangle."""
    tip = f"<title>{escape(title)}</title>" if title else ""
    size = f'x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{height:.1f}"'
    return f'<rect {size} fill="{fill}" fill-opacity="{opacity:g}">{tip}</rect>'


def path(points: Sequence[tuple[float, float]], cls: str, closed: bool = False) -> str:
    """A line through points, or the area they enclose."""
    steps = " ".join(f"{'M' if i == 0 else 'L'}{x:.1f} {y:.1f}" for i, (x, y) in enumerate(points))
    return f'<path d="{steps}{" Z" if closed else ""}" class="{cls}"/>'


def short(value: float) -> str:
    """A count, or a ratio, in a few characters.

    >>> short(1234567), short(950), short(0), short(0.25431)
    ('1.23 M', '950', '0', '0.2543')
    """
    for limit, unit in ((1e12, " T"), (1e9, " G"), (1e6, " M"), (1e4, " k")):
        if abs(value) >= limit:
            scaled = value / (1e3 if unit == " k" else limit)
            return f"{scaled:.3g}{unit}"
    return f"{value:.4g}" if value % 1 and abs(value) < 100 else f"{value:,.0f}"
