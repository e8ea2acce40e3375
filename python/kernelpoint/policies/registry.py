"""Policies by name: those of `methods`, and those that other packages name in the entry point group `kernelpoint.policies`."""

from __future__ import annotations

from kernelpoint.policies.contract import Policy
from kernelpoint.registry import Registry

POLICIES: Registry[Policy] = Registry("policy", Policy, "kernelpoint.policies.methods", "kernelpoint.policies")


def policy_names() -> list[str]:
    """The names of all policies, sorted; imports none of them.

    >>> {"all", "random"} <= set(policy_names())
    True
    """
    return POLICIES.names()


def load_policy(name: str) -> type[Policy]:
    """The class of the policy `name`; imports that policy only.

    Raises:
        ConfigError: there is no such policy, or what has its name is none.
    """
    return POLICIES.load(name)
