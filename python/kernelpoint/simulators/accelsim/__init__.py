"""Accel-Sim (gpgpu-sim 4): what KernelPoint knows of it besides the hook in `accelsim_patch`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from kernelpoint.simulators import Costs, Simulator
from kernelpoint.simulators.accelsim.census import AccelSimCensus
from kernelpoint.simulators.accelsim.profile import AccelSimOutput
from kernelpoint.simulators.accelsim.tracer import AccelSimTracer

_LAUNCH_LATENCY = re.compile(r"^-gpgpu_kernel_launch_latency\s+(\d+)", re.MULTILINE)
# An L1 that allocates a line when its data arrives finds none while that is on its way: a miss once more.
_ALLOCATES_ON_FILL = re.compile(r"^-gpgpu_cache:dl1\s+[^,\s]+,\w:\w:[fs]", re.MULTILINE)
_WHOLE_NUMBERS = re.compile(r"^-gpgpu_(n_clusters|n_cores_per_cluster)\s+(\d+)", re.MULTILINE)
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


class AccelSim(Simulator):
    """See :class:`~kernelpoint.simulators.Simulator`."""

    name = "accelsim"
    title = "Accel-Sim"
    next_steps = (
        "kernelpoint patch accelsim CHECKOUT          # once; then build the simulator as usual",
        "accel-sim.out -trace kernelslist.g -config gpgpusim.config -config trace.config -kernel_sampling {file}",
    )
    configuration = "gpgpusim"
    costs = Costs("instructions", instruction=1.0 / 500_000, launch=0.05, latency=0.3)
    tracer = AccelSimTracer()
    # Model: AccelWattch charges a fixed energy for each event; the energy of units that only some kernels use is in proportion
    # to the instructions of these.
    in_proportion: ClassVar[Mapping[str, str]] = {
        "instructions": """
            energy_dp_divp energy_dp_mulp energy_dpup energy_fp_divp energy_fp_exp energy_fp_lgp energy_fp_mulp energy_fp_sinp
            energy_fp_sqrtp energy_fpup energy_int_divp energy_int_mul24p energy_int_mul32p energy_int_mulp energy_intp
            energy_pipep energy_tensorp""",
        "warp_instructions": "energy_ibp energy_icp energy_rfp energy_schedp energy_ccp",
        "l1_accesses": "energy_dcp energy_texp energy_tcp",
        "l2_accesses": "energy_l2cp energy_nocp",
        "shared_accesses": "energy_shrdp",
        "sm_cycles": "energy_staticp",
        "dram_reads": "energy_dramp",
    }

    def profile_formats(self) -> tuple[Any, ...]:
        """See :class:`~kernelpoint.simulators.Simulator`."""
        return AccelSimOutput, AccelSimCensus

    def launch_latency(self, options: str) -> int:
        """See :class:`~kernelpoint.simulators.Simulator`.

        >>> AccelSim().launch_latency("-gpgpu_kernel_launch_latency   5000 # cycles")
        5000
        """
        found = _LAUNCH_LATENCY.search(options)
        return int(found[1]) if found else 0

    def clock(self, options: Mapping[str, str]) -> float | None:
        """See :class:`~kernelpoint.simulators.Simulator`. Of the option's clocks the cores' is the first."""
        stated = options.get("-gpgpu_clock_domains", "").partition(":")[0]
        return float(stated) if stated else None

    def sms(self, options: Mapping[str, str]) -> str:
        """See :class:`~kernelpoint.simulators.Simulator`."""
        told = [options.get(f"-gpgpu_{name}", "") for name in ("n_clusters", "n_cores_per_cluster")]
        return str(int(told[0]) * int(told[1])) if all(map(str.isdecimal, told)) else ""

    def in_its_terms(
        self, counters: Mapping[str, np.ndarray], options: str, active: np.ndarray
    ) -> dict[str, np.ndarray]:
        """See :class:`~kernelpoint.simulators.Simulator`. `sm_cycles` are the cycles in which SMs execute a CTA, summed over
        SMs: of as many SMs as there are CTAs.
        """
        terms, given = dict(TERMS), {name: int(value) for name, value in _WHOLE_NUMBERS.findall(options)}
        sms = given.get("n_clusters", 0) * given.get("n_cores_per_cluster", 1)
        found = {"sm_cycles": active * np.minimum(counters["ctas"], sms)} if sms and "ctas" in counters else {}
        if _ALLOCATES_ON_FILL.search(options):
            terms["l1_misses"] = (*terms["l1_misses"], ("l1_global_reads_merged", 1.0))
        return found | {
            name: np.maximum(sum(weight * counters[own] for own, weight in parts), 0.0)
            for name, parts in terms.items()
            if all(own in counters for own, _ in parts)
        }
