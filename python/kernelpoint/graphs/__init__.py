"""From a launch's trace to a heterogeneous graph; its content is documented in `schema`."""

from kernelpoint.graphs.build import DEFAULT_MAX_NODES as DEFAULT_MAX_NODES
from kernelpoint.graphs.build import TraceGraph as TraceGraph
from kernelpoint.graphs.build import build_graph as build_graph
from kernelpoint.graphs.schema import SCHEMA as SCHEMA
from kernelpoint.graphs.schema import schema_hash as schema_hash
