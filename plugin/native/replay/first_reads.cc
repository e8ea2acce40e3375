#include "native/replay/first_reads.h"

namespace kernelpoint::replay {

// Model: a launch reads what it stores to only where it reads it alone as well: a store allocates without a read.
void FirstReads::add_trace(const std::vector<LineTouch>& touches) {
    for (const LineTouch& touch : touches) {
        const uint8_t known = filled_.filled(touch);
        const auto read = static_cast<uint8_t>(touch.filled & ~touch.written & ~known);
        if (read != 0) reads_.push_back({{touch.line, read, 0, read, 0, Path::data}, false});
        if ((touch.filled & ~known) != 0) filled_.add({touch, false});
    }
    ends_.push_back(reads_.size());
}

void FirstReads::add_copy(uint64_t first_line, uint64_t last_line) {
    for (uint64_t line = first_line;; ++line) {
        const Touch touch{{line, 0xf, 0, 0xf, 0, Path::data}, true};
        if (copied_.add(touch)) reads_.push_back(touch);
        if (line == last_line) break;
    }
    ends_.push_back(reads_.size());
}

void FirstReads::put_before(uint32_t sources, std::vector<Touch>& touches) const {
    if (sources == 0) return;
    touches.insert(touches.begin(), reads_.begin(), reads_.begin() + static_cast<std::ptrdiff_t>(ends_[sources - 1]));
}

}  // namespace kernelpoint::replay
