"""Several applications in one run: each gets the policy's design for itself, and a total of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from kernelpoint.errors import PolicyError, shown
from kernelpoint.estimation import AssistedDesign, Design
from kernelpoint.estimation.constants import SLOW_EXCESS
from kernelpoint.policies.contract import Policy
from kernelpoint.program import Program


def design_of(policy: Policy, program: Program) -> Design | AssistedDesign:
    """Make the design of a policy for a program. Each of several processes is designed separately, so that it gets its own
    total and error bound: no stratum has launches of two processes. A design with predictions is made for all of them together
    (`Policy.joint_design`).

    Raises:
        PolicyError: an input is missing or unusable, or the policy did not return a design of the program's launches.
    """
    if len(program.counts) == 1:
        return _checked_design(policy, program, policy.design(program))
    if (joint := policy.joint_design(program)) is not None:
        return _checked_design(policy, program, joint)
    programs = map(program.part, range(len(program.counts)))
    parts = [_checked_design(policy, part, policy.design(part)) for part in programs]
    strata = [part for part in parts if isinstance(part, Design)]
    if len(strata) < len(parts):
        raise PolicyError(
            f"policy {policy.config.policy.name}: `design` returned predictions for one of several processes; return those of "
            "all from `joint_design`"
        )
    return combined(strata, program)


def _checked_design(policy: Policy, program: Program, design: object) -> Design | AssistedDesign:
    """Check the design of a policy, and add the engine's assumption about rare slow launches if the policy makes none."""
    name = policy.config.policy.name
    if not isinstance(design, Design | AssistedDesign):
        raise PolicyError(f"policy {name}: `design` returned {shown(design)}; expected a kernelpoint.estimation.Design")
    if len(design.labels) != program.size:
        raise PolicyError(
            f"policy {name}: `design` returned {len(design.labels)} labels; expected one for each of {program.size} launches"
        )
    if isinstance(design, Design) and not policy.assumes_tail:
        return replace(design, slow_excess=max(design.slow_excess, SLOW_EXCESS))
    return design


def combined(parts: Sequence[Design], program: Program) -> Design:
    """Join the designs of several processes into one. Strata and clusters are renumbered."""
    first_stratum = np.cumsum([0] + [len(part.first_sizes) for part in parts])
    strata = [np.where(part.strata < 0, -1, part.strata + base) for part, base in zip(parts, first_stratum, strict=False)]
    clusters = [np.arange(len(part.first_sizes)) if part.clusters is None else np.asarray(part.clusters) for part in parts]
    first_cluster = np.cumsum([0] + [int(c.max(initial=-1)) + 1 for c in clusters])
    return Design(
        strata=np.concatenate(strata).astype(np.int32),
        first_sizes=np.concatenate([part.first_sizes for part in parts]),
        u=program.u,
        x=_all_or_none(parts, lambda part: part.x),
        clusters=np.concatenate([c + base for c, base in zip(clusters, first_cluster, strict=False)]),
        chosen=_all_or_none(
            [(part, base) for part, base in zip(parts, program.offsets, strict=False)],
            lambda item: None if item[0].chosen is None else item[0].chosen + item[1],
        ),
        balanced=all(part.balanced for part in parts),
        allowance=max(part.allowance for part in parts),
        slow_excess=max(part.slow_excess for part in parts),
    )


def _all_or_none(parts: Sequence, of: Callable) -> np.ndarray | None:
    """Concatenate one array over all parts; None if a part lacks it."""
    values = [of(part) for part in parts]
    return None if any(value is None for value in values) else np.concatenate(values)
