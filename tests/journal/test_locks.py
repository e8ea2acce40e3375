"""Locks of journals on file systems that have none."""

import errno
import fcntl
import os

import pytest

from kernelpoint.errors import JournalError
from kernelpoint.session import boundary


def test_a_file_system_without_locks_is_said_and_not_taken_for_another_run(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    path = tmp_path / "k.yaml"
    path.write_text(f"version: 1\npolicy: random\njournal: {tmp_path}/run.kpjournal\n")
    with pytest.raises(JournalError, match=r"run\.kpjournal cannot be locked: No locks available; name one on another"):
        boundary.open(str(path), {"simulator": "test", "launch_counts": [6]}, lambda line: None)
