"""Inputs of a plan: the description of the simulator, and the program with its traces, embeddings, predictions and times."""

from kernelpoint.workload.host_info import HostInfo as HostInfo
from kernelpoint.workload.inputs import Available as Available
from kernelpoint.workload.inputs import FastModel as FastModel
from kernelpoint.workload.inputs import Need as Need
from kernelpoint.workload.inputs import aligned as aligned
from kernelpoint.workload.inputs import check_available as check_available
from kernelpoint.workload.inputs import complete as complete
from kernelpoint.workload.inputs import known_times as known_times
from kernelpoint.workload.inputs import labelled as labelled
from kernelpoint.workload.inputs import predicted as predicted
from kernelpoint.workload.inputs import program_for as program_for
from kernelpoint.workload.inputs import program_of as program_of
from kernelpoint.workload.inputs import require as require
from kernelpoint.workload.inputs import usable as usable
from kernelpoint.workload.inputs import why_no_cells as why_no_cells
from kernelpoint.workload.inputs import why_unassisted as why_unassisted
from kernelpoint.workload.inputs import with_predictor as with_predictor
from kernelpoint.workload.inputs import with_profile as with_profile
