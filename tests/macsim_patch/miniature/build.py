#!/usr/bin/env python3
"""Builds the miniature as MacSim's own build.py does: sources of knobs and statistics are made first. Options are ignored.

CXXFLAGS says how; the program is `macsim`, beside this file.
"""

import os
import re
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent


def generate(checkout: Path) -> None:
    """Makes the sources of knobs and statistics from every definition file, as MacSim's build does."""
    knobs = [m for path in sorted((checkout / "def").glob("*.param.def")) for m in _entries(path, r"param<(.*)>")]
    lines = [
        f'{kind}>* KNOB_{name} = new {kind}>("{flag}", {default});'
        for name, flag, type_, default in knobs
        for kind in [f"KnobTemplate<{type_}"]
        for default in [f'"{default}"' if type_ == "string" else default]
    ]
    all_of_them = " ".join(f"container->all.push_back(KNOB_{name});" for name, *_ in knobs)
    body = "\n".join([*lines, f"void register_all(KnobsContainer* container) {{ {all_of_them} }}"])
    (checkout / "src/all_knobs.h").write_text(f'#pragma once\n#include "knob.h"\nclass all_knobs_c {{\npublic:\n{body}\n}};\n')
    stats = [
        (path.name.split(".")[0], *entry)
        for path in sorted((checkout / "def").glob("*.stat.def"))
        for entry in _entries(path, r"DEF_STAT\((.*)\)")
    ]
    per_core, overall = [s for s in stats if "PER_CORE" in s], [s for s in stats if "PER_CORE" not in s]
    text = f"#pragma once\nenum {{ {', '.join(s[1] for s in overall)} }};\n"
    numbers = ", ".join(f"{s[1]} = {5001 + i}" for i, s in enumerate(per_core))
    text += f"enum {{ PER_CORE_STATS_ENUM_FIRST = 5001, {numbers} }};\n"
    text += "struct StatName { const char *file, *name; };\n"
    for kind, group in (("Global", overall), ("Core", per_core)):
        rows = ", ".join(f'{{"{s[0]}", "{s[1]}"}}' for s in group)
        text += f"const StatName k{kind}Stats[] = {{{rows}}};\nconst int k{kind}StatCount = {len(group)};\n"
    (checkout / "src/statsEnums.h").write_text(text)


def _entries(path: Path, pattern: str) -> list[list[str]]:
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
    return [[word.strip() for word in m.split(",")] for m in re.findall(pattern, text)]


if __name__ == "__main__":
    generate(HERE)
    flags = os.environ.get("CXXFLAGS", "-O0").split()
    program = [f"-I{HERE / 'src'}", *(str(HERE / "src" / name) for name in ("macsim.cc", "process_manager.cc"))]
    command = ["g++", "-std=c++14", *flags, *program, "-o", str(HERE / "macsim"), "-lz", "-ldl"]
    subprocess.run(command, check=True, timeout=600)
