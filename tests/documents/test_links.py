"""Every relative link in the documents leads to a file, and every anchor to a heading; pages are short."""

import re
from pathlib import Path

import pytest
from pages import DOCS, section, tables

ROOT = Path(__file__).parents[2]
SKIPPED = {".venv", "build", "out", ".git"}
PAGES = sorted(p for p in ROOT.rglob("*.md") if not SKIPPED & set(p.relative_to(ROOT).parts))
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def anchors_of(page: Path) -> set[str]:
    """Anchors as repository hosts make them: lower case, spaces become hyphens, other signs are dropped."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.strip().lower()).replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_relative_link_of_a_page_leads_somewhere(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        target_page = page if not path else (page.parent / path)
        assert target_page.exists(), f"{page.name}: {target} leads to no file"
        if anchor and target_page.suffix == ".md":
            assert anchor in anchors_of(target_page), f"{page.name}: {target} leads to no heading"


def test_every_program_and_test_that_a_document_names_is_there():
    files = [p.relative_to(ROOT) for p in (*ROOT.rglob("*.py"), *ROOT.rglob("*.h")) if not SKIPPED & set(p.parts)]
    paths, names = {str(path) for path in files}, {path.name for path in files}
    headers = [ROOT / "plugin" / "include" / "kernelpoint" / "counters.h"]
    for page in (*PAGES, *headers):
        text = page.read_text(encoding="utf-8")
        named = set(re.findall(r"(?<![\w/.-])(?:tests|lab|python|plugin)/[\w/-]+\.(?:py|h)\b", text))
        tests = set(re.findall(r"\btest_\w+\.py\b", text))
        assert page.name == "CHANGELOG.md" or not (named - paths or tests - names), f"{page.name} names no file"


def test_every_module_and_name_in_the_table_of_where_to_begin_is_there():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    folders = {folder: what for folder, what in re.findall(r"^\| `(python/kernelpoint/\w+)` \| (.*) \|$", text, re.MULTILINE)}
    modules = [(ROOT / folder, name) for folder, what in folders.items() for name in re.findall(r"`(\w+\.py)`", what)]
    assert len(modules) > 8 and not [f"{folder}/{name}" for folder, name in modules if not (folder / name).exists()]
    begin = re.search(r"^\| To change \|.*?^$", text, re.MULTILINE | re.DOTALL)
    named = re.findall(r"`([\w/:.]+)`", begin[0])
    sources = [p for p in ROOT.rglob("*") if p.suffix in {".py", ".h", ".cc"} and not SKIPPED & set(p.relative_to(ROOT).parts)]
    paths = [f"/{path.relative_to(ROOT)}" for path in sources if "tests" not in path.parts or path.name.startswith("test_")]
    code = "\n".join(path.read_text(encoding="utf-8") for path in sources if "tests" not in path.parts)
    words, types = set(re.findall(r"\w+", code)), set(re.findall(r"\b(?:class|struct) (\w+)", code))
    files = [name for name in named if name.endswith((".py", ".h")) and "NAME" not in name]
    assert len(files) > 20 and not [name for name in files if not any(path.endswith(f"/{name}") for path in paths)]
    names = [re.split(r"\.|::", name) for name in named if "/" not in name and name not in files]
    assert len(names) > 20 and not [
        name for name in names if not set(name) <= words or (len(name) > 1 and name[0] not in types)
    ]


def test_every_page_of_the_documents_stands_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    missing = [p.name for p in (ROOT / "docs").rglob("*.md") if str(p.relative_to(ROOT / "docs")) not in navigation]
    assert not missing


REFERENCE = {"commands", "configuration", "formats", "python"}  # looked up, not read
SHELF = [page for page in sorted(DOCS.rglob("*.md")) if page.parent.name != "evidence" and page.stem not in REFERENCE]
WORDS_A_MINUTE = 240


@pytest.mark.parametrize("page", SHELF, ids=lambda page: page.stem)
def test_a_page_is_read_in_five_minutes(page):
    prose = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert len(prose.split()) <= 5 * WORDS_A_MINUTE


def test_the_prose_of_the_readme_is_read_in_three_minutes():
    text = re.sub(r"^```.*?^```$", "", (DOCS.parent / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    words = [word for line in text.splitlines() if not line.startswith("|") for word in line.split()]
    assert 0 < len(words) <= 3 * WORDS_A_MINUTE


def test_the_glossary_has_at_most_30_words_in_order():
    (words,) = ([row["Word"] for row in table] for table in tables(section("docs/how-it-works.md", "Glossary")))
    assert len(words) <= 30 and words == sorted(words)
