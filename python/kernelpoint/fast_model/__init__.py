"""The fast model: a small GPU simulator that runs a whole list in seconds and predicts the slow one's results.

Its cycles are not validated against hardware. They are auxiliary variables: its errors cost simulated launches, never
coverage.
"""

from kernelpoint.fast_model.configuration import Configuration, configuration_for, shipped, stated_by
from kernelpoint.fast_model.predict import MODEL_VERSION, predict
from kernelpoint.fast_model.predictions import Predictions, in_terms_of

__all__ = [
    "MODEL_VERSION",
    "Configuration",
    "Predictions",
    "configuration_for",
    "in_terms_of",
    "predict",
    "shipped",
    "stated_by",
]
