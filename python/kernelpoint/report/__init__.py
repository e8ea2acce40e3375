"""Reports of runs, of pairs of runs, and of sweeps.

One way of the data: `result_of` makes the result of a run from its journal, once. `tables` and `charts` declare what is shown
of it: a column says which value of a record stands in it, and how. `text` (terminal), `page` (HTML) and `paper` (LaTeX, PDF,
SVG) render these. `pairs` does the same for two runs and for sweeps. `export` has the launches one by one and the contract of
files for other tools, which `exports` write.
"""

from typing import Literal

End = Literal["estimate", "low", "high"]  # of an interval: where times for another simulator are taken
