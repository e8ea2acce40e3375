"""Reading traces: trace lists, headers, work and instruction sequences of launches, and the cache of all that."""

from kernelpoint.traces.cache import ArtefactCache, cache_folder
from kernelpoint.traces.scan import UNITS, LaunchHeader, LaunchShape, Scan, Work, read_header, scan_trace
from kernelpoint.traces.scan_launches import scan_launches
from kernelpoint.traces.scan_table import ScanTable
from kernelpoint.traces.trace_list import TraceList, is_list_name, launch_paths, read_trace_list, trace_formats
from kernelpoint.traces.tracer_sample import SAMPLE_LIST, TracerSample, read_tracer_sample
from kernelpoint.traces.tracez import TracezIndex, read_tracez_index

__all__ = [
    "SAMPLE_LIST",
    "UNITS",
    "ArtefactCache",
    "LaunchHeader",
    "LaunchShape",
    "Scan",
    "ScanTable",
    "TraceList",
    "TracerSample",
    "TracezIndex",
    "Work",
    "cache_folder",
    "is_list_name",
    "launch_paths",
    "read_header",
    "read_trace_list",
    "read_tracer_sample",
    "read_tracez_index",
    "scan_launches",
    "scan_trace",
    "trace_formats",
]
