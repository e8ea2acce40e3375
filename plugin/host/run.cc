#include "host/run.h"

#include "host/interrupt.h"
#include "kernelpoint/printable.hpp"

namespace kernelpoint::host {

Run::Run(const fast_model::GpuConfig& config, const TraceList& list, Results& results)
    : walk_(config, list), results_(results), progress_(list.launches) {}

void Run::all() {
    progress_.begin_full_run();
    for (uint64_t launch = 0; launch < walk_.launches(); ++launch) {
        walk_.keep_state(launch);
        simulate(launch, 0, [] {});
    }
}

uint64_t Run::sampled(SamplingHook& hook) {
    std::set<uint64_t> failed;
    const auto trace_of = [this](uint64_t launch) {
        check_interrupt();
        return walk_.path(launch);
    };
    while (hook.next(trace_of)) {
        const uint64_t launch = hook.launch();
        if (hook.replays()) {
            replay_state(hook.replay_before());
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
    std::string reason;
    try {
        simulate(launch, hook.progress_interval(), [&] {
            if (hook.wants_stop(walk_.gpu())) walk_.gpu().stop_issuing();
        });
        hook.complete(walk_.gpu().result());
        return true;
    } catch (const TraceError& error) {
        reason = error.what();
    } catch (const fast_model::LaunchError& error) {
        reason = error.what();
    }
    walk_.gpu().abandon();
    if (named_.insert(reason).second) {
        std::fprintf(stderr, "kernelpoint-host: launch %llu failed: %s\n", static_cast<unsigned long long>(launch),
                     printable(reason).c_str());
    }
    hook.abort(reason);
    return false;
}

void Run::simulate(uint64_t launch, fast_model::Cycles interval, const std::function<void()>& at_interval) {
    const fast_model::LaunchResult& result = walk_.simulate(launch, interval, at_interval, [&] {
        check_interrupt();
        progress_.show(launch, results_.cycles() + walk_.gpu().cycles());
    });
    results_.add(launch, walk_.path(launch), result);
    progress_.show(launch, results_.cycles());
    check_interrupt();
}

// The launch begins with what all launches before it in the list leave, whatever this process has simulated.
void Run::replay_state(const kp_replay& replay) {
    fast_model::Gpu& gpu = walk_.gpu();
    gpu.empty_state();
    for (const kp_touch* touch = replay.touches; touch != replay.touches + replay.touch_count; ++touch) {
        if (touch->copied) {
            gpu.copy_from_host(touch->line, KP_LINE_BYTES);
        } else {
            gpu.touch({touch->line / KP_LINE_BYTES, touch->touched}, touch->written);
        }
    }
}

}  // namespace kernelpoint::host
