"""A registry finds its own modules and the entry points of other packages, and refuses what fulfils no contract."""

import pytest

from kernelpoint.errors import ConfigError
from kernelpoint.profiles.format import ProfileFormat
from kernelpoint.registry import Registry

LACKING = """
from kernelpoint.profiles.format import ProfileFormat

class Table(ProfileFormat):
    description = "tables"
    @classmethod
    def certainty(cls, beginning):
        return 0
"""
MODULES = "kernelpoint.profiles.formats"


@pytest.fixture
def registry():
    return Registry("profile format", ProfileFormat, MODULES, "kernelpoint.profiles")


def test_names_are_those_of_the_files_and_imports_are_late(registry):
    assert {"kineto", "tables", "chakra"} <= set(registry.names())
    assert registry.load("tables").__name__ == "Tables"


def test_an_unknown_name_is_refused_with_those_there_are(registry):
    with pytest.raises(ConfigError, match="profile format: got 'excel'; allowed: chakra, "):
        registry.load("excel")


@pytest.mark.parametrize(
    ("source", "value", "message"),
    [
        ("class Table: pass", "Table", "foreign:Table is no subclass of ProfileFormat"),
        ("x = 1", "Missing", "the entry point foreign:Missing cannot be loaded"),
        ("def f() pass", "Table", r"foreign:Table cannot be loaded: SyntaxError: .*foreign.py, line 1"),
        ("1 / 0", "Table", "foreign:Table cannot be loaded: ZeroDivisionError: division by zero"),
        (LACKING, "Table", "foreign:Table lacks read, which ProfileFormat asks for"),
        (
            "import nowhere_at_all",
            "Table",
            "the entry point foreign:Table cannot be loaded: ModuleNotFoundError: No module",
        ),
    ],
)
def test_an_entry_point_that_is_no_implementation_is_refused(registry, install, source, value, message):
    install("foreign", source, "kernelpoint.profiles", excel=value)
    assert "excel" in registry.names()
    with pytest.raises(ConfigError, match=message):
        registry.load("excel")


def test_an_own_implementation_is_never_replaced(registry, install):
    install("usurper", "class Tables: pass", "kernelpoint.profiles", tables="Tables")
    assert registry.load("tables").__module__ == f"{MODULES}.tables"
    assert len(registry.load_all()) == len(registry.names())


def test_a_module_without_its_class_is_refused(tmp_path, monkeypatch, registry):
    import kernelpoint.profiles.formats as package

    (tmp_path / "empty.py").write_text("x = 1\n")
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    with pytest.raises(ConfigError, match="exactly one subclass of ProfileFormat, got 0"):
        registry.load("empty")
