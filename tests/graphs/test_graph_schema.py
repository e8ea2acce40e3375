"""The schema is one thing, and its hash covers all of it."""

from dataclasses import fields, replace

from kernelpoint.graphs import schema
from kernelpoint.graphs.schema import SCHEMA, schema_hash


def test_every_kind_has_columns_that_fit_and_differ():
    assert tuple(SCHEMA.columns) == SCHEMA.node_kinds
    for names in SCHEMA.columns.values():
        assert len(set(names)) == len(names) <= SCHEMA.feature_count


def test_opcodes_of_the_vocabulary_differ():
    assert len(set(SCHEMA.opcodes)) == len(SCHEMA.opcodes)


def test_the_hash_changes_with_every_part_of_the_schema(monkeypatch):
    seen = {schema_hash()}
    for field in fields(SCHEMA):
        value = getattr(SCHEMA, field.name)
        other = value + 1 if isinstance(value, int) else () if isinstance(value, tuple) else {}
        monkeypatch.setattr(schema, "SCHEMA", replace(SCHEMA, **{field.name: other}))
        seen.add(schema_hash())
    assert len(seen) == 1 + len(fields(SCHEMA))
