// Independent pieces of work on several threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace kernelpoint {

constexpr std::chrono::milliseconds kBetweenCalls{100};  // of `goes_on`

// Calls work(0) to work(count - 1), each once, on `threads` threads, or on as many as can be had. The caller's thread
// asks `goes_on`, with the pieces that are done, about ten times a second. False if it said no: the pieces then end at
// their next interruption point, and the others are left out. The first exception of `work` is thrown.
bool in_parallel(uint64_t count, unsigned threads, const std::function<void(uint64_t)>& work,
                 const std::function<bool(uint64_t)>& goes_on);

}  // namespace kernelpoint
