// The header lines of a trace.
#pragma once

#include "native/trace/lines.h"
#include "native/trace/trace.h"

namespace kernelpoint {

struct TraceHeader {
    LaunchHeader launch;
    bool line_numbers = false;  // every instruction line starts with a source line number
};

// Reads all lines before the first CTA's #BEGIN_TB. Throws TraceError.
TraceHeader read_header_lines(Lines& lines);

}  // namespace kernelpoint
