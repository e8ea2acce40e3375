"""Whole lines of a journal that are not where they were written; `python tests/damage/moved_lines.py` tries 3,200."""

from moved_lines import main


def test_no_journal_is_read_whose_lines_were_deleted_doubled_swapped_or_are_foreign():
    found = main(60)
    assert {outcome for _, outcome in found} <= {"refused", "unchanged"}
    assert sum(count for (_, outcome), count in found.items() if outcome == "refused") > 50
