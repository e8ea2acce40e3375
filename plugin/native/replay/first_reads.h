// First reads of the launches of a list: what they read came from DRAM, and left its rows open.
#pragma once

#include <cstdint>
#include <vector>

#include "native/replay/seen_lines.h"

namespace kernelpoint::replay {

// Sources of the list (traces and copies) come in the order of their first events.
class FirstReads {
public:
    size_t sources() const { return ends_.size(); }
    void add_trace(const std::vector<LineTouch>& touches);
    void add_copy(uint64_t first_line, uint64_t last_line);

    // Puts the reads of the first `sources`, in their order, before what `touches` holds. A copy from the host comes
    // with them: the host knows where it copies to.
    void put_before(uint32_t sources, std::vector<Touch>& touches) const;

private:
    SeenLines filled_, copied_;
    std::vector<Touch> reads_;
    std::vector<size_t> ends_;  // of each source in `reads_`
};

}  // namespace kernelpoint::replay
