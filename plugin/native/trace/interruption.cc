#include "native/trace/interruption.h"

#include <utility>

namespace kernelpoint {

namespace {
thread_local const Interruption* innermost = nullptr;
}

Interruption::Interruption(std::function<void()> check) : check_(std::move(check)), outer_(innermost) {
    innermost = this;
}

Interruption::~Interruption() {
    innermost = outer_;
}

void interruption_point() {
    if (innermost != nullptr) innermost->check_();
}

}  // namespace kernelpoint
