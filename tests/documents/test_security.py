"""SECURITY.md says of every kind of file that is read what it may do at most."""

import re

from pages import ROOT, section, tables

# The words of SECURITY.md for what each module of the package opens.
READERS = {
    "admission/list_files.py": "trace list",
    "archive.py": "plan, selection",
    "config/load.py": "configuration, cluster file, sweep",
    "coordinator/task.py": "outcomes of workers",
    "encoder/checkpoint.py": "checkpoint",
    "evaluation/evaluate.py": "record of a comparison",
    "fast_model/configuration.py": "configuration of a simulator for the fast model",
    "journal/reader.py": "journal",
    "journal/writer.py": "journal",
    "packs/pack.py": "trace",
    "packs/unpack.py": "pack",
    "patching/own_files.py": "checkout of a simulator",
    "patching/tree.py": "checkout of a simulator",
    "profiles/format.py": "profile, file of ranges, census of a tracer, output of a simulator, table of results",
    "profiles/formats/nsight_systems_sqlite.py": "profile",
    "traces/cache.py": "cache",
    "traces/replay.py": "footprints beside a list",
}
NOT_FOREIGN = {"files.py", "registry.py"}  # opens for the others; reads the code of installed packages


def test_every_module_that_opens_files_has_its_kind_of_file_in_the_table():
    package = ROOT / "python" / "kernelpoint"
    opens = re.compile(r"(?<!def )\b(?:read_regular|open_regular|open_to_append|sqlite3\.connect)\(")
    modules = {path.relative_to(package).as_posix() for path in package.rglob("*.py") if opens.search(path.read_text())}
    assert modules - NOT_FOREIGN == READERS.keys()
    kinds = [row["File"] for table in tables(section("SECURITY.md", "Files from strangers")) for row in table if "File" in row]
    for module, words in READERS.items():
        assert any(words in kind for kind in kinds), f"{module}: {words}"
