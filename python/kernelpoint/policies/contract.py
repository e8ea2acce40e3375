"""Contract of a policy: a rule that makes a frozen sampling design from facts known before the simulation.

To add one, put a file `<name>.py` in `methods` with one subclass of :class:`Policy`, or name a class of another package in the
entry point group `kernelpoint.policies`; nothing else changes. `methods/random.py` is the example to copy, and
`conformance.py` the suite that it must pass.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from kernelpoint.config import Config, PolicyChoice, Section, check_section
from kernelpoint.errors import ConfigError
from kernelpoint.estimation import AssistedDesign, Bound, Design, ErrorBudget, Method, constants
from kernelpoint.program import Program
from kernelpoint.workload import Available, Need


class Policy(ABC):
    """Base class of sampling methods (policies). A policy divides the launches of a program into strata before the simulation.
    An instance keeps no state of a run: equal programs give equal designs.

    Class attributes:
        counters: counters, besides instructions, that the method reads from a profile; no times.
        bounds: values of `error_budget.bound` that the method supports; the first is the default.
        estimate: estimator of totals from strata (see `Engine`).
        uses_budget: True if the design depends on the error budget, so that a plan is valid for one budget only.
        online: True if launches may be simulated as they arrive, with a design made after the first pass (round of sampling).
        assumes_tail: True if the design itself allows for slow launches that are never drawn (`Design.slow_excess`, which may
            be 0). The designs of other policies get SLOW_EXCESS.
        promises_budget: True if the design itself claims to meet the budget, from variances known beforehand. If the engine
            states no bound, the claim is the method's bound.
    """

    counters: ClassVar[tuple[str, ...]] = ()
    bounds: ClassVar[tuple[Bound, ...]] = ("sequential", "none")
    estimate: ClassVar[Method] = "regression"
    uses_budget: ClassVar[bool] = False
    online: ClassVar[bool] = False
    assumes_tail: ClassVar[bool] = False
    promises_budget: ClassVar[bool] = False

    @dataclass(frozen=True)
    class Parameters(Section):
        """Parameters of a policy, which a user writes after its name: `policy: {name: stem, epsilon: 0.05}`.

        A policy with parameters defines its own dataclass of this name, whose fields have a type, limits, a default and a
        description.
        """

    def __init__(self, config: Config) -> None:
        self.config = config
        self.parameters = self.check_parameters(config.policy)

    @classmethod
    def check_parameters(cls, choice: PolicyChoice) -> Any:
        """Parameters that the user set, with defaults for all others.

        Raises:
            ConfigError: a parameter is unknown, of the wrong type or out of range.
        """
        parameters: type[Section] = cls.Parameters
        return check_section(parameters, choice.parameters, "policy")

    @classmethod
    def inputs(cls, available: Available) -> frozenset[Need]:
        """Inputs that the design needs, chosen from the available ones; by default none. The run is refused if one is not
        available (workload.check_available).
        """
        return frozenset()

    @classmethod
    def bound_for(cls, config: Config) -> Bound:
        """Kind of bound of a run: the configuration's, or the first that the method supports.

        Raises:
            ConfigError: the method does not support the kind of bound in the configuration.
        """
        wanted = config.error_budget
        if "bound" not in wanted.stated:
            return cls.bounds[0]
        if wanted.bound not in cls.bounds:
            raise ConfigError(
                f"error_budget.bound: got {wanted.bound!r}; policy {config.policy} allows: {', '.join(cls.bounds)}"
            )
        return wanted.bound

    @classmethod
    def budget_for(cls, config: Config) -> ErrorBudget:
        """Error budget of a run, with its kind of bound."""
        wanted = config.error_budget
        targets = wanted.counter, cls.bound_for(config), wanted.further
        return ErrorBudget(wanted.relative_error, wanted.confidence, *targets)

    def least_allowance(self, program: Program) -> float:
        """Least `Design.allowance` of this method's strata for a program; the file of a selection with less is refused. By
        default that of a `Design` of which none is given.
        """
        return constants.OUTLIER_ALLOWANCE

    @classmethod
    def projects(cls, config: Config) -> bool:
        """True if the method stops launches before their end and extrapolates their results; by default False."""
        return False

    @abstractmethod
    def design(self, program: Program) -> Design | AssistedDesign:
        """Divide the launches into strata, and set the size of the first sample of each, from facts known without simulation.
        Must not change `program`; equal programs and configurations must give equal designs.

        Raises:
            PolicyError: an input is missing or unusable; the message says which, and how to provide it.
        """

    def joint_design(self, program: Program) -> AssistedDesign | None:
        """Design with predictions for all of several processes together; by default None: `design` makes that of each process.

        Args:
            program: launches of all processes.
        """
        return None


class Representatives(Policy):
    """Base class of methods in which one chosen launch represents each stratum. No bound is stated, because nothing is drawn at
    random.
    """

    bounds: ClassVar[tuple[Bound, ...]] = ("none",)
    estimate: ClassVar[Method] = "mean"
