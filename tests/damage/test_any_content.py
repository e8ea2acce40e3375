"""Python's readers on content of any kind: they give what they promise or refuse with their own error.

EXAMPLES=20000 python -m pytest tests/damage/test_any_content.py
"""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import PROFILES, plain
from sealed_lines import journal_of

from kernelpoint.config import load_config, parse_config
from kernelpoint.config.schema import Config
from kernelpoint.errors import ConfigError, JournalError, ProfileError
from kernelpoint.journal import load_run
from kernelpoint.profiles import read_profile
from kernelpoint.profiles.profile import Profile

EXAMPLES = settings(max_examples=int(os.environ.get("EXAMPLES", "60")), deadline=None)
SCALARS = st.none() | st.booleans() | st.integers() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=8)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=5,
)
KEYS = st.sampled_from([*Config.model_fields, "error_budget.relative_error", "replay.memory", "x.y", "<<"])
WORDS = st.sampled_from(
    ["&a ", "*a", "!!python/object:os.system ", "? ", "- ", "{", "[", ": ", "\n", "'", '"', "%", "\t", "---\n"]
)


@EXAMPLES
@given(content=st.dictionaries(KEYS, JSON, max_size=4))
def test_any_values_of_a_configuration_are_taken_or_refused(content):
    try:
        assert isinstance(parse_config({"version": 1, "policy": "random", **content}), Config)
    except ConfigError as error:
        assert plain(error)


@EXAMPLES
@given(parts=st.lists(WORDS | KEYS | st.text(max_size=6), max_size=12))
def test_any_text_of_a_configuration_is_taken_or_refused(tmp_path_factory, parts):
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_text("version: 1\npolicy: random\n" + "".join(parts), encoding="utf-8", errors="surrogatepass")
    try:
        assert isinstance(load_config(path), Config)
    except ConfigError as error:
        assert plain(error)


@EXAMPLES
@given(data=st.data())
def test_any_record_with_a_right_checksum_is_taken_or_refused(tmp_path_factory, journal_records, data):
    records = [dict(record) for record in journal_records]
    for _ in range(data.draw(st.integers(1, 3))):
        record = records[data.draw(st.integers(0, len(records) - 1))]
        key = data.draw(st.sampled_from([*record, "more"]))
        change = data.draw(st.sampled_from(["value", "gone", "doubled"]))
        if change == "value":
            record[key] = data.draw(JSON)
        elif change == "gone":
            record.pop(key, None)
        else:
            records.append(dict(record))
    path = tmp_path_factory.getbasetemp() / "any.kpjournal"
    path.write_bytes(journal_of([json.dumps(record, separators=(",", ":")).encode() for record in records]))
    try:
        load_run(path).content()
    except JournalError as error:
        assert plain(error)


BYTES = st.sampled_from([b"1e999", b"-1", b"NaN", b"\xff", b"9" * 400, b"", *(bytes([c]) for c in b",\"\n{}[\x00':")])


@pytest.mark.parametrize("value", ["1e999", "nan", "-inf", "9" * 400])
@pytest.mark.parametrize("name", ["nsys.csv", "ncu.csv", "results.csv"])
def test_a_number_that_is_none_is_refused_wherever_it_stands(tmp_path, name, value):
    head, _, row = PROFILES[name].rstrip("\n").partition("\n")
    fields = next(csv.reader([row]))
    refused = 0
    for place in range(len(fields)):
        changed = [value if i == place else field for i, field in enumerate(fields)]
        with (tmp_path / name).open("w", newline="") as file:
            file.write(head + "\n")
            csv.writer(file).writerow(changed)
        try:
            read_profile(tmp_path / name)
        except ProfileError as error:
            assert plain(error)
            refused += 1
    assert refused > 0


@EXAMPLES
@given(data=st.data(), name=st.sampled_from(sorted(PROFILES)))
def test_any_profile_is_taken_or_refused(tmp_path_factory, data, name):
    content = PROFILES[name].encode()
    for _ in range(data.draw(st.integers(0, 4))):
        at, length = data.draw(st.integers(0, len(content))), data.draw(st.integers(0, 6))
        content = content[:at] + data.draw(BYTES) + content[at + length :]
    path = tmp_path_factory.getbasetemp() / name
    Path(path).write_bytes(content)
    try:
        assert isinstance(read_profile(path), Profile)
    except ProfileError as error:
        assert plain(error)


def test_a_summary_of_a_counter_that_the_run_does_not_have_is_refused_with_its_line(tmp_path, journal_records):
    *before, summary = journal_records
    (path := tmp_path / "run.kpjournal").write_bytes(
        journal_of(
            json.dumps(one, separators=(",", ":")).encode() for one in [*before, {**summary, "counter": "flits"}]
        )
    )
    with pytest.raises(
        JournalError, match=rf"run\.kpjournal:{len(journal_records)}: a summary of 'flits'; its counters are"
    ):
        load_run(path)
