// One line about the run on standard error, rewritten in place; only on a terminal.
#pragma once

#include <chrono>
#include <cstdint>

namespace kernelpoint::host {

class Progress {
public:
    explicit Progress(uint64_t launches);
    ~Progress();  // clears the line
    void show(uint64_t launch_index, uint64_t cycles);

private:
    const uint64_t launches_;
    const bool terminal_;
    std::chrono::steady_clock::time_point shown_at_;
};

}  // namespace kernelpoint::host
