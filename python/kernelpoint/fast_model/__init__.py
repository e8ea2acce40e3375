"""The fast model: a small GPU simulator that runs a whole list in seconds and predicts the slow one's results.

Its cycles are not validated against hardware. Estimation uses them as auxiliary variables: errors of the model raise the
number of simulated launches, and do not lower the coverage of the intervals.
"""

from kernelpoint.fast_model.configuration import Configuration as Configuration
from kernelpoint.fast_model.configuration import configuration_for as configuration_for
from kernelpoint.fast_model.configuration import shipped as shipped
from kernelpoint.fast_model.configuration import stated_by as stated_by
from kernelpoint.fast_model.predict import MODEL_VERSION as MODEL_VERSION
from kernelpoint.fast_model.predict import predict as predict
