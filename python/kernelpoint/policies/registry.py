"""Finds policies by name: each is the one file of this folder that is called like it."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from pathlib import Path

from kernelpoint.errors import ConfigError, PolicyError
from kernelpoint.policies.contract import Policy

_NOT_POLICIES = {"contract", "population", "processes", "registry"}


def policy_names() -> list[str]:
    """The names of all policies, sorted; imports none of them.

    >>> {"all", "random"} <= set(policy_names())
    True
    """
    modules = pkgutil.iter_modules([str(Path(__file__).parent)])
    return sorted(m.name for m in modules if m.name not in _NOT_POLICIES and not m.name.startswith("_"))


def load_policy(name: str) -> type[Policy]:
    """The class of the policy `name`; imports that policy only.

    Raises:
        ConfigError: there is no such policy.
        PolicyError: its file does not define exactly one policy.
    """
    if name not in policy_names():
        raise ConfigError(f"policy: got {name!r}; allowed: {', '.join(policy_names())}")
    module = importlib.import_module(f"kernelpoint.policies.{name}")
    found = [
        value
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, Policy) and value.__module__ == module.__name__
    ]
    if len(found) != 1:
        raise PolicyError(f"policies/{name}.py: expected exactly one subclass of Policy, got {len(found)}")
    return found[0]
