"""The whole comparison: cell after cell, each kept on disk as soon as it is done, so that a run can go on later."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import cache
from importlib import metadata
from itertools import product
from pathlib import Path
from typing import Any

import kernelpoint
from kernelpoint.encoder import checkpoint_hash
from kernelpoint.errors import ConfigError
from kernelpoint.evaluation.evaluate import Cell, Inputs, Row, evaluate
from kernelpoint.evaluation.workload import Workload
from kernelpoint.files import append_output, read_regular, write_output
from kernelpoint.pages.numbers import json_text
from kernelpoint.policies.registry import load_policy
from kernelpoint.progress import Log
from kernelpoint.registry import foreign_code
from kernelpoint.workload import Available, Need

PACKAGE = Path(kernelpoint.__file__).parent
LIBRARIES = ("numpy", "scikit-learn")


@cache
def code_version(package: Path = PACKAGE) -> str:
    """Hash of KernelPoint's code and the versions of its libraries: 32 hexadecimal digits.

    Rows are kept under it, so a folder that an older checkout filled never answers for the code of today; the number of the
    package's version would, for it stays the same while the code is worked on.

    >>> len(code_version())
    32
    """
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted([*package.rglob("*.py"), *package.glob("_native*.so")]):
        content = hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
        digest.update(f"{path.relative_to(package)}:{content}\n".encode())
    for library in LIBRARIES:
        digest.update(f"{library}:{_library(library)}\n".encode())
    return digest.hexdigest()


def _library(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "missing"


Advance = Callable[[str], None]
MOST_BYTES = 1 << 30


class ResultsFile:
    """File with finished rows of a comparison, one JSON line each. The key of a row contains inputs, cell and code version.

    >>> import tempfile
    >>> results = ResultsFile(Path(tempfile.mkdtemp()) / "rows.jsonl")
    >>> results.find("key") is None
    True
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._rows: dict[str, Row] = {}
        if path is not None and path.exists():
            self._read(path)

    def _read(self, path: Path) -> None:
        data = read_regular(path, MOST_BYTES)
        whole = data[: data.rfind(b"\n") + 1]  # a last line without its end was torn by a kill
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                record = json.loads(line)
                self._rows[record["key"]] = Row.of_record(record["row"])
            except (ValueError, KeyError, TypeError):
                raise ConfigError(f"{path}:{number}: not a row of a comparison; name another output folder") from None
        if len(whole) != len(data):
            write_output(path, whole)

    def find(self, key: str) -> Row | None:
        """Stored row with this key; None if there is none."""
        return self._rows.get(key)

    def keep(self, key: str, row: Row) -> None:
        """Store a row. Refused rows are not stored, because the missing input may come later."""
        if self._path is None or row.reason:
            return
        append_output(self._path, json_text({"key": key, "row": asdict(row)}) + "\n")


def cells(policies: Sequence[str], budgets: Sequence[float], seeds: int, *settings: Any) -> Iterator[Cell]:
    """Make the cells of a comparison: every policy at every budget with every seed."""
    return (Cell(*place, *settings) for place in product(policies, budgets, range(seeds)))


def compare(
    workload: Workload, wanted: Sequence[Cell], results: ResultsFile, log: Log, advance: Advance = lambda text: None
) -> list[Row]:
    """Compute the rows of one workload; rows already in the results file are read from it.

    A policy that refuses the workload is asked once, not for every seed.
    """
    inputs = Inputs(workload, log)
    rows: list[Row] = []
    refused: dict[tuple[str, float], Row] = {}
    base = f"{code_version()}:{workload.key()}"
    versions = {policy: _version(policy) for policy in {cell.policy for cell in wanted}}
    for cell in wanted:
        key = f"{base}:{cell}{versions[cell.policy]}"
        row = results.find(key) or refused.get((cell.policy, cell.relative_error))
        if row is None:
            row = evaluate(inputs, cell)
            results.keep(key, row)
            if row.reason:
                refused[(cell.policy, cell.relative_error)] = row
        rows.append(row)
        advance(f"{workload.name}: {cell.policy}")
    return rows


def _version(policy: str) -> str:
    """Hashes of the file of a policy of another package, and of the checkpoint that its embeddings depend on, if any."""
    kind = load_policy(policy)
    code = foreign_code(kind)
    version = "" if code is None else f":{code}"
    if Need.EMBEDDINGS not in kind.inputs(Available(traces=True)):
        return version
    return f"{version}:{checkpoint_hash('builtin')}"
