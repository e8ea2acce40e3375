// Lists of Accel-Sim's traces: kernelslist.g, or a folder of traces.
#pragma once

#include "native/trace/format.h"

namespace kernelpoint {

// Reads what Accel-Sim reads: lines that start with `MemcpyHtoD` or `kernel`; all others are ignored.
TraceList read_kernelslist(Lines& lines);

// `certain` where files kernel-N[-ctx_0x..].traceg[.xz|.zst] or .tracez lie in a folder, `possible` where their
// unprocessed forms do.
Match match_traces(const FolderEntries& entries);
// These files by N, whether or not a list lies beside them.
TraceList list_traces(const std::string& folder, const FolderEntries& entries);

}  // namespace kernelpoint
