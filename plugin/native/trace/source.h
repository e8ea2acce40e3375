// Source of a TraceReader: one implementation for each kind of file.
#pragma once

#include "native/trace/trace.h"

namespace kernelpoint {

class TraceSource {
public:
    virtual ~TraceSource() = default;
    virtual const LaunchHeader& header() const = 0;
    virtual const std::vector<Opcode>& opcodes() const = 0;
    virtual bool next(Cta& cta) = 0;
    virtual uint64_t store_data_left_out() const { return 0; }
};

}  // namespace kernelpoint
