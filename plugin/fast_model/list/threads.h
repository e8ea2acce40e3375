// Independent pieces of work on several threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace kernelpoint::fast_model {

constexpr std::chrono::milliseconds kBetweenCalls{100};  // of `goes_on`

// Calls work(0) to work(count - 1), each once, on `threads` threads; `goes_on` is asked by the caller's thread about
// ten times a second. False if it said no: what had not begun by then is left out. What `work` throws first is thrown.
bool in_parallel(uint64_t count, unsigned threads, const std::function<void(uint64_t)>& work,
                 const std::function<bool()>& goes_on);

}  // namespace kernelpoint::fast_model
