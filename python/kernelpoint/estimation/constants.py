"""Numbers of the estimators that no formula gives: their meaning here, where each comes from in README.md, under Constants.

Modules read them when they compute, as `constants.NAME`, so that a test can change each and see what notices.
"""

from __future__ import annotations

# Passes
MOST_LOOKS = 8  # looks of a run at most; the last pass simulates whatever is left
EARLY_PASSES = 3  # passes after which a sample grows by MAX_GROWTH_FACTOR at most; later by MIN_GROWTH_FACTOR at least
MAX_GROWTH_FACTOR = 3
MIN_GROWTH_FACTOR = 1.3
SIZING_MARGIN = 1.05  # a sample is sized so that its half-width should be this much below the budget
# of the error probability, over all looks of a kind (bounds.py)
SHARES = {"first": 0.25, "learning": 0.1, "sized": 0.65}

# Degrees of freedom and spreads
DEGREES_PER_DRAW = 2.0  # degrees of freedom of a variance are at most this times the draws, or strata, behind it
MIN_SQUARED_ERROR = 1e-6  # squared relative error of predictions about their line, at least
NO_SPREAD = 2.5e-5  # squared CoV of a stratum, at least: (0.5 %)^2, since clocks that tick in whole units read 0
MIN_COUNTS = 5  # draws that are no zeros which a bound on a count needs, if others are

# Strata
OUTLIER_ALLOWANCE = 0.2  # relative error of one draw that changes the total by the error budget at most
SECOND_DRAW_PROBABILITY = 0.25  # least chance of a second draw: one draw in most strata, two in a random part of them
PRIOR_DEGREES = 40.0  # nu_0: what other strata tell of a stratum's spread counts as much as so many more draws of it

# Slow units of measured lists
# Model: as many units as the draws do not exclude may exceed their usual value by this multiple of it: measured launches, and
# units of designs that say nothing of them
SLOW_EXCESS = 2.0
SLOW = 1.0  # a draw is slow if it exceeds the mean of its stratum's other draws by more than this part of it
PRIOR_TIMES = 0.85  # P(slow units take as many times as long in longer strata, not as many cycles more) before any draw
LEAST_RATE = 0.0025  # slow units that are rarer than this are what `assume: ordinary` does not promise

# Predictions: expected errors, relative, before any draw. The order of splits and the shrinking of slopes rest on them.
EXPECTED_NOISE = 0.03  # scatter of single units
EXPECTED_DEGREES = 0.5  # degrees of freedom that it counts for
EXPECTED_SLOPE_ERROR = 0.15  # how far the slope of truth on prediction may be from 1
EXPECTED_GROUP_ERROR = 0.2  # how far the levels of two groups may lie apart
MIN_SIZE_SHARE = 0.05  # a prediction below this part of the mean one may be off by as much as one that is that large

# Predictions: draws at least
LEAST_DRAWS = 11  # of a run, and of its beginning or first units if they have an estimate of their own
UNDRAWN_ERROR = 0.04  # assumed largest relative error of one undrawn unit
# assumed relative error of first units that are slow: with 95 % probability one of them is drawn if there are enough to break
# the budget, or if they are COLD_PART of all first units
COLD = 8.0

# Predictions: what draws tell of them
DEGREES_BETWEEN_GROUPS = 4.0  # degrees of freedom for which "units of a group differ as groups do" counts
OUTLIER_DEVIATIONS = 5.0  # an outlier is so many standard deviations of relative errors off, more where these are large
ALPHA_SHARE_IF_DOUBTED = 0.1  # share of the error probability that is spent then

# Beginning of a run, and first units of groups
EARLY = 0.1  # part of the run that is its beginning
EARLY_UNITS = 5  # first units of a group: the first of all stands apart, the others belong to the beginning
# of first units: if fewer are outliers, none of them may be drawn; of the total: where the beginning and first units make up
# more, they are no parts of their own
COLD_PART = 1.0 / 3.0
MATERIAL = 0.2  # part of the budget below which outliers in the beginning do not matter
ROOM = 0.5  # part of the budget that the bound and such outliers may take together before the beginning is apart
# groups with a larger share of the total have a first leaf each, whatever the budget: its cells nest so. Below an error of as
# much, a first pass has SECOND_DRAWS more than LEAST_DRAWS
APART = 0.05
# draws from which a spread is estimated: of first units at least, and beside another draw of their group before a sample grows
# by what draws tell
SECOND_DRAWS = 2

# A sample in two phases
FIRST_SHARE = 0.7  # part of the budget that a larger first sample is sized for
LEAST_SECOND_SHARE = 0.1  # part of it that the second sample is sized for at least
MOST_SCATTER = 0.5  # of its variance, by which predictions may scatter where traces are asked for on their word
