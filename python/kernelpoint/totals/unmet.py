"""Counters that no simulated launch has any of: in how many launches there may be some (the rule of three)."""

from __future__ import annotations

import math

import numpy as np

from kernelpoint.estimation import Engine, Look
from kernelpoint.estimation.unseen import unseen_share


def unmet_shares(look: Look, engine: Engine, confidence: float) -> dict[str, float]:
    """Largest share of launches that may have a positive value of a counter that is 0 in all simulated launches; by counter,
    for those without another bound.

    Formula: unseen_share (estimation/unseen.py) of the launches that each draw stands for. Of n draws that stand for equally
    many it is 1 - (1 - confidence)^(1 / n), nearly 3 / n at 95 % (Hanley and Lippman-Hand, JAMA 249, 1983).

    Model: draws are a probability sample. It says nothing of how large a positive value would be.

    Args:
        engine: with the results of the look.
    """
    unmet = [
        name
        for name, estimate in look.estimates.items()
        if estimate.simulated == 0.0 and not math.isfinite(estimate.half_width)
    ]
    if not unmet:
        return {}
    weights = engine.expansions(engine.drawn())
    share = unseen_share(np.where(weights > 1.0, weights, 0.0) / len(engine.results.rows), 1.0 - confidence)
    return dict.fromkeys(unmet, share)
