"""Refusals of the host before it simulates anything: one message with file, line, key, value and what is allowed."""

import subprocess

import pytest
from bench import ROOT, chain, trace, warp

LAUNCH = trace([[warp(chain(3))]])


def run_with(bench, text: str):
    workload = bench.workload(LAUNCH)
    path = bench.folder / "written.yaml"
    path.write_text(text)
    command = [str(bench.program), "-trace", str(workload), "-config", str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.fixture
def text(bench):
    return bench.config().read_text()


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("sms: 1\n", "sms: 0\n", "written.yaml:2: sms is '0'; allowed: an integer from 1 to 1024"),
        ("sms: 1\n", "sms: 1025\n", "sms is '1025'; allowed: an integer from 1 to 1024"),
        ("sms: 1\n", "sms: many\n", "sms is 'many'; allowed: an integer"),
        ("sms: 1\n", "sms: -1\n", "sms is '-1'; allowed: an integer"),
        ("sms: 1\n", "sms: 1.5\n", "sms is '1.5'; allowed: an integer"),
        ("sms: 1\n", "sms:\n", "sms is ''; allowed: an integer"),
        ("sms: 1\n", "sms: 99999999999999999999\n", "sms is '99999999999999999999'; allowed: an integer"),
        ("sms: 1\n", "", "key 'sms' is missing; allowed: an integer from 1 to 1024"),
        ("sms: 1\n", "sms: 1\nsms: 1\n", "written.yaml:3: key 'sms' is given twice"),
        ("sms: 1\n", "sms: 1\nsmms: 7\n", "written.yaml:3: unknown key 'smms' (value '7'); allowed: name, sms, "),
        ("sms: 1\n", "sms: 1\n  l3_size: 7\n", "written.yaml:3: 'l3_size: 7' is not `key: value`"),
        ("sms: 1\n", "sms: 1\nl3\n", "written.yaml:3: 'l3' is not `key: value`"),
        ("name: v100\n", "name:\n", "name is empty"),
        ("name: v100\n", "", "key 'name' is missing"),
        ("l1_size: 32768", "l1_size: 32800", "l1_size is '32800'; allowed: a multiple of l1_ways times 128 bytes"),
    ],
)
def test_a_bad_configuration_is_refused(bench, text, old, new, message):
    assert old in text
    done = run_with(bench, text.replace(old, new))
    assert done.returncode == 1
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_comments_blank_lines_and_spaces_are_allowed(bench, text):
    decorated = "# a comment\n\n" + text.replace("sms: 1\n", "sms :   1   # one\r\n")
    assert run_with(bench, decorated).returncode == 0


def test_the_least_and_the_greatest_value_are_allowed(bench, text):
    for value in (1, 1024):
        assert run_with(bench, text.replace("sms: 1\n", f"sms: {value}\n")).returncode == 0


@pytest.mark.parametrize("name", ["v100", "rtx"])
def test_packaged_configurations_have_names(bench, name):
    workload = bench.workload(LAUNCH)
    command = [str(bench.program), "-trace", str(workload), "-config", name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert f"simulated GPU = {name} (" in done.stdout
    assert "not validated against hardware" in done.stdout
    assert (ROOT / f"python/kernelpoint/host_configs/{name}.yaml").is_file()


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "-trace is missing"),
        (["-trace", "LIST"], "-config is missing"),
        (["-trace"], "-trace needs a value"),
        (["-trace", "LIST", "-config", "v100", "-fast"], "unknown option '-fast'; allowed: -trace, -config"),
        (["-trace", "LIST", "-trace", "LIST"], "-trace is given twice"),
        (["-trace", "/nowhere", "-config", "v100"], "/nowhere"),
        (["-trace", "LIST", "-config", "/nowhere.yaml"], "/nowhere.yaml: cannot be opened"),
        (["-trace", "LIST", "-config", "v100", "-results", "/nowhere/x.csv"], "-results /nowhere/x.csv: cannot be"),
    ],
)
def test_a_bad_command_line_is_refused(bench, arguments, message):
    workload = str(bench.workload(LAUNCH))
    command = [str(bench.program), *(workload if a == "LIST" else a for a in arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_help_is_printed_when_asked_for(bench):
    done = subprocess.run([str(bench.program), "-help"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert done.stdout.startswith("usage: kernelpoint-host")
