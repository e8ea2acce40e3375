"""Search in the syntax trees of C++ sources for the places where lines are inserted. Layout and names of locals do not
matter."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ast_grep_py import SgNode, SgRoot

from kernelpoint.errors import PatchError
from kernelpoint.patching.description import Capture, Insertion

LOOPS = ("while_statement", "for_statement", "for_range_loop", "do_statement")
STATEMENTS = (*LOOPS, "expression_statement", "declaration", "if_statement", "return_statement")
_METAVARIABLE = re.compile(r"(?<!\$)\$([A-Z][A-Z_]*)")
_MEMBER = re.compile(r"^(\$[A-Z]+)(?:\.|->)")  # an object or a pointer to it: the same to a pattern
_WORD = re.compile(r"[A-Za-z_]\w{3,}")


@dataclass(frozen=True)
class Place:
    """Place of an added line of C++: before line `line` (0-based) of `file`. `kind` is the kind of the syntax node there."""

    file: str
    line: int
    indent: str
    kind: str


@dataclass(frozen=True)
class Sources:
    """Parsed C++ sources of a simulator: text and root of the syntax tree of each file, by file name."""

    texts: Mapping[str, str]
    roots: Mapping[str, SgNode]

    @classmethod
    def parse(cls, texts: Mapping[str, str]) -> Sources:
        """Parse C++ sources, given as text by file name."""
        return cls(texts, {name: SgRoot(text, "cpp").root() for name, text in texts.items()})


def capture(sources: Sources, items: Iterable[Capture | Insertion]) -> dict[str, str]:
    """Texts that the named parts of patterns matched in a simulator's sources, by name.

    Raises:
        PatchError: a pattern has no match, or two matches give one name different texts.
    """
    names: dict[str, str] = {}
    for item in items:
        what = item.why if isinstance(item, Capture) else item.name
        for file, node in _matches(sources, item.match, what):
            for name in _METAVARIABLE.findall(item.match):
                match = node.get_match(name)
                text = match.text() if match is not None else ""
                if names.setdefault(name, text) != text:
                    where = f"{file}:{node.range().start.line + 1}"
                    raise PatchError(
                        f"{where}: {what}: this place has {text!r}, another place of the source tree {names[name]!r}; the "
                        "patch needs equal text: restore the original code"
                    )
    return names


def locate(sources: Sources, insertion: Insertion) -> Place:
    """Find the only place in a simulator's sources where a line is to be added.

    Raises:
        PatchError: the pattern has no match (the message has the nearest candidates) or several, or the matched node does not
            stand on lines of its own inside a block.
    """
    matches = _matches(sources, insertion.match, insertion.name)
    if len(matches) > 1:
        places = ", ".join(f"{file}:{node.range().start.line + 1}" for file, node in matches)
        raise PatchError(
            f"{insertion.name}: several places of the source tree match {insertion.match!r}, where the patch needs one: "
            f"{places}; remove the copy of that code"
        )
    file, match = matches[0]
    if insertion.at == "function":
        return _first_in_function(match, insertion, file, sources.texts[file])
    node = _climb(match, insertion, file)
    return _beside(node, insertion, file, sources.texts[file])


def after_includes(sources: Sources, file: str) -> int:
    """Number of the line after the last top-level ``#include`` of a file; 0 if there is none."""
    ends = [child.range().start.line + 1 for child in sources.roots[file].children() if child.kind() == "preproc_include"]
    return max(ends, default=0)


def _matches(sources: Sources, pattern: str, what: str) -> list[tuple[str, SgNode]]:
    arguments = (pattern, pattern.replace(", $$$REST)", ")"))  # further arguments, or none
    members = (_MEMBER.sub(access, each) for each in arguments for access in (r"\g<0>", r"\1.", r"\1->"))
    spellings = dict.fromkeys(members)
    roots = sources.roots.items()
    matches = [(file, node) for file, root in roots for each in spellings for node in root.find_all(pattern=each)]
    if matches:
        return matches
    files = ", ".join(sources.texts)
    raise PatchError(
        f"{what}: this source tree has no place that matches {pattern!r} in {files}, so the patch does not fit it; nearest: "
        f"{_candidates(sources, pattern)}"
    )


def _candidates(sources: Sources, pattern: str) -> str:
    wanted = [word for word in _WORD.findall(pattern) if f"${word}" not in pattern]
    places: dict[str, str] = {}
    for file, text in sources.texts.items():
        for number, line in enumerate(text.split("\n"), 1):
            for word in _WORD.findall(line):
                places.setdefault(word, f"{file}:{number}")
    near = [hit for word in wanted for hit in difflib.get_close_matches(word, places, n=3, cutoff=0.5)]
    return ", ".join(f"{word} ({places[word]})" for word in dict.fromkeys(near)) or "nothing similar"


def _climb(node: SgNode, insertion: Insertion, file: str) -> SgNode:
    around = [node, *node.ancestors()]
    wanted = LOOPS if insertion.at == "outermost_loop" else STATEMENTS
    positions = [i for i, parent in enumerate(around) if parent.kind() in wanted]
    if not positions:
        raise PatchError(
            f"{_where(file, node)}: cannot insert the patch's part {insertion.name}: {insertion.match!r} is here, but not in "
            f"{insertion.at}; restore the original code"
        )
    i = positions[-1] if insertion.at == "outermost_loop" else positions[0]
    if around[i + 1].kind() != "compound_statement":
        raise PatchError(
            f"{_where(file, node)}: cannot insert the patch's part {insertion.name} beside this statement; put the statement "
            "into braces"
        )
    return around[i]


def _first_in_function(node: SgNode, insertion: Insertion, file: str, text: str) -> Place:
    functions = [parent for parent in node.ancestors() if parent.kind() == "function_definition"]
    body = functions[0].field("body") if functions else None
    if body is None:
        raise PatchError(
            f"{_where(file, node)}: cannot insert the patch's part {insertion.name}: {insertion.match!r} is here, but in no "
            "function; restore the original code"
        )
    lines, brace = text.split("\n"), body.range().start
    behind = re.sub(r"//.*|/\*.*?\*/", "", lines[brace.line][brace.column + 1 :]).strip()
    if behind:
        raise PatchError(
            f"{_where(file, body)}: cannot insert a line of the patch ({insertion.name}) here; put {behind!r} on a line of "
            "its own"
        )
    first = next(child for child in body.children() if child.is_named() and child.kind() != "comment")
    indent = re.match(r"[ \t]*", lines[first.range().start.line]).group()  # type: ignore[union-attr]
    return Place(file, brace.line + 1, indent, "function_definition")


def _beside(node: SgNode, insertion: Insertion, file: str, text: str) -> Place:
    lines = text.split("\n")
    start, end = node.range().start, node.range().end
    head, tail = lines[start.line][: start.column], lines[end.line][end.column :]
    alone = head.strip() if insertion.place == "before" else re.sub(r"//.*|/\*.*?\*/", "", tail).strip()
    if alone:
        raise PatchError(
            f"{_where(file, node)}: cannot insert a line of the patch ({insertion.name}) here; put {alone!r} on a line of its "
            "own"
        )
    line = start.line if insertion.place == "before" else end.line + 1
    if line == len(lines):
        raise PatchError(
            f"{_where(file, node)}: cannot insert a line of the patch ({insertion.name}) after the end of the file; the file "
            "is cut short: restore it"
        )
    return Place(file, line, re.match(r"[ \t]*", lines[start.line]).group(), node.kind())  # type: ignore[union-attr]


def _where(file: str, node: SgNode) -> str:
    return f"{file}:{node.range().start.line + 1}"
