// Ending a long reading from outside, within moments: readers call interruption_point() for every block that they read
// or decompress. A few bytes may decompress to endless text, so between two launches, or two CTAs, is not often enough.
#pragma once

#include <functional>
#include <utility>

namespace kernelpoint {

// Exception of an interruption. It is no std::exception, so that no handler mistakes it for an unreadable trace.
struct Interrupted {};

// Calls `check` at every interruption point of this thread while it exists, before older ones. `check` ends the
// reading by throwing.
class Interruption {
public:
    explicit Interruption(std::function<void()> check) : check_(std::move(check)), outer_(innermost) { innermost = this; }
    ~Interruption() { innermost = outer_; }
    Interruption(const Interruption&) = delete;
    Interruption& operator=(const Interruption&) = delete;

private:
    friend inline void interruption_point();
    inline static thread_local const Interruption* innermost = nullptr;
    const std::function<void()> check_;
    const Interruption* const outer_;
};

inline void interruption_point() {
    for (const Interruption* each = Interruption::innermost; each != nullptr; each = each->outer_) each->check_();
}

}  // namespace kernelpoint
