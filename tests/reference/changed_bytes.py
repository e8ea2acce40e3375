"""Bytes of a file changed at random, as damage or a stranger may change them, and the check of a hook that reads it."""

import os
import random
from pathlib import Path

TRIES = int(os.environ.get("TRIES", "12"))  # of each file, in one test
WORDS = (
    b"../",
    b";touch X;",
    b"$(touch X)",
    b"`touch X`",
    b" ",
    b"\0",
    b"\xff",
    b"\n",
    b"-1",
    b"9" * 40,
    b"kernel-",
    b".traceg",
    b"MemcpyHtoD,",
    b"0x",
)


def changed(data: bytes, chance: random.Random) -> bytes:
    """Bytes with one to four changes: a byte, a word put in or over, a part doubled, removed or cut off."""
    text = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(text) + 1)
        end = min(place + chance.randrange(1, 40), len(text))
        change = chance.randrange(6)
        if change == 0 and place < len(text):
            text[place] ^= 1 << chance.randrange(8)
        elif change == 1:
            text[place:place] = chance.choice(WORDS)
        elif change == 2:
            text[place:end] = chance.choice(WORDS)
        elif change == 3:
            text[place:place] = text[place:end]
        elif change == 4:
            del text[place:end]
        elif chance.randrange(4) == 0:
            del text[place:]
    return bytes(text)


def require_ended_or_refused(run, path: Path, folder: Path) -> bool:
    """True if a hook refused a changed file with a message; crashes, findings of sanitisers, files X below fail."""
    text = run.out + run.err
    assert run.code >= 0 and "Sanitizer" not in text and "runtime error" not in text, (path.read_bytes(), text[-3000:])
    assert run.code == 0 or run.err.strip(), path.read_bytes()
    assert not list(folder.rglob("X")), path.read_bytes()
    return run.code != 0
