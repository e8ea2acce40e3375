"""A selection: the plan of a program before its launches are traced, and the launches to trace."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from kernelpoint.config import Config
from kernelpoint.estimation import Design, Engine
from kernelpoint.planning.making import PlanInputs
from kernelpoint.planning.plan import Plan
from kernelpoint.policies.registry import load_policy
from kernelpoint.program import Program
from kernelpoint.progress import Log
from kernelpoint.selection.census import tracers


@dataclass(frozen=True)
class Selection(Plan):
    """Sampling plan made before tracing: all launches of the tracer's table, and those of them to trace. Its file contains the
    launches.

    Attributes:
        traced: bool [N], True for launches to trace.
        spare: launches to trace in each stratum (group sampled separately), per launch that the first sample needs there.

    >>> design = Design(np.zeros(3, int), np.array([1]), np.array([0.5, 0.1, 0.9]))
    >>> program = Program.of(["gemm"] * 3, numbers=np.arange(1, 4), tracer="accelsim")
    >>> Selection(program, design, {}, traced=np.array([False, True, True])).numbers.tolist()
    [2, 3]
    """

    kind: ClassVar[str] = "selection"
    columns: ClassVar[tuple[str, ...]] = ("label", "numbers", "stream", "start", "duration")

    traced: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=bool))
    spare: float = 1.0

    @property
    def numbers(self) -> np.ndarray:
        """Numbers that the tracer gives the launches to trace, int64 [n], ascending."""
        return np.unique(np.asarray(self.program.numbers)[self.traced])

    @property
    def strata(self) -> Design:
        """Design of the selection, which is a stratified one. The other kind of design needs predictions, and no launch has a
        prediction before tracing.
        """
        assert isinstance(self.design, Design)
        return self.design

    def _parts(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        about, arrays = super()._parts()
        program = self.program
        about |= {
            "tracer": program.tracer,
            "source": program.source,
            "counters": [*program.counters],
            "spare": self.spare,
        }
        arrays |= {f"counter_{i}": values for i, values in enumerate(program.counters.values())}
        return about, {**arrays, "traced": self.traced}

    @classmethod
    def _of(cls, about: dict[str, Any], arrays: dict[str, np.ndarray], program: Program | None) -> Self:
        origin, traced = about["origin"], arrays["traced"]
        size = len(traced)
        if about["tracer"] not in tracers() or origin["launches"] != [size] or traced.shape != (size,):
            raise ValueError("its launches do not fit its sample")
        if not 1.0 <= about["spare"] < math.inf or traced.dtype != bool or about["predictions"]:
            raise ValueError("its sample is invalid")
        counters = {name: arrays[f"counter_{i}"] for i, name in enumerate(about["counters"])}
        if any(column.shape != (size,) for column in counters.values()):
            raise ValueError("its counters do not fit together")
        program = Program(
            (size,),
            int(origin["seed"]),
            counters=counters,
            tracer=about["tracer"],
            source=str(about["source"]),
            to_trace=True,
        )
        plan = super()._of(about, arrays, program)
        if plan.program.numbers is None or plan.program.numbers.min(initial=0) < 0:
            raise ValueError("the tracer's numbers of launches do not fit together")
        return replace(plan, traced=traced, spare=float(about["spare"]))


def draw(census: Program, config: Config, spare: float, log: Log) -> tuple[Selection, np.ndarray]:
    """Select launches to trace. Returns the selection, and the indices of the launches in the first sample, int64 [n].

    The policy designs the sample from names, shapes and neighbours in the launch sequence; times, if known, are the covariate.

    Args:
        census: the tracer's table of all launches.
        config: configuration of the run.
        spare: launches to trace in each stratum (group sampled separately), per launch that the first sample needs there.
        log: function that receives lines for the user.

    Raises:
        ConfigError: the policy needs traces.
        PolicyError: another input of the policy is missing.

    >>> from kernelpoint.config import parse_config
    >>> census = Program.of(["gemm"], source="an example", numbers=np.arange(1, 2), tracer="accelsim")
    >>> selection, drawn = draw(census, parse_config({"version": 1, "policy": "kernelpoint"}, "keys"), 1.0, print)
    >>> selection.numbers.tolist(), drawn.tolist()
    ([1], [0])
    """
    policy, program = load_policy(config.policy), replace(census, seed=config.seed, to_trace=True)
    inputs = PlanInputs.of(config, policy, program, "--profile")
    selection = Selection(program, inputs.make(log).design, inputs.origin, spare=spare)
    engine = engine_of(selection.strata, config)
    traced = np.zeros(program.size, dtype=bool)
    traced[engine.sampling.with_spare(spare)] = True
    return replace(selection, traced=traced), engine.drawn()


def engine_of(design: Design, config: Config) -> Engine:
    """Make the sampling engine of a design; it decides the order in which launches are drawn."""
    return Engine(design, load_policy(config.policy).budget_for(config), "mean")
