"""Support of Accel-Sim (gpgpu-sim 4), except for the hook, which is in `accelsim_patch`."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from kernelpoint.simulators import Costs, Counters, Options, Simulator, whole
from kernelpoint.simulators.accelsim.census import AccelSimCensus
from kernelpoint.simulators.accelsim.checks import CHECKS
from kernelpoint.simulators.accelsim.profile import AccelSimOutput, GetStatsCsv
from kernelpoint.simulators.accelsim.tracer import TRACER

# An L1 that allocates a line when its data arrives finds none while that is on its way: a miss once more.
_ALLOCATES_ON_FILL = re.compile(r"[^,\s]+,\w:\w:[fs]")
# Its counters as sums of the fast model's: name -> ((the model's counter, weight), ...). It looks stores up in L1 as well, and
# calls a sector that is still on its way no hit.
_L1_WRITES = (("l1_global_writes", 1.0),)
_L1_WRITE_MISSES = (*_L1_WRITES, ("l1_global_write_hits", -1.0))
_L2_READS = (("l2_accesses", 1.0), ("l2_global_writes", -1.0))
_L2_WRITE_MISSES = (("l2_global_writes", 1.0), ("l2_global_write_hits", -1.0))
TERMS: Mapping[str, tuple[tuple[str, float], ...]] = {
    "l1_accesses": (("l1_accesses", 1.0), *_L1_WRITES),
    "l1_misses": (("l1_misses", 1.0), *_L1_WRITE_MISSES),
    "l1_global_reads": (("l1_accesses", 1.0),),
    "l1_global_read_hits": (("l1_accesses", 1.0), ("l1_misses", -1.0), ("l1_global_reads_merged", -1.0)),
    "l1_bank_conflicts": (("l1_accesses", 1.0),),
    "l2_misses": (("l2_misses", 1.0), *_L2_WRITE_MISSES),
    "l2_global_reads": _L2_READS,
    "l2_global_read_hits": (*_L2_READS, ("l2_misses", -1.0), ("l2_global_reads_merged", -1.0)),
}


def _clock(options: Options) -> float | None:
    """Clock of the cores, from the first number of the option."""
    stated = options.get("-gpgpu_clock_domains", "").partition(":")[0]
    return float(stated) if stated else None


def _architecture(options: Options) -> int:
    stated = whole(options, "-gpgpu_ptx_force_max_capability")
    major = whole(options, "-gpgpu_compute_capability_major")
    return 10 * major + whole(options, "-gpgpu_compute_capability_minor") if major else stated


def _sms(options: Options) -> int:
    return whole(options, "-gpgpu_n_clusters") * whole(options, "-gpgpu_n_cores_per_cluster", 1)


def _in_its_terms(counters: Counters, options: Options, active: np.ndarray) -> dict[str, np.ndarray]:
    """Convert predictions to Accel-Sim's counters, such as `sm_cycles` (cycles with a CTA on the SM, summed over SMs)."""
    terms, sms = dict(TERMS), _sms(options)
    added = {"sm_cycles": active * np.minimum(counters["ctas"], sms)} if sms and "ctas" in counters else {}
    if _ALLOCATES_ON_FILL.match(options.get("-gpgpu_cache:dl1", "")):
        terms["l1_misses"] = (*terms["l1_misses"], ("l1_global_reads_merged", 1.0))
    return added | {
        name: np.maximum(sum(weight * counters[part_name] for part_name, weight in parts), 0.0)
        for name, parts in terms.items()
        if all(part_name in counters for part_name, _ in parts)
    }


SIMULATOR = Simulator(
    name="accelsim",
    title="Accel-Sim",
    next_steps=(
        "kernelpoint patch accelsim CHECKOUT          # once; then build the simulator as usual",
        "accel-sim.out -trace kernelslist.g -config gpgpusim.config -config trace.config -kernel_sampling {file}",
    ),
    configuration="gpgpusim",
    costs=Costs("thread_instructions", instruction=1.0 / 500_000, launch=0.05, latency=0.3),
    tracer=TRACER,
    checks=tuple(CHECKS),
    profile_formats=(AccelSimOutput, GetStatsCsv, AccelSimCensus),
    launch_latency=lambda options: whole(options, "-gpgpu_kernel_launch_latency"),
    architecture=_architecture,
    clock=_clock,
    sms=_sms,
    in_its_terms=_in_its_terms,
    # Model: AccelWattch charges a fixed energy for each event; the energy of units that only some kernels use is in proportion
    # to the instructions of these.
    in_proportion={
        "instructions": (
            "energy_dp_divp",
            "energy_dp_mulp",
            "energy_dpup",
            "energy_fp_divp",
            "energy_fp_exp",
            "energy_fp_lgp",
            "energy_fp_mulp",
            "energy_fp_sinp",
            "energy_fp_sqrtp",
            "energy_fpup",
            "energy_int_divp",
            "energy_int_mul24p",
            "energy_int_mul32p",
            "energy_int_mulp",
            "energy_intp",
            "energy_pipep",
            "energy_tensorp",
        ),
        "warp_instructions": ("energy_ibp", "energy_icp", "energy_rfp", "energy_schedp", "energy_ccp"),
        "l1_accesses": ("energy_dcp", "energy_texp", "energy_tcp"),
        "l2_accesses": ("energy_l2cp", "energy_nocp"),
        "shared_accesses": ("energy_shrdp",),
        "sm_cycles": ("energy_staticp",),
        "dram_reads": ("energy_dramp",),
    },
)
