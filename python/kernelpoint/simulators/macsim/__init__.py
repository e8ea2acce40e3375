"""Support of MacSim, except for the hook, which is in `macsim_patch`."""

from __future__ import annotations

import math
from pathlib import Path

from kernelpoint import _native
from kernelpoint.simulators import MISPREDICTIONS, ConversionProgress, CoreModel, Costs, Simulator, whole
from kernelpoint.simulators.macsim.census import MacSimCensus
from kernelpoint.simulators.macsim.cores import kept_state, predict_cores, replayed_bytes
from kernelpoint.simulators.macsim.profile import MacSimOutput
from kernelpoint.simulators.macsim.tracer import TRACER


def _convert(source: Path, output: Path, level: int, progress: ConversionProgress) -> list[str]:
    from kernelpoint.simulators.macsim.convert import convert_to_macsim  # what runs do without

    return convert_to_macsim(source, output, level, progress=progress).sentences(output)


SIMULATOR = Simulator(
    name="macsim",
    title="MacSim",
    next_steps=(
        "kernelpoint patch macsim CHECKOUT            # once; then build the simulator as usual",
        "macsim --kernel_sampling={file}",
    ),
    # Model: 9.1 and 11.3 us for a warp instruction on two lists of PyTorch training; 58 us behind memory.
    costs=Costs("instructions", instruction=1e-5),
    tracer=TRACER,
    profile_formats=(MacSimOutput, MacSimCensus),
    cores=CoreModel(
        _native.macsim.CORE_MODEL_VERSION,
        _native.macsim.REPLICATIONS,
        predict_cores,
        state_events={"mispredictions": MISPREDICTIONS, "memory_requests": "requests", "llc_misses": "last_level_misses"},
    ),
    convert=_convert,
    sms=lambda options: whole(options, "num_sim_cores"),
    in_proportion={
        "l1_lookups": ("l1_accesses",),
        "l1_lookup_misses": ("l1_misses",),
        "requests": ("memory_requests",),
        "fetch_misses": ("icache_misses",),
        "requests_beyond_l1": ("l2_accesses", "l2_misses", "llc_accesses", "llc_misses", "dram_requests"),
        "mispredictions": ("mispredictions",),
    },
    kept_state=kept_state,
    replayed_bytes=replayed_bytes,
    # Model: CTAs that waited for room ran on other cores, whose L1s hold other lines; simpletorch +3 to +8 %.
    # What the L1s themselves miss is not bounded: of an iterative solver the sample had 1,296 +- 7 for 1,514. Neither are
    # mispredictions, which differ between trajectories (14,029 in its full run, 10,369 in the mean of twelve), nor misses of
    # the last level: a request for a line on its way from DRAM is one, so single cycles decide (simpletorch with 80 cores:
    # +18 to +31 %).
    not_restored={
        "fetch_misses": 0.05,
        "requests_beyond_l1": 0.05,
        "l1_lookup_misses": math.inf,
        "requests": math.inf,
        "llc_misses": math.inf,
        "dram_requests": math.inf,
        "mispredictions": math.inf,
    },
)
