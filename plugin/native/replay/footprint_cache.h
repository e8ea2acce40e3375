// The footprints of a list's traces, read at the first use and kept packed within a bound on memory.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "native/replay/footprint.h"

namespace kernelpoint::replay {

// Store of packed footprints beyond this process. It is also told which traces cannot be read.
struct FootprintStore {
    std::function<bool(const std::string& path, std::string& packed)> load;
    std::function<void(const std::string& path, const std::string& packed)> save;
    std::function<void(const std::string& path, const std::string& reason)> refuse;  // once for each trace
};

// Reads the footprint of a trace. `by_sm`: keep the accesses of each SM apart (SmStateProvider). Throws TraceError.
Footprint read_footprint(const std::string& trace_path, const Residency& residency, bool by_sm);

class FootprintCache {
public:
    FootprintCache(size_t traces, const Residency& residency, bool by_sm, uint64_t memory_bytes, FootprintStore store);

    // Memory accesses of a trace, none if it cannot be read; valid until the next call.
    const std::vector<LineTouch>& touches(uint32_t trace, const std::string& path);
    // CTAs of a trace, none if it cannot be read.
    const Grid& grid(uint32_t trace, const std::string& path);
    // Marks a trace as unreadable, as another reader found.
    void refuse(uint32_t trace, const std::string& path, const std::string& reason);
    bool is_unreadable(uint32_t trace) const { return unreadable_[trace]; }
    uint64_t bytes() const { return bytes_; }

private:
    bool load(const std::string& path, std::string& packed);
    bool read(uint32_t trace, const std::string& path, std::string& packed);
    void keep(uint32_t trace, std::string packed);

    const Residency residency_;
    const bool by_sm_;
    const uint64_t most_bytes_;
    const FootprintStore store_;
    std::unordered_map<uint32_t, std::string> kept_;  // packed, by trace
    std::vector<bool> unreadable_;
    std::vector<std::optional<Grid>> grids_;  // of the traces met so far
    uint64_t bytes_ = 0;
    Footprint present_;
};

}  // namespace kernelpoint::replay
