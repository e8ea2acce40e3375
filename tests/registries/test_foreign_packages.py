"""Policies, profile formats and stopping rules of other packages: one module and one entry point each."""

import gzip
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from kernelpoint.config import parse_config
from kernelpoint.errors import ConfigError, PolicyError, ProfileError
from kernelpoint.evaluation.evaluate import Cell, ResultsFile, compare
from kernelpoint.evaluation.workload import load_workload, parse_request
from kernelpoint.planning.making import plan_for
from kernelpoint.policies.conformance import CHECKS, make
from kernelpoint.policies.processes import design_of
from kernelpoint.policies.registry import POLICIES, load_policy
from kernelpoint.profiles import read_profile
from kernelpoint.profiles.format import FORMATS, STRUCTURE, WORDS
from kernelpoint.program import Program

HALVES = '''
import numpy as np
from kernelpoint.estimation import Design
from kernelpoint.policies import Policy


class Halves(Policy):
    """The first and the second half of the launches are a stratum each."""

    def design(self, population):
        strata = (2 * np.arange(population.size) >= population.size).astype(np.int32)
        strata -= strata.min()
        sizes = np.bincount(strata)
        return Design(strata=strata, first_sizes=np.minimum(sizes, 5), u=population.u)
'''
CARELESS = HALVES.replace("strata -= strata.min()", "population.u[:] = population.u[::-1].copy()")
PROFILE = "idx,name,grid,block,dur_us\n" + "".join(f"{i},k{i % 3},1x1x1,32x1x1,{5 + i % 3}\n" for i in range(60))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_contract_suite_runs_on_a_policy_of_another_package(install, check):
    install("halves", HALVES, "kernelpoint.policies", halves="Halves")
    check("halves")


def test_the_contract_suite_finds_a_policy_that_changes_its_inputs(install):
    install("careless", CARELESS, "kernelpoint.policies", careless="Halves")
    check = next(rule for rule in CHECKS if rule.__name__ == "the_population_is_not_changed")
    with pytest.raises(AssertionError, match="u was changed"):
        check("careless")


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("return Design(", "return dict(", "policy halves: `design` returned .*expected a kernelpoint.estimation.Design"),
        (
            "strata=strata",
            "strata=strata.astype(float)",
            "design.strata is an array of float64; expected whole numbers",
        ),
        (
            "np.arange(population.size)",
            "np.arange(9)",
            "policy halves: `design` returned 9 labels; expected one for each of 10",
        ),
    ],
)
def test_a_design_that_is_none_is_refused_in_the_policys_name(install, right, wrong, message):
    install("halves", HALVES.replace(right, wrong).replace("u=population.u", "u=population.u[:len(strata)]"),
            "kernelpoint.policies", halves="Halves")  # fmt: skip
    policy, population = make("halves", 10)
    with pytest.raises((ConfigError, PolicyError), match=message):
        design_of(policy, population)


@pytest.mark.parametrize(
    ("check", "source"),
    [
        (
            "parameters_have_defaults_and_descriptions",
            "    @dataclass(frozen=True)\n    class Parameters(Section):\n        first: int = 5\n",
        ),
        ("inputs_are_a_set_of_needs", "    @classmethod\n    def inputs(cls, available):\n        return ['traces']\n"),
        (
            "parameters_have_defaults_and_descriptions",
            "    class Parameters(Section):\n        first: Annotated[int, 'launches'] = 5\n",
        ),
    ],
)
def test_the_contract_suite_finds_inputs_and_parameters_that_are_stated_wrongly(install, check, source):
    head = "from dataclasses import dataclass\nfrom typing import Annotated\nfrom kernelpoint.config import Section\n"
    install("careless", f"{head}{HALVES}\n{source}", "kernelpoint.policies", careless="Halves")
    with pytest.raises(AssertionError):
        next(rule for rule in CHECKS if rule.__name__ == check)("careless")


BY_NAME = """
import numpy as np
from kernelpoint.estimation import Design
from kernelpoint.policies import Policy
from kernelpoint.workload import Need, require


class ByName(Policy):
    \"\"\"Every kernel name is a stratum; three launches of each come first.\"\"\"

    @classmethod
    def inputs(cls, available):
        return frozenset({Need.TRACES})

    def design(self, program):
        require(program, "by-name", Need.TRACES)
        _, strata = np.unique(program.names.numbers, return_inverse=True)
        return Design(strata=strata, first_sizes=np.minimum(np.bincount(strata), 3), u=program.u)
"""


def test_the_engine_assumes_slow_launches_where_a_policy_says_nothing_of_them(install, capsys):
    check = next(rule for rule in CHECKS if rule.__name__ == "a_stated_bound_holds")
    site = install("by_name", BY_NAME, "kernelpoint.policies", **{"by-name": "ByName"})
    check("by-name")
    assert capsys.readouterr().out.count("by-name: the bound holds in ") == 3
    shutil.rmtree(site)
    alone = BY_NAME.replace("    @classmethod", "    assumes_tail = True\n\n    @classmethod")
    install("by_name", alone, "kernelpoint.policies", **{"by-name": "ByName"})
    with pytest.raises(AssertionError, match="the bound holds in 21 of 40 runs on quiet launches"):
        check("by-name")


