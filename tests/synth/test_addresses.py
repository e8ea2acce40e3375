"""Address compression: against a scalar decoder, and against what tracers wrote."""

import tarfile
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import zstandard
from accelsim_rules import GLOBAL, SHARED, lanes, mode_of_tracer
from hypothesis import given
from hypothesis import strategies as st
from recorded_traces import ACCELSIM, shared

from kernelpoint_lab.synth.addresses import encode


def decode(text: str, mask: int) -> list[int]:
    mode, base, *rest = text.split()
    count = mask.bit_count()
    if mode == "0":
        return [int(word, 16) for word in (base, *rest)]
    if mode == "1":
        return [int(base, 16) + n * int(rest[0]) for n in range(count)]
    return np.cumsum([int(base, 16), *map(int, rest)]).tolist()


ADDRESS = st.one_of(st.integers(0, 2**47), st.integers(0x7F0000000000, 0x7F0000000400))
ROW = st.one_of(
    st.lists(ADDRESS, min_size=32, max_size=32),
    st.builds(lambda base, step: [base + lane * step for lane in range(32)], ADDRESS, st.integers(0, 4096)),
)


@given(st.lists(st.tuples(ROW, st.integers(0, 2**32 - 1)), min_size=1, max_size=5))
def test_encoded_addresses_decode_to_themselves_in_the_mode_of_the_tracer(
    warps: list[tuple[list[int], int]],
) -> None:
    masks = [mask for _, mask in warps]
    addresses = np.array([row for row, _ in warps], dtype=np.int64)
    texts = encode(addresses, np.array([[mask >> lane & 1 for lane in range(32)] for mask in masks], dtype=bool))
    for row, mask, text in zip(addresses.tolist(), masks, texts, strict=True):
        active = [row[lane] for lane in lanes(mask)]
        assert decode(text, mask) == active
        assert int(text[0]) == mode_of_tracer(mask, active)


def real_accesses(archive: Path, files: int, lines: int) -> list[tuple[str, str]]:
    """(mask, address fields) of memory instructions in the first traces of an archive."""
    found: list[tuple[str, str]] = []
    with archive.open("rb") as packed:
        stream = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(packed)
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            for member in islice((m for m in tar if m.name.endswith(".traceg")), files):
                text = tar.extractfile(member)
                for line in (text.read().decode() if text else "").splitlines()[:lines]:
                    words = line.split()
                    at = 4 if len(words) > 4 and words[2] == "1" else 3
                    if len(words) > 6 and words[at].split(".")[0] in GLOBAL | SHARED:
                        found.append((words[1], " ".join(words[at + 3 + int(words[at + 1]) :])))
    return found


@pytest.mark.parametrize("name", ["simpletorch3", "rodinia_bfs"])
def test_recorded_accesses_are_compressed_the_same_way(name: str) -> None:
    accesses = real_accesses(shared(f"{ACCELSIM}/{name}.tar.zst"), files=6, lines=20_000)
    assert accesses
    for mask_text, text in accesses:
        mask = int(mask_text, 16)
        row = np.zeros((1, 32), dtype=np.int64)
        active = lanes(mask)
        row[0, active] = decode(text, mask)
        bits = np.isin(np.arange(32), active)[None, :]
        assert encode(row, bits) == [text]
