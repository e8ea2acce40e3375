#include "host/interrupt.h"

#include <csignal>

namespace kernelpoint::host {
namespace {

volatile std::sig_atomic_t signalled = 0;

void remember(int) {
    signalled = 1;
}

}  // namespace

void catch_signals() {
    struct sigaction action = {};
    action.sa_handler = remember;
    action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
}

void check_interrupt() {
    if (signalled) throw Interrupted();
}

}  // namespace kernelpoint::host
