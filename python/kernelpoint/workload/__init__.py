"""A workload before it is simulated: its launches, the inputs known for each, and the fingerprint of its trace list."""

from kernelpoint.workload.described import Descriptions as Descriptions
from kernelpoint.workload.host_info import HostInfo as HostInfo
from kernelpoint.workload.host_info import ModelSource as ModelSource
from kernelpoint.workload.inputs import Available as Available
from kernelpoint.workload.inputs import Need as Need
from kernelpoint.workload.inputs import check_available as check_available
from kernelpoint.workload.inputs import complete as complete
from kernelpoint.workload.inputs import population_for as population_for
from kernelpoint.workload.inputs import population_of as population_of
from kernelpoint.workload.inputs import why_no_cells as why_no_cells
from kernelpoint.workload.inputs import why_unassisted as why_unassisted
from kernelpoint.workload.inputs import with_descriptions as with_descriptions
from kernelpoint.workload.inputs import with_profile as with_profile
from kernelpoint.workload.population import Population as Population
from kernelpoint.workload.population import aligned as aligned
from kernelpoint.workload.population import fingerprint as fingerprint
from kernelpoint.workload.population import launches_of_traces as launches_of_traces
from kernelpoint.workload.population import named as named
from kernelpoint.workload.predictions import model_profile as model_profile
from kernelpoint.workload.predictions import predicted as predicted
from kernelpoint.workload.predictions import usable as usable
from kernelpoint.workload.predictions import with_model_source as with_model_source
