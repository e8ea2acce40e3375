// The commands of a workload in program order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "native/trace/trace.h"

namespace kernelpoint {

// Text that does not change; copies share it.
class SharedText {
public:
    SharedText() = default;
    SharedText(std::string text)  // NOLINT: as a string in all but memory
        : text_(text.empty() ? nullptr : std::make_shared<const std::string>(std::move(text))) {}

    const std::string& get() const {
        static const std::string none;
        return text_ == nullptr ? none : *text_;
    }
    operator const std::string&() const { return get(); }  // NOLINT
    bool empty() const { return text_ == nullptr; }

private:
    std::shared_ptr<const std::string> text_;
};

struct TraceList {
    enum class Kind : uint8_t { memcpy, launch };
    struct Command {
        Kind kind;
        SharedText path;  // of a launch: its trace, which is a file; one file may be launched repeatedly
        uint64_t address = 0, bytes = 0;  // of a copy from host to device
        int64_t number = -1;  // of a launch: N of kernel-N or Kernel<N>, the tracer's; -1 where there is none
    };
    std::vector<Command> commands;
    uint64_t launches = 0;  // a launch index counts them from 0
};

// Reads a list, or a folder of traces, in the format that recognises it. File names are relative to the list. Throws
// TraceError: no list, no launch in it, a trace that does not exist, or what else its format refuses.
TraceList read_trace_list(const std::string& path);

}  // namespace kernelpoint
