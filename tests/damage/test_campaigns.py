"""The campaigns of attacks and their table in the documents."""

from pathlib import Path

from campaigns import CAMPAIGNS, run

TABLE = Path(__file__).parents[2] / "docs" / "evidence" / "reliability.md"


def test_each_campaign_has_its_row_in_the_documents():
    rows = [line.split(" | ") for line in TABLE.read_text().splitlines() if line.startswith("| ")]
    documented = {row[0].removeprefix("| "): row[-1].removesuffix(" |").strip("`") for row in rows if len(row) == 7}
    assert {row.attack: row.command for row in CAMPAIGNS}.items() <= documented.items()


def test_a_campaign_counts_what_its_tests_say_that_they_tried():
    row = next(row for row in CAMPAIGNS if "doubled" in row.tests)
    assert run(row).startswith(f"| {row.attack} | 21 | 0 | 0 | 0 | 0 | ")
