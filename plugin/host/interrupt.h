// SIGINT and SIGTERM ask the run to end at the next check. A second signal ends the process at once.
#pragma once

#include <stdexcept>

namespace kernelpoint::host {

class Interrupted : public std::runtime_error {
public:
    Interrupted() : std::runtime_error("interrupted") {}
};

void catch_signals();
// Throws Interrupted once a signal has come.
void check_interrupt();

}  // namespace kernelpoint::host
