#include "runtime/embedding/host_state.h"

#include <errno.h>
#include <locale.h>

namespace kernelpoint::embedding {
namespace {

bool same(const struct sigaction& one, const struct sigaction& other) {
    if (one.sa_handler != other.sa_handler || one.sa_flags != other.sa_flags) return false;
    for (int number = 1; number <= kLastSignal; ++number)  // beyond it the C library leaves whatever was there
        if (sigismember(&one.sa_mask, number) != sigismember(&other.sa_mask, number)) return false;
    return true;
}

}  // namespace

HostState::HostState() : errno_(errno), locale_(setlocale(LC_ALL, nullptr)) {
    fegetenv(&floating_point_);
    fesetenv(FE_DFL_ENV);
}

HostState::~HostState() {
    fesetenv(&floating_point_);
    if (locale_ != setlocale(LC_ALL, nullptr)) setlocale(LC_ALL, locale_.c_str());
    errno = errno_;
}

HostSignals::HostSignals() : actions_{} {
    for (int number = 1; number <= kLastSignal; ++number)
        if (sigaction(number, nullptr, &actions_[number]) != 0) actions_[number].sa_flags = -1;
}

HostSignals::~HostSignals() {
    for (int number = 1; number <= kLastSignal; ++number) {
        struct sigaction now = {};
        if (actions_[number].sa_flags == -1 || sigaction(number, nullptr, &now) != 0) continue;
        if (!same(now, actions_[number])) sigaction(number, &actions_[number], nullptr);
    }
}

}  // namespace kernelpoint::embedding
