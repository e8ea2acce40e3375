"""A workload before it is simulated: its launches, the inputs known for each, and the fingerprint of its trace list."""

from kernelpoint.workload.described import Descriptions, with_descriptions
from kernelpoint.workload.fingerprint import fingerprint
from kernelpoint.workload.host_info import HostInfo
from kernelpoint.workload.inputs import Available, Need, check_available, complete, why_unassisted, with_profile
from kernelpoint.workload.launch_lists import population_for, population_of
from kernelpoint.workload.model import ModelSource, model_profile, predicted, usable, with_model_source
from kernelpoint.workload.population import Population, aligned, named

__all__ = [
    "Available",
    "Descriptions",
    "HostInfo",
    "ModelSource",
    "Need",
    "Population",
    "aligned",
    "check_available",
    "complete",
    "fingerprint",
    "model_profile",
    "named",
    "population_for",
    "population_of",
    "predicted",
    "usable",
    "why_unassisted",
    "with_descriptions",
    "with_model_source",
    "with_profile",
]
