// Ending a long reading from outside, within moments: readers call interruption_point() for every block that they read
// or decompress. A few bytes may decompress to endless text, so between two launches, or two CTAs, is not often enough.
#pragma once

#include <functional>

namespace kernelpoint {

// Thrown by checks: no std::exception, so that nothing takes it for a trace that cannot be read.
struct Interrupted {};

// While it lives, `check` is called at every interruption point that this thread passes; it ends the reading by
// throwing. The innermost one counts.
class Interruption {
public:
    explicit Interruption(std::function<void()> check);
    ~Interruption();
    Interruption(const Interruption&) = delete;
    Interruption& operator=(const Interruption&) = delete;

private:
    friend void interruption_point();
    const std::function<void()> check_;
    const Interruption* const outer_;
};

void interruption_point();

}  // namespace kernelpoint
