// Independent pieces of work on several threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace kernelpoint {

constexpr std::chrono::milliseconds kBetweenReports{100};

// Calls work(0) to work(count - 1), each once, on `threads` threads, or on as many as can be had. The caller's thread
// calls `report`, with the pieces that are done, about ten times a second. The first exception of `work` or of `report`
// is thrown: the pieces end at their next interruption point, and the others are left out.
void in_parallel(uint64_t count, unsigned threads, const std::function<void(uint64_t)>& work,
                 const std::function<void(uint64_t)>& report);

}  // namespace kernelpoint
