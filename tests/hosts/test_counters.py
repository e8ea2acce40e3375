"""The names in counters.h are those that Python gives a meaning to."""

from __future__ import annotations

import re
from pathlib import Path

from kernelpoint.session.ratios import RATIOS

HEADER = Path(__file__).parents[2] / "plugin" / "include" / "kernelpoint" / "counters.h"
MEANINGS = re.findall(r'X\("([^"]*)",\s*"([^"]*)",\s*"([^"]*)"\)', HEADER.read_text())


def test_every_counter_has_one_row_with_a_unit_and_a_meaning():
    names = [name for name, _, _ in MEANINGS]
    assert len(names) == len(set(names)) == HEADER.read_text().count('X("') > 20
    assert all(name.islower() and unit and meaning for name, unit, meaning in MEANINGS)


def test_ratios_are_made_of_counters_with_a_meaning():
    assert {name for pair in RATIOS.values() for name in pair} <= {name for name, _, _ in MEANINGS}
