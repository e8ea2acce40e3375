#include "host/progress.h"

#include <unistd.h>

#include <cinttypes>
#include <cstdio>

namespace kernelpoint::host {

Progress::Progress(uint64_t launches) : launches_(launches), terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
    if (terminal_) std::fputs("\r\033[K", stderr);
}

void Progress::begin_full_run() {
    full_run_ = true;
    begun_ = shown_at_ = std::chrono::steady_clock::now();
}

void Progress::show(uint64_t launch_index, uint64_t cycles) {
    if (!terminal_ && !full_run_) return;  // in a log, a sampled run is told of by the plugin
    const auto now = std::chrono::steady_clock::now();
    if (now - shown_at_ < (terminal_ ? std::chrono::milliseconds(200) : std::chrono::seconds(10))) return;
    shown_at_ = now;
    std::fprintf(stderr, "%slaunch %" PRIu64 " of %" PRIu64 ", %.1f million cycles simulated%s%s",
                 terminal_ ? "\r\033[K" : "kernelpoint-host: ", launch_index + 1, launches_,
                 static_cast<double>(cycles) / 1e6, left(launch_index, now).c_str(), terminal_ ? "" : "\n");
}

// Time left of a full run, at the rate of the launches before this one.
std::string Progress::left(uint64_t launch_index, Time now) const {
    if (!full_run_ || launch_index == 0) return "";
    const double seconds = std::chrono::duration<double>(now - begun_).count() / static_cast<double>(launch_index) *
                           static_cast<double>(launches_ - launch_index);
    char text[64];
    std::snprintf(text, sizeof text, ", about %.0f s left", seconds);
    return text;
}

}  // namespace kernelpoint::host
