"""Reports of runs, of pairs of runs, and of sweeps.

One way of the data: `result_of` makes the result of a run from its journal, once. `tables` and `charts` declare what is shown
of it: a column says which value of a record stands in it, and how. `text` (terminal), `page` (HTML) and `paper` (LaTeX, PDF,
SVG) render these. `pair` and `sweep` do the same for runs that are compared. `exports` write files for other tools, launch by
launch.
"""

from typing import Literal

End = Literal["estimate", "low", "high"]  # of an interval: where times for another simulator are taken
