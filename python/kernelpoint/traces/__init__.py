"""Reading traces: trace lists, headers, work and instruction sequences of launches, and the cache of all that."""

from kernelpoint.traces.cache import ArtefactCache, cache_folder
from kernelpoint.traces.scan import UNITS, LaunchHeader, LaunchShape, Scan, Work, read_header, scan_trace
from kernelpoint.traces.scan_launches import scan_launches
from kernelpoint.traces.scan_table import ScanTable
from kernelpoint.traces.trace_list import TraceList, is_list_name, launch_paths, read_trace_list, trace_formats

__all__ = [
    "UNITS",
    "ArtefactCache",
    "LaunchHeader",
    "LaunchShape",
    "Scan",
    "ScanTable",
    "TraceList",
    "Work",
    "cache_folder",
    "is_list_name",
    "launch_paths",
    "read_header",
    "read_trace_list",
    "scan_launches",
    "scan_trace",
    "trace_formats",
]
