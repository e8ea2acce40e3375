"""Registries of implementations of an interface, looked up by name: one module each in this package, or entry points of
others."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import pkgutil
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from kernelpoint.errors import ConfigError, did_you_mean, shown
from kernelpoint.files import open_regular

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


def foreign_code(implementation: type) -> str | None:
    """Hash of the source file of a class, if the class is in another package; None for classes of KernelPoint, whose version
    identifies them.

    >>> foreign_code(Registry) is None
    True
    """
    if implementation.__module__.partition(".")[0] == "kernelpoint":
        return None
    try:
        with open_regular(inspect.getfile(implementation)) as file:
            return hashlib.blake2b(file.read(), digest_size=16).hexdigest()
    except (OSError, TypeError):  # made in a notebook, or in no file at all
        return "unknown"


class Registry(Generic[T]):
    """Registry of all implementations of an interface, such as sampling policies or profile formats.

    KernelPoint's implementations are the modules of one package: each module has one subclass of the interface, and the name of
    the module is the name of the implementation. Another package adds an implementation with an entry point whose value names
    the class (`mine = "my_package.module:Mine"`). An entry point cannot replace an implementation of KernelPoint.

    Args:
        kind: name of the interface in messages and configurations, such as "policy".
        base: class that defines the interface.
        package: dotted name of the package of implementations; modules with a leading underscore are skipped.
        group: group of the entry points of other packages.
    """

    def __init__(self, kind: str, base: Any, package: str, group: str) -> None:
        self.kind, self.package, self.group = kind, package, group
        self.base: Any = base

    def names(self) -> list[str]:
        """Sorted names of all implementations. None is imported."""
        return sorted({*self.own_names(), *self._installed()})

    def load(self, name: str) -> type[T]:
        """Class of the implementation with this name. No other implementation is imported.

        Raises:
            ConfigError: the name is unknown, or the class does not implement the interface.
        """
        if name in self.own_names():
            return self._only_class(name)
        point = self._installed().get(name)
        if point is None:
            near = did_you_mean(name, self.names())
            raise ConfigError(f"{self.kind}: got {shown(name)}{near}; allowed: {', '.join(self.names())}")
        return self._checked(name, point)

    def load_all(self) -> list[type[T]]:
        """Classes of all implementations: KernelPoint's by name, then those of other packages."""
        names = self.own_names()
        return [self.load(name) for name in [*names, *sorted(set(self._installed()) - set(names))]]

    def own_names(self) -> list[str]:
        """Sorted names of the implementations in KernelPoint itself, without those of other packages."""
        paths = importlib.import_module(self.package).__path__
        return sorted(module.name for module in pkgutil.iter_modules(paths) if not module.name.startswith("_"))

    def _installed(self) -> dict[str, EntryPoint]:
        from importlib.metadata import entry_points  # dear to load; most runs use no other package

        return {point.name: point for point in entry_points(group=self.group)}

    def _checked(self, name: str, point: EntryPoint) -> type[T]:
        """Class that an entry point of another package names, if it implements the interface."""
        where = f"{self.kind}: {name}"
        try:
            implementation = point.load()
        except Exception as error:  # whatever a module of another package raises while it is imported
            reason = f"{type(error).__name__}: {error}"
            raise ConfigError(f"{where}: the entry point {point.value} cannot be loaded: {reason}") from error
        if not (inspect.isclass(implementation) and issubclass(implementation, self.base)):
            raise ConfigError(f"{where}: {point.value} is no subclass of {self.base.__name__}")
        if missing := sorted(getattr(implementation, "__abstractmethods__", ())):
            raise ConfigError(f"{where}: {point.value} lacks {', '.join(missing)}, which {self.base.__name__} asks for")
        return cast("type[T]", implementation)

    def _only_class(self, name: str) -> type[T]:
        module = importlib.import_module(f"{self.package}.{name}")
        points = [
            value
            for value in vars(module).values()
            if inspect.isclass(value) and issubclass(value, self.base) and value.__module__ == module.__name__
        ]
        if len(points) != 1:
            raise ConfigError(
                f"{self.package}.{name}: expected exactly one subclass of {self.base.__name__}, got {len(points)}"
            )
        return cast("type[T]", points[0])