def test_a_plan_of_the_cache_is_not_that_of_a_policy_that_was_edited(install, tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELPOINT_CACHE", str(tmp_path / "cache"))
    budget = HALVES.replace("    def design", "    uses_budget = True\n\n    def design")  # its plans are kept
    config, population = parse_config({"version": 1, "policy": "halves"}), Program((60,))
    drawn = []
    for first in (5, 5, 7):
        site = install("halves", budget.replace("sizes, 5", f"sizes, {first}"), "kernelpoint.policies", halves="Halves")
        plan = plan_for(config, load_policy("halves"), population, print)
        drawn.append((plan.design.first_sizes.tolist(), plan.path))
        shutil.rmtree(site)
    assert [sizes for sizes, _ in drawn] == [[5, 5], [5, 5], [7, 7]]
    assert drawn[0][1] == drawn[1][1] != drawn[2][1]


def test_a_row_of_a_comparison_is_not_that_of_a_policy_that_was_edited(install, tmp_path):
    profile = tmp_path / "profile.csv"
    profile.write_text(PROFILE)
    workload = load_workload(parse_request(str(profile)), False, print)
    drawn = []
    for first in (5, 5, 30):
        source = HALVES.replace("sizes, 5", f"sizes, {first}")
        site = install("halves", source, "kernelpoint.policies", halves="Halves")
        notebook = ResultsFile(tmp_path / "rows.jsonl")
        cell = Cell("halves", 0.05, 0, 0.95, "sequential")
        (row,) = compare(workload, [cell], notebook, print)
        drawn.append(row.simulated)
        shutil.rmtree(site)
    assert drawn[0] == drawn[1] != drawn[2]
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 2, "the second is that of the first"


def test_it_is_known_while_it_is_installed_only(install):
    with pytest.raises(ConfigError, match="policy: got 'halves'; allowed: all, allegro"):
        load_policy("halves")
    install("halves", HALVES, "kernelpoint.policies", halves="Halves")
    assert "halves" in POLICIES.names()
    policy, population = make("halves", 10)
    assert np.array_equal(policy.design(population).sizes, [5, 5])


def test_every_command_knows_it(install, tmp_path):
    folder = install("halves", HALVES, "kernelpoint.policies", halves="Halves")
    (tmp_path / "profile.csv").write_text(PROFILE)
    code = "import sys; from kernelpoint.cli import main; sys.argv[0] = 'kernelpoint'; main()"
    command = [sys.executable, "-c", code, "compare", "-w", str(tmp_path / "profile.csv"), "--policies", "all"]
    paths = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [*command, "--seeds", "1"], capture_output=True, text=True, timeout=200,
        env={**os.environ, "PYTHONPATH": paths, "COLUMNS": "200"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "halves" in done.stdout and "kernelpoint" in done.stdout


BINARY = '''
import struct
from kernelpoint.profiles.format import NOT_THIS, SIGNATURE, ProfileFormat, open_decompressed
from kernelpoint.program import ProgramBuilder


class Ticks(ProfileFormat):
    """Durations in ns, as doubles behind a mark."""

    description = "ticks"

    @classmethod
    def certainty(cls, beginning):
        return SIGNATURE if beginning.raw.startswith(b"TICKS") else NOT_THIS

    def read(self, path, device):
        builder = ProgramBuilder(str(path))
        with open_decompressed(path) as file:
            for order, (time,) in enumerate(struct.iter_unpack("<d", file.read()[5:])):
                builder.add("", order=order, counters={"cycles": time})
        return builder.finish(device)
'''


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_a_binary_format_is_read_while_its_package_is_installed(tmp_path, install, compress):
    import struct

    file = tmp_path / "run.ticks"
    file.write_bytes(compress(b"TICKS" + struct.pack("<3d", 5.0, 6.0, 7.0)))
    with pytest.raises(ProfileError, match="no known profile"):
        read_profile(file)
    install("ticks", BINARY, "kernelpoint.profiles", ticks="Ticks")
    assert read_profile(file).counters["cycles"].tolist() == [5.0, 6.0, 7.0]


def test_a_file_of_no_format_is_refused_with_all_formats(tmp_path, install):
    install("ticks", BINARY, "kernelpoint.profiles", ticks="Ticks")
    file = tmp_path / "run.txt"
    file.write_text("nothing known\n")
    with pytest.raises(ProfileError, match=r"it begins 'nothing known'.*uniform CSV, ticks"):
        read_profile(file)


def test_every_format_says_what_it_is_called_and_is_sure_of_no_empty_file():
    from kernelpoint.profiles.format import NOT_THIS, Beginning

    kinds = FORMATS.load_all()
    assert len({kind.description for kind in kinds}) == len(kinds) and WORDS < STRUCTURE
    assert all(kind.certainty(Beginning(b"")) == NOT_THIS for kind in kinds)
