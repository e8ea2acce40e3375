#include "host/progress.h"

#include <unistd.h>

#include <cinttypes>
#include <cstdio>

namespace kernelpoint::host {

Progress::Progress(uint64_t launches) : launches_(launches), terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
    if (terminal_) std::fputs("\r\033[K", stderr);
}

void Progress::show(uint64_t launch_index, uint64_t cycles) {
    if (!terminal_) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - shown_at_ < std::chrono::milliseconds(200)) return;
    shown_at_ = now;
    std::fprintf(stderr, "\r\033[Klaunch %" PRIu64 " of %" PRIu64 ", %.1f million cycles simulated", launch_index + 1,
                 launches_, static_cast<double>(cycles) / 1e6);
}

}  // namespace kernelpoint::host
