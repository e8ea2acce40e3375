"""Limits on the growth of a sample from pass to pass, the same for every design; measured in README.md, under Constants."""

from __future__ import annotations

PASSES = 8  # looks of a run at most; the last pass simulates whatever is left
EARLY_PASSES = 3  # passes after which a sample grows by MAX_GROWTH_FACTOR at most; later by MIN_GROWTH_FACTOR at least
MAX_GROWTH_FACTOR = 3
MIN_GROWTH_FACTOR = 1.3
SIZING_MARGIN = 1.05  # a sample is sized so that its half-width should be this much below the budget
