#include "host/run.h"

#include <unistd.h>

#include <cinttypes>
#include <cstdio>

#include "kernelpoint/printable.hpp"
#include "native/trace/interruption.h"

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

Run::Run(const fast_model::GpuConfig& config, const Launches& list, Results& results)
    : walk_(config, list), results_(results), progress_(list.contents.size()) {}

void Run::all() {
    progress_.begin_full_run();
    for (uint64_t launch = 0; launch < walk_.launches(); ++launch) {
        walk_.keep_state(launch);
        simulate(launch, 0, [] {});
    }
}

uint64_t Run::sampled(SamplingHook& hook) {
    std::set<uint64_t> failed;
    while (hook.next()) {
        interruption_point();
        const uint64_t launch = hook.launch();
        if (hook.replays()) {
            // The launch begins with what all launches before it in the list leave, whatever this process has
            // simulated.
            const kp_replay before = hook.replay_before();
            walk_.gpu().replay(before.touches, before.touch_count);
        } else {
            walk_.keep_state(launch);
        }
        if (simulate_sampled(hook)) {
            failed.erase(launch);
        } else {
            failed.insert(launch);
        }
    }
    return failed.size();
}

bool Run::simulate_sampled(SamplingHook& hook) {
    const uint64_t launch = hook.launch();
    try {
        simulate(launch, hook.progress_interval(), [&] {
            if (hook.wants_stop(walk_.gpu())) walk_.gpu().stop_issuing();
        });
        hook.complete(walk_.gpu().result());
        return true;
    } catch (const TraceError& error) {
        if (named_.insert(error.what()).second) {
            std::fprintf(stderr, "kernelpoint-host: launch %llu failed: %s\n", static_cast<unsigned long long>(launch),
                         printable(error.what()).c_str());
        }
        hook.abort(error.what());
        return false;
    }
}

void Run::simulate(uint64_t launch, fast_model::Cycles interval, const std::function<void()>& at_interval) {
    const Interruption progress([&] { progress_.show(launch, results_.cycles() + walk_.gpu().cycles()); });
    results_.add(launch, walk_.path(launch), walk_.simulate(launch, interval, at_interval));
    interruption_point();
}

}  // namespace kernelpoint::host
