// Progress of a run on standard error: a line rewritten in place on a terminal; in a log, lines ten seconds apart of a
// full run.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace kernelpoint::host {

class Progress {
public:
    explicit Progress(uint64_t launches);
    ~Progress();  // clears the line
    void begin_full_run();
    void show(uint64_t launch_index, uint64_t cycles);

private:
    using Time = std::chrono::steady_clock::time_point;

    std::string left(uint64_t launch_index, Time now) const;

    const uint64_t launches_;
    const bool terminal_;
    bool full_run_ = false;
    Time begun_, shown_at_;
};

}  // namespace kernelpoint::host
