"""Policies by name: those of `methods`, and those that other packages name in the entry point group `kernelpoint.policies`."""

from __future__ import annotations

from kernelpoint.arguments import checked
from kernelpoint.config import PolicyChoice
from kernelpoint.policies.contract import Policy
from kernelpoint.registry import Registry

POLICIES: Registry[Policy] = Registry("policy", Policy, "kernelpoint.policies.methods", "kernelpoint.policies")


@checked
def load_policy(choice: str | PolicyChoice) -> type[Policy]:
    """Class of a policy (sampling method), by its name or by the value of the configuration key `policy`. No other policy is
    imported.

    Raises:
        ConfigError: there is no such policy, or a parameter is not allowed.

    >>> load_policy("stem").__name__
    'Stem'
    """
    if isinstance(choice, str):
        return POLICIES.load(choice)
    policy = POLICIES.load(choice.name)
    policy.check_parameters(choice)
    return policy
