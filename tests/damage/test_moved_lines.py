"""Whole lines of a journal that are not where they were written; `python tests/damage/moved_lines.py` tries 3,200."""

import os

from moved_lines import main
from tries import tried


def test_no_journal_is_read_whose_lines_were_deleted_doubled_swapped_or_are_foreign():
    found = main(int(os.environ.get("CASES", "60")))
    tried(sum(found.values()))
    assert {outcome for _, outcome in found} <= {"refused", "unchanged"}
    assert sum(count for (_, outcome), count in found.items() if outcome == "refused") > 50
