"""From a launch's trace to a heterogeneous graph; its content is documented in `schema`."""

from kernelpoint.graphs.build import DEFAULT_MAX_NODES, TraceGraph, build_graph
from kernelpoint.graphs.schema import SCHEMA, schema_hash

__all__ = ["DEFAULT_MAX_NODES", "SCHEMA", "TraceGraph", "build_graph", "schema_hash"]
