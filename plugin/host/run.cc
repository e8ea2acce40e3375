#include "host/run.h"

#include <optional>
#include <set>

#include "host/interrupt.h"

namespace kernelpoint::host {
namespace {

constexpr fast_model::Cycles kCyclesBetweenChecks = 10000;

}  // namespace

Run::Run(const fast_model::GpuConfig& config, const TraceList& list, Results& results)
    : list_(list), gpu_(config), results_(results), progress_(list.launches) {
    for (size_t i = 0; i < list.commands.size(); ++i) {
        if (list.commands[i].kind == TraceList::Kind::launch) launches_.push_back(i);
    }
}

void Run::all() {
    progress_.begin_full_run();
    for (uint64_t launch = 0; launch < launches_.size(); ++launch) {
        keep_state(launch);
        simulate(launch, 0, [] {});
    }
}

uint64_t Run::sampled(SamplingHook& hook) {
    std::set<uint64_t> failed;
    const auto trace_of = [this](uint64_t launch) {
        check_interrupt();
        return list_.commands[launches_[launch]].path;
    };
    while (hook.next(trace_of)) {
        const uint64_t launch = hook.launch();
        if (hook.replays()) {
            replay_state(hook.replay_before());
        } else {
            keep_state(launch);
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
            if (hook.wants_stop(gpu_)) gpu_.stop_issuing();
        });
        hook.complete(gpu_.result());
        return true;
    } catch (const TraceError& error) {
        reason = error.what();
    } catch (const fast_model::LaunchError& error) {
        reason = error.what();
    }
    gpu_.abandon();
    std::fprintf(stderr, "kernelpoint-host: launch %llu failed: %s\n", static_cast<unsigned long long>(launch),
                 reason.c_str());
    hook.abort(reason);
    return false;
}

// `at_interval` is called every `interval` cycles while the launch runs, unless `interval` is 0.
void Run::simulate(uint64_t launch, fast_model::Cycles interval, const std::function<void()>& at_interval) {
    position_ = launches_[launch] + 1;
    const std::string& path = list_.commands[launches_[launch]].path;
    gpu_.start(path);
    fast_model::Cycles check_at = kCyclesBetweenChecks, report_at = interval ? interval : fast_model::kNever;
    while (!gpu_.advance(std::min(check_at, report_at))) {
        if (gpu_.cycles() >= report_at) {
            at_interval();
            report_at += interval;
        }
        if (gpu_.cycles() >= check_at) {
            check_interrupt();
            progress_.show(launch, results_.cycles() + gpu_.cycles());
            check_at += kCyclesBetweenChecks;
        }
    }
    results_.add(launch, path, gpu_.result());
    progress_.show(launch, results_.cycles());
    check_interrupt();
}

// A launch begins with what the GPU holds, and the copies behind the launch before it.
void Run::keep_state(uint64_t launch) {
    for (; position_ < launches_[launch]; ++position_) {
        const TraceList::Command& command = list_.commands[position_];
        if (command.kind == TraceList::Kind::memcpy) gpu_.copy_from_host(command.address, command.bytes);
    }
}

// The launch begins with what all launches before it in the list leave, whatever this process has simulated.
void Run::replay_state(const kp_replay& replay) {
    gpu_.empty_state();
    for (const kp_touch* touch = replay.touches; touch != replay.touches + replay.touch_count; ++touch) {
        if (touch->copied) {
            gpu_.copy_from_host(touch->line, KP_LINE_BYTES);
        } else {
            gpu_.touch({touch->line / KP_LINE_BYTES, touch->touched}, touch->written);
        }
    }
}

}  // namespace kernelpoint::host
