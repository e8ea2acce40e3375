"""A policy of another package: one module and one entry point; commands, sessions and the contract suite know it."""

import os
import subprocess
import sys

import numpy as np
import pytest

from kernelpoint.errors import ConfigError
from kernelpoint.policies.conformance import CHECKS
from kernelpoint.policies.made_up import make
from kernelpoint.policies.registry import load_policy, policy_names

HALVES = '''
import numpy as np
from kernelpoint.estimation import Design
from kernelpoint.policies.contract import Policy


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
    failed = []
    for check in CHECKS:
        try:
            check("careless")
        except AssertionError:
            failed.append(check.__name__)
    assert "the_population_is_not_changed" in failed


def test_it_is_known_while_it_is_installed_only(install):
    with pytest.raises(ConfigError, match="policy: got 'halves'; allowed: all, allegro"):
        load_policy("halves")
    install("halves", HALVES, "kernelpoint.policies", halves="Halves")
    assert "halves" in policy_names()
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
