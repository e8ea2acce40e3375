"""The names in counters.h are those that Python gives a meaning to."""

import re
from pathlib import Path

import numpy as np

from kernelpoint.counters.exact import CANDIDATES
from kernelpoint.counters.identities import AT_MOST, IDENTITIES
from kernelpoint.fast_model.predictions import in_terms_of
from kernelpoint.policies.methods.kernelpoint import COLD_COUNTERS
from kernelpoint.ratios import RATIOS
from kernelpoint.session.intra_kernel import PROJECTED
from kernelpoint.simulators.accelsim import TERMS

HEADER = Path(__file__).parents[2] / "plugin" / "include" / "kernelpoint" / "counters.h"
MEANINGS = re.findall(r'X\("([^"]*)",\s*"([^"]*)",\s*"([^"]*)"\)', HEADER.read_text())
NAMES = {name for name, _, _ in MEANINGS}


def test_every_counter_has_one_row_with_a_unit_and_a_meaning():
    names = [name for name, _, _ in MEANINGS]
    assert len(names) == len(set(names)) == HEADER.read_text().count('X("') > 20
    assert all(name.islower() and unit and meaning for name, unit, meaning in MEANINGS)


def test_ratios_are_made_of_counters_with_a_meaning():
    assert {name for pair in RATIOS.values() for name in pair} <= NAMES


def test_every_counter_that_python_knows_has_a_meaning():
    assert {*CANDIDATES, *TERMS, *PROJECTED} <= NAMES


def test_identities_and_limits_are_about_counters_with_a_meaning():
    assert {name for pair in AT_MOST for name in pair} <= NAMES
    of_power = {"power_llc_r"}  # a counter of MacSim's output
    assert {name for identity in IDENTITIES for name in identity} - of_power <= NAMES


def test_every_counter_of_the_fast_model_has_a_meaning():
    fields = re.findall(r'\{"(\w+)", &Counters::', (HEADER.parents[2] / "fast_model" / "counters.h").read_text())
    assert set(fields) <= NAMES
    predicted = {name: np.ones(1) for name in ("cycles", *fields)}
    assert {*TERMS} <= {*in_terms_of("accelsim", predicted)}


def test_the_rule_for_other_names_is_the_policys():
    rule = re.search(r'a name that contains "(\w+)" or "(\w+)"', HEADER.read_text())
    assert rule is not None and rule.groups() == COLD_COUNTERS
