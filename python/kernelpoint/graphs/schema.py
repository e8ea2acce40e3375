"""The graph schema as Python sees it. It is defined once, in plugin/native/graph/schema.h; nothing is repeated here."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

from kernelpoint import _native


@dataclass(frozen=True)
class GraphSchema:
    """Definition of a trace graph: node kinds, relations, feature columns and tokens.

    Attributes:
        version: raised with every change of meaning.
        node_kinds: names; a kind's number is its position.
        relations: names; a relation's number is its position. Every edge goes from a lower to a higher node number.
        columns: kind -> names of its feature columns; further columns up to `feature_count` are zero.
        feature_count: numeric features of a node.
        opcodes: vocabulary; opcode i has token i + 1, any other opcode token 0.
        shared_tokens: later opcode -> the one of the vocabulary whose token it has.
        token_count: rows of the encoder's token table (opcodes, register kinds, kinds of memory reference).
        modifier_count: rows of its modifier table; 0 means none.
        smallest_max_nodes: the least bound on a graph's nodes that is accepted.
    """

    version: int
    node_kinds: tuple[str, ...]
    relations: tuple[str, ...]
    columns: dict[str, tuple[str, ...]]
    feature_count: int
    opcodes: tuple[str, ...]
    shared_tokens: dict[str, str]
    token_count: int
    modifier_count: int
    smallest_max_nodes: int

    def column(self, kind: str, name: str) -> int:
        """Index of a feature column, for example column("pseudo", "log_sectors")."""
        return self.columns[kind].index(name)


def _load() -> GraphSchema:
    raw = _native.graph_schema()
    columns = {kind: tuple(names) for kind, names in raw.pop("columns").items()}
    fields: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in raw.items()}
    return GraphSchema(columns=columns, **fields)


SCHEMA = _load()


def schema_hash() -> str:
    """Hash of the whole schema. Graphs, checkpoints and cached embeddings with different hashes are never mixed.

    >>> len(schema_hash())
    16
    """
    text = json.dumps(asdict(SCHEMA), sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
