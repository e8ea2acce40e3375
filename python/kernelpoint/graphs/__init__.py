"""Conversion of a launch's trace to a heterogeneous graph, whose content `GraphSchema` documents."""

from kernelpoint.graphs.graph import DEFAULT_MAX_NODES as DEFAULT_MAX_NODES
from kernelpoint.graphs.graph import SCHEMA as SCHEMA
from kernelpoint.graphs.graph import TraceGraph as TraceGraph
from kernelpoint.graphs.graph import build_graph as build_graph
from kernelpoint.graphs.graph import schema_hash as schema_hash
