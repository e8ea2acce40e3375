"""States of MacSim's cores before each launch of a list, recorded with its predictions and kept for replay."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from kernelpoint import _native
from kernelpoint.archive import read_archive, write_archive
from kernelpoint.errors import PlanError
from kernelpoint.traces.store import Log, cache_folder


def predictions_folder() -> Path:
    """Folder of predictions and of these states, unless another is named."""
    return cache_folder() / "predictions"


def trained_key(fingerprint: str, residency: tuple[int, ...], predictor: tuple[int, int]) -> str:
    """Identity of such states: equal keys, equal states.

    Args:
        fingerprint: of the list; residency, predictor: of the simulated GPU, see ``kp_host_info``.

    >>> trained_key("f00", (16, 14, 64, 0, 0), (14, 2)).startswith("f00:(16, 14, 64, 0, 0):(14, 2):")
    True
    """
    return f"{fingerprint}:{tuple(residency)}:{tuple(predictor)}:{_native.fast_model.CORE_MODEL_VERSION}"


def save_trained(key: str, states: bytes, folder: Path, log: Log) -> None:
    """Keep states in a folder; what cannot be written costs passing the list again.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> save_trained("example", b"states", folder, print)
    >>> load_trained("example", folder, print), load_trained("another", folder, print)
    (b'states', b'')
    """
    path = _path(key, folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_archive(path, {"key": key}, {"states": np.frombuffer(states, dtype=np.uint8)}, compress=True)
    except OSError as error:
        log(f"kernelpoint: states of the cores cannot be kept for replay: {error.strerror}")


def load_trained(key: str, folder: Path, log: Log) -> bytes:
    """States that were kept; none where nothing was, or where the file is damaged."""
    path = _path(key, folder)
    if not path.exists():
        return b""
    try:
        about, arrays = read_archive(path)
        if about["key"] != key:
            raise ValueError("they are of something else")
        return arrays["states"].tobytes()
    except (PlanError, ValueError, LookupError, TypeError) as error:
        log(f"kernelpoint: the kept states {path} are not used: {error}")
        return b""


def _path(key: str, folder: Path) -> Path:
    return folder / f"trained-{hashlib.blake2b(key.encode(), digest_size=16).hexdigest()}.npz"
