"""Arrays kept on disk under a key of all that they depend on: predictions of a list, states of MacSim's cores.

A file that is lost or damaged is made again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kernelpoint import _native
from kernelpoint.archive import read_archive, write_archive
from kernelpoint.errors import PlanError
from kernelpoint.traces.store import Log, cache_folder

PREDICTIONS, STATES = "", "trained-"  # beginnings of file names


def artefacts_folder() -> Path:
    """Folder of the files, unless another is named."""
    return cache_folder() / "predictions"


def states_key(fingerprint: str, residency: tuple[int, ...], predictor: tuple[int, int]) -> str:
    """Key of the states in which MacSim's cores begin the launches of a list.

    Args:
        fingerprint: of the list.
        residency, predictor: of the simulated GPU, see ``kp_host_info``.

    >>> states_key("f00", (16, 14, 64, 0, 0), (14, 2)).startswith("f00:(16, 14, 64, 0, 0):(14, 2):")
    True
    """
    return f"{fingerprint}:{tuple(residency)}:{tuple(predictor)}:{_native.fast_model.CORE_MODEL_VERSION}"


def keep(kind: str, key: str, arrays: Mapping[str, np.ndarray], folder: Path, log: Log, **about: Any) -> None:
    """Write arrays and a description in JSON; if that fails, `log` gets a line and nothing is kept.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> keep(STATES, "example", {"states": np.arange(3)}, folder, print)
    >>> recall(STATES, "example", folder, print)[1]["states"].tolist(), recall(STATES, "another", folder, print)
    ([0, 1, 2], None)
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_archive(_path(kind, key, folder), {"key": key, **about}, arrays, compress=True)
    except OSError as error:
        log(f"kernelpoint: predictions of this list cannot be kept for other runs: {error.strerror}")


def recall(kind: str, key: str, folder: Path, log: Log) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
    """Description and arrays of a key; None if nothing was kept or the file is damaged."""
    path = _path(kind, key, folder)
    if not path.exists():
        return None
    try:
        about, arrays = read_archive(path)
        if about.get("key") != key:
            raise PlanError(f"{path}: it is of something else")
        return about, arrays
    except PlanError as error:
        log(f"kernelpoint: kept predictions are made again: {error}")
        return None


def _path(kind: str, key: str, folder: Path) -> Path:
    return folder / f"{kind}{hashlib.blake2b(key.encode(), digest_size=16).hexdigest()}.npz"
