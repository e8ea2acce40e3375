"""Contract of a policy: a rule that makes a frozen sampling design from facts known before the simulation.

To add one, put a file `<name>.py` in `methods` with one subclass of :class:`Policy`, or name a class of another package in the
entry point group `kernelpoint.policies`; nothing else changes. `methods/random.py` is the example to copy, and
`conformance.py` the suite that it must pass.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, TypeVar, cast

from kernelpoint.config import Config, PolicyChoice, Section, check_section
from kernelpoint.errors import ConfigError
from kernelpoint.estimation import AssistedDesign, Bound, Design, ErrorBudget, Method
from kernelpoint.program import Program
from kernelpoint.workload import Available, Need

Choice = TypeVar("Choice", bound=str)


class Policy(ABC):
    """Base of sampling methods. An instance has no state of a run: equal programs give equal designs.

    Class attributes:
        counters: counters of a profile that the method plans from besides instructions; no time is among them.
        bounds: the values of `error_budget.bound` that the method can state; the first is the default.
        estimates: the values of `estimate` that work with the method; the first is the default.
        uses_budget: whether the design depends on the error budget, so that a plan serves one budget only.
        online: whether launches may be taken as they come, with the design made after the first pass.
        assumes_tail: whether the designs state an assumption about undrawn launches (`Design.slow_excess`, which may be 0); the
            engine gives the designs of other policies SLOW_EXCESS.
        promises_budget: whether the design itself claims to meet the budget, from variances known in advance; that claim is
            the method's bound where the engine states none.
    """

    counters: ClassVar[tuple[str, ...]] = ()
    bounds: ClassVar[tuple[Bound, ...]] = ("sequential", "none")
    estimates: ClassVar[tuple[Method, ...]] = ("regression", "ratio", "mean")
    uses_budget: ClassVar[bool] = False
    online: ClassVar[bool] = False
    assumes_tail: ClassVar[bool] = False
    promises_budget: ClassVar[bool] = False

    class Parameters(Section):
        """Parameters of a policy, as the user writes them after `name`: `policy: {name: stem, epsilon: 0.05}`.

        A policy that has any defines its own class of this name: each field has a type, bounds, a default and a description.
        """

    def __init__(self, config: Config) -> None:
        self.config = config
        self.parameters = self.check_parameters(config.policy)

    @classmethod
    def check_parameters(cls, choice: PolicyChoice) -> Any:
        """Parameters that the user set, with defaults for the others.

        Raises:
            ConfigError: a parameter is unknown, of the wrong type or out of range.
        """
        parameters: type[Section] = cls.Parameters
        return check_section(parameters, choice.parameters, "policy")

    @classmethod
    def inputs(cls, available: Available) -> frozenset[Need]:
        """Inputs that the design needs, chosen from the available ones; none unless overridden.

        Every named input is available when `design` is called; otherwise the run is refused (workload.check_available).
        """
        return frozenset()

    @classmethod
    def bound_for(cls, config: Config) -> Bound:
        """Kind of bound of a run: that of the configuration, or the method's first.

        Raises:
            ConfigError: the method cannot state the kind of bound that the user named.
        """
        return cls._allowed(config, config.error_budget, "bound", cls.bounds)

    @classmethod
    def budget_for(cls, config: Config) -> ErrorBudget:
        """Error budget of a run, with its kind of bound."""
        wanted = config.error_budget
        targets = wanted.counter, cls.bound_for(config), wanted.further
        return ErrorBudget(wanted.relative_error, wanted.confidence, *targets)

    @classmethod
    def projects(cls, config: Config) -> bool:
        """True if the method stops launches inside and projects their results; False unless overridden."""
        return False

    @classmethod
    def estimate_for(cls, config: Config) -> Method:
        """Estimator of a run: that of the configuration, or the method's first.

        Raises:
            ConfigError: the method does not work with the estimator that the user named.
        """
        return cls._allowed(config, config, "estimate", cls.estimates)

    @staticmethod
    def _allowed(config: Config, section: Section, key: str, allowed: tuple[Choice, ...]) -> Choice:
        if key not in section.model_fields_set:
            return allowed[0]
        if (value := getattr(section, key)) not in allowed:
            place = key if section is config else f"error_budget.{key}"
            raise ConfigError(f"{place}: got {value!r}; policy {config.policy} allows: {', '.join(allowed)}")
        return cast(Choice, value)

    @abstractmethod
    def design(self, program: Program) -> Design | AssistedDesign:
        """Divide the launches into strata and set the first sample sizes, from facts known without simulation.

        Must not change `program`, and must give equal designs for equal programs and configurations.

        Raises:
            PolicyError: an input is missing or unusable; the message says which and how to provide it.
        """


class Representatives(Policy):
    """Base of methods in which chosen launches represent their strata. They state no bound: nothing is drawn at random."""

    bounds: ClassVar[tuple[Bound, ...]] = ("none",)
    estimates: ClassVar[tuple[Method, ...]] = ("mean",)
