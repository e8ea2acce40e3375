"""Registries: implementations of a contract, found by name, one file each, in this package or in installed ones."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar, cast

from kernelpoint.errors import ConfigError, shown

T = TypeVar("T")


class Registry(Generic[T]):
    """All implementations of a contract.

    Those of KernelPoint are the modules of one package, each with exactly one subclass of the contract, called like its
    module. Other packages add theirs with an entry point of the registry's group, whose value names the class
    (`mine = "my_package.module:Mine"`); nothing of KernelPoint is edited. One of ours is never replaced.

    Args:
        kind: for messages, as the configuration calls it: "policy".
        base: the contract, a class.
        package: dotted name of the package whose modules are the implementations; names with a leading underscore are not.
        group: the entry point group of other packages.
    """

    def __init__(self, kind: str, base: Any, package: str, group: str) -> None:
        self.kind, self.package, self.group = kind, package, group
        self.base: Any = base

    def names(self) -> list[str]:
        """The names of all implementations, sorted; imports none of them."""
        return sorted({*self.own_names(), *self._installed()})

    def load(self, name: str) -> type[T]:
        """The class of the implementation `name`; imports that one only.

        Raises:
            ConfigError: there is none of that name, or what has it does not fulfil the contract.
        """
        if name in self.own_names():
            return self._only_class(name)
        point = self._installed().get(name)
        if point is None:
            raise ConfigError(f"{self.kind}: got {shown(name)}; allowed: {', '.join(self.names())}")
        try:
            found = point.load()
        except (ImportError, AttributeError) as error:
            raise ConfigError(
                f"{self.kind}: {name}: the entry point {point.value} cannot be loaded: {error}"
            ) from error
        if not (inspect.isclass(found) and issubclass(found, self.base)):
            raise ConfigError(f"{self.kind}: {name}: {point.value} is no subclass of {self.base.__name__}")
        return cast("type[T]", found)

    def load_all(self) -> list[type[T]]:
        """Every implementation: ours in the order of their names, then those of other packages."""
        own = self.own_names()
        return [self.load(name) for name in [*own, *sorted(set(self._installed()) - set(own))]]

    def own_names(self) -> list[str]:
        """The names of ours, sorted."""
        paths = importlib.import_module(self.package).__path__
        return sorted(module.name for module in pkgutil.iter_modules(paths) if not module.name.startswith("_"))

    def _installed(self) -> dict[str, EntryPoint]:
        return {point.name: point for point in entry_points(group=self.group)}

    def _only_class(self, name: str) -> type[T]:
        module = importlib.import_module(f"{self.package}.{name}")
        found = [
            value
            for value in vars(module).values()
            if inspect.isclass(value) and issubclass(value, self.base) and value.__module__ == module.__name__
        ]
        if len(found) != 1:
            raise ConfigError(
                f"{self.package}.{name}: expected exactly one subclass of {self.base.__name__}, got {len(found)}"
            )
        return cast("type[T]", found[0])
