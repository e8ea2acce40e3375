#include "host_state.h"

#include <errno.h>
#include <locale.h>

namespace kp::embedding {

HostState::HostState() : errno_(errno), locale_(setlocale(LC_ALL, nullptr)) {
    fegetenv(&floating_point_);
    fesetenv(FE_DFL_ENV);
}

HostState::~HostState() {
    fesetenv(&floating_point_);
    if (locale_ != setlocale(LC_ALL, nullptr)) setlocale(LC_ALL, locale_.c_str());
    errno = errno_;
}

HostSignals::HostSignals() {
    for (int number = 1; number <= kLast; ++number)
        if (sigaction(number, nullptr, &actions_[number]) != 0) actions_[number].sa_flags = -1;
}

HostSignals::~HostSignals() {
    for (int number = 1; number <= kLast;
         ++number)  // fails, as it should, for the C library's own and SIGKILL, SIGSTOP
        if (actions_[number].sa_flags != -1) sigaction(number, &actions_[number], nullptr);
}

}  // namespace kp::embedding
