// Source of a TraceReader: one implementation for each kind of file.
#pragma once

#include "native/trace/trace.h"

namespace kernelpoint {

constexpr uint64_t most_instructions = uint64_t{1} << 31;  // of one CTA

class TraceSource {
public:
    virtual ~TraceSource() = default;
    virtual const LaunchHeader& header() const = 0;
    virtual const std::vector<Opcode>& opcodes() const = 0;
    virtual bool next(Cta& cta) = 0;
    virtual uint64_t store_data_left_out() const { return 0; }
};

}  // namespace kernelpoint
