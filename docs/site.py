"""Hook of MkDocs: the READMEs of the repository become pages of the site, so that every link leads somewhere."""

import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
SKIPPED = {".venv", "build", "out", "docs", "tests"}
BLOCK, OPTION = re.compile(r"<pre>.*?</pre>", re.DOTALL), re.compile(r"(?<= )(--?[a-z][\w-]*)(?![^<]*>)")
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")


def on_files(files, config):
    """Add every page outside `docs` under `repository/`."""
    for path in sorted(ROOT.rglob("*.md")):
        name = path.relative_to(ROOT)
        if not SKIPPED & set(name.parts):
            files.append(File.generated(config, f"repository/{name}", content=path.read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown, page, config, files):
    """Turn links between files into links between pages; a link to a file that is no page becomes its text."""
    here = page.file.src_uri
    source = here.removeprefix("repository/") if here.startswith("repository/") else f"docs/{here}"

    def replaced(found):
        text, target = found.groups()
        path, sign, anchor = target.partition("#")
        if not path or re.match(r"[a-z]+:", target):
            return found.group()
        aim = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        aim = aim.removeprefix("docs/") if aim.startswith("docs/") else f"repository/{aim}"
        if files.get_file_from_path(aim) is None:
            return text
        return f"[{text}]({posixpath.relpath(aim, posixpath.dirname(here) or '.')}{sign}{anchor})"

    return LINK.sub(replaced, markdown)


def on_post_page(output, page, config):
    """Mend what the theme leaves open to readers by keyboard or voice; options of commands do not break at their hyphens."""
    output = output.replace('<input class="md-option"', '<input tabindex="-1" class="md-option"')
    output = output.replace('role="dialog">', 'role="dialog" aria-label="Search">').replace("<table>", '<table tabindex="0">')
    return BLOCK.sub(lambda block: OPTION.sub(r'<span class="option">\1</span>', block.group()), output)
