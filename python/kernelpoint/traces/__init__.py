"""Reading of traces: trace lists, headers, work and instruction sequences of launches, and the cache of the results."""

from kernelpoint.traces.cache import ArtefactCache as ArtefactCache
from kernelpoint.traces.cache import cache_folder as cache_folder
from kernelpoint.traces.scan import fields_of as fields_of
from kernelpoint.traces.scan import read_header as read_header
from kernelpoint.traces.scan import read_labels as read_labels
from kernelpoint.traces.scan import scan_launches as scan_launches
from kernelpoint.traces.scan import scan_trace as scan_trace
from kernelpoint.traces.trace_list import ListedTraces as ListedTraces
from kernelpoint.traces.trace_list import is_list_name as is_list_name
from kernelpoint.traces.trace_list import read_trace_list as read_trace_list
