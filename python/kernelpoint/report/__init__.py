"""Reports of runs: pages, tables, charts, and files for other tools."""

from typing import Literal

End = Literal["estimate", "low", "high"]  # of an interval: where times for another simulator are taken
