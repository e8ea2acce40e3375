"""A reader who follows `config_path` from `open` through the code seldom comes back to a module left before."""

from __future__ import annotations

import os
import sys
from types import FrameType
from typing import Any

import pytest
from project_files import PACKAGE

from kernelpoint.cli.synth import synth
from kernelpoint.config import Config
from kernelpoint.session import boundary
from kernelpoint.session.setup import Setup

MOST_RETURNS = 25


class Walk:
    """The modules that a reader passes, in order, while a call runs.

    Every function is followed that is handed the path, the Config read from it, or the Setup that holds that; where it returns,
    the reader is back in the function that called it.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.modules: list[str] = []
        self._open: list[FrameType] = []

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Profile function of the interpreter."""
        if event == "call" and frame.f_code.co_filename.startswith(str(PACKAGE)) and self._follows(frame):
            self._open.append(frame)
            self._stand_in(frame)
        elif event == "return" and self._open and self._open[-1] is frame:
            self._open.pop()
            if self._open:
                self._stand_in(self._open[-1])

    def _follows(self, frame: FrameType) -> bool:
        code = frame.f_code
        given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        values = [frame.f_locals[name] for name in given if name in frame.f_locals]
        named = not code.co_name.startswith(("<", "__")) or code.co_name == "__init__"
        return named and any(isinstance(v, Config | Setup) or (isinstance(v, str) and v == self.path) for v in values)

    def _stand_in(self, frame: FrameType) -> None:
        module = os.path.relpath(frame.f_code.co_filename, PACKAGE)
        if self.modules[-1:] != [module]:
            self.modules.append(module)

    @property
    def returns(self) -> int:
        """Number of times that the reader comes to a module left before."""
        return len(self.modules) - len(set(self.modules))


@pytest.mark.parametrize("keys", ["policy: kernelpoint", "policy: random", "policy: kernelpoint\nclusters: online"])
def test_config_path_is_followed_from_open_with_few_returns(tmp_path, monkeypatch, keys):
    monkeypatch.setenv("KERNELPOINT_CACHE", str(tmp_path / "cache"))
    synth("transformer-decode", tmp_path / "traces", launches=60)
    config = tmp_path / "kernelpoint.yaml"
    config.write_text(f"version: 1\n{keys}\njournal: {tmp_path}/run.kpjournal\n")
    traces = str(tmp_path / "traces" / "kernelslist.g")
    info = {
        "simulator": "any",
        "config_hash": "gpu",
        "list_paths": [traces],
        "launch_counts": [60],
        "state_lines": 1024,
    }
    walk, before = Walk(str(config)), sys.getprofile()
    sys.setprofile(walk)
    try:
        session = boundary.open(str(config), info, lambda line: None)
    finally:
        sys.setprofile(before)
    session.journal.close()
    assert len(set(walk.modules)) >= 8, walk.modules
    assert walk.returns <= MOST_RETURNS, "\n".join(walk.modules)
