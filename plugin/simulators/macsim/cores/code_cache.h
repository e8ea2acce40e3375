// Instructions of a list's traces, read at the first use and kept within a bound on memory.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "simulators/macsim/cores/warp_code.h"

namespace kernelpoint::replay::macsim {

class CodeCache {
public:
    using Refuse = std::function<void(const std::string& reason)>;

    explicit CodeCache(uint64_t most_bytes) : most_bytes_(most_bytes) {}

    // The code of a trace, NULL where it cannot be read, which `refuse` hears; it lives until the next call.
    const LaunchCode* find(uint32_t trace, const std::string& path, const Refuse& refuse);

private:
    const uint64_t most_bytes_;
    uint64_t bytes_ = 0;
    std::unordered_map<uint32_t, LaunchCode> codes_;  // by trace
};

}  // namespace kernelpoint::replay::macsim
