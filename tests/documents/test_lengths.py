"""A page of the user's shelf is read in five minutes, and the glossary stays short."""

import re

import pytest
from pages import DOCS, section, tables

REFERENCE = {
    "commands",
    "configuration",
    "formats",
    "formats-traces",
    "journal",
    "python",
}  # looked up, not read
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if page.parent.name != "evidence" and page.stem not in REFERENCE]
WORDS_A_MINUTE = 240


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_read_in_five_minutes(page):
    prose = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert len(prose.split()) <= 5 * WORDS_A_MINUTE


def test_the_prose_of_the_readme_is_read_in_three_minutes():
    text = re.sub(
        r"^```.*?^```$", "", (DOCS.parent / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    words = [word for line in text.splitlines() if not line.startswith("|") for word in line.split()]
    assert 0 < len(words) <= 3 * WORDS_A_MINUTE


def test_the_glossary_has_at_most_30_words_in_order():
    (words,) = ([row["Word"] for row in table] for table in tables(section("docs/glossary.md")))
    assert len(words) <= 30 and words == sorted(words)
