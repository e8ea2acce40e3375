"""One suite that every policy passes, whichever file or package it comes from."""

import subprocess
import sys

import pytest

from kernelpoint.policies.conformance import CHECKS
from kernelpoint.policies.registry import load_policy, policy_names
from kernelpoint.workload import Available, Need


@pytest.mark.parametrize("name", policy_names())
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_every_policy_fulfils_the_contract(check, name):
    check(name)


def test_only_policies_with_embeddings_import_torch():
    names = [name for name in policy_names() if Need.EMBEDDINGS not in load_policy(name).inputs(Available())]
    code = (
        "import sys; from kernelpoint.policies.conformance import make\n"
        f"for name in {names!r}:\n"
        "    policy, population = make(name); policy.design(population)\n"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "False"
