"""What a user gets wrong on the command line is one message."""

import sys

import pytest

from kernelpoint.cli import main


@pytest.fixture
def refused(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELPOINT_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["kernelpoint", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        return str(end.value.code)

    return run


@pytest.mark.parametrize("command", ["inspect", "report", "compare-runs"])
def test_a_name_that_no_file_can_have_is_refused(refused, command):
    message = refused(command, *["x" * 300] * (2 if command == "compare-runs" else 1))
    assert "File name too long" in message and message.startswith(f"kernelpoint {command}: ")


def test_a_list_whose_traces_cannot_be_read_has_no_clusters(refused, tmp_path):
    (tmp_path / "kernel-1.traceg").write_text(
        "-kernel name = a\n-grid dim = (1,1,1)\n-block dim = (64,1,1)\n#BEGIN_TB\n"
    )
    (tmp_path / "kernelslist.g").write_text("kernel-1.traceg\n")
    assert "none of the 1 launches can be read" in refused("cluster", "kernelslist.g")
