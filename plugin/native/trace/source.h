// What a TraceReader reads from: one implementation for each format.
#pragma once

#include <memory>
#include <string>

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

std::unique_ptr<TraceSource> open_accelsim(const std::string& path, bool keep_values);  // accelsim/reader.cc
std::unique_ptr<TraceSource> open_tracez(const std::string& path, bool keep_values);
std::unique_ptr<TraceSource> open_macsim(const std::string& path);  // macsim/reader.cc

}  // namespace kernelpoint
