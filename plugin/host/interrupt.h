// SIGINT and SIGTERM ask the run to end at the next check. A second signal ends the process at once.
#pragma once

#include "native/trace/interruption.h"

namespace kernelpoint::host {

void catch_signals();
// Throws Interrupted once a signal has come.
void check_interrupt();

}  // namespace kernelpoint::host
