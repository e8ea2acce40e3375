"""Each mistake of docs/evidence/mistakes.md gets the message that the page shows, with a non-zero exit code."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import run_command
from documented import run
from pages import section

from kernelpoint.config import load_config
from kernelpoint.errors import KernelPointError
from kernelpoint.fast_model.configuration import configuration_of_host
from kernelpoint.progress import silent
from kernelpoint.python_host import InProcess
from kernelpoint.session.boundary import open_run

PAGE = section("docs/evidence/mistakes.md")
ROWS = re.findall(r"^\| `(.+?)` \| (.+) \| (good|fair|poor) \|$", PAGE, re.MULTILINE)
HOST = "kernelpoint-host -trace traces/kernelslist.g -config rtx -kernel_sampling m.yaml"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder that the commands at the head of the page make."""
    made = tmp_path_factory.mktemp("mistakes")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
        patch.setenv("KERNELPOINT_CACHE", str(made / "cache"))
        if shutil.which("kernelpoint-host") is None:
            pytest.skip("kernelpoint-host is not beside this Python")
        run(re.findall(r"```\n(.*?)```", PAGE, re.DOTALL)[0], made)
        yield made


def said(command: str) -> tuple[int, str]:
    """Exit code and output of a command, or the refusal of a configuration; spaces and line ends are one space."""
    if command.startswith("{"):
        Path("m.yaml").write_text(f"{command}\n")
        return 1, refusal()
    if command.startswith("kernelpoint "):
        done = run_command(*shlex.split(command)[1:])
    else:
        done = subprocess.run(shlex.split(command), capture_output=True, text=True, timeout=120)
    return done.returncode, " ".join(f"{done.stdout} {done.stderr}".split())


def refusal() -> str:
    """Message of the session that HOST would open, opened in this process: a program would import it each time."""
    with pytest.raises(KernelPointError) as refused:
        host = InProcess("traces/kernelslist.g", configuration_of_host("rtx")).host
        open_run(load_config("m.yaml"), host, silent, command=HOST.split())
    return " ".join(str(refused.value).split())


@pytest.mark.parametrize(("command", "message"), [row[:2] for row in ROWS], ids=[row[0][:60] for row in ROWS])
def test_a_mistake_gets_the_message_that_the_page_shows(folder, monkeypatch, command, message):
    monkeypatch.chdir(folder)
    code, text = said(command)
    assert code != 0 and "Traceback" not in text
    for part in message.replace(r"\|", "|").split("..."):
        assert " ".join(part.split()) in text, text


def test_at_most_three_messages_are_below_good():
    assert len(ROWS) >= 60 and sum(grade != "good" for _, _, grade in ROWS) <= 3
    assert f"{sum(grade == 'good' for _, _, grade in ROWS)} are good" in PAGE
