#include "fast_model/list/walk.h"

#include <algorithm>

namespace kernelpoint::fast_model {
Walk::Walk(const GpuConfig& config, const TraceList& list) : list_(list), gpu_(config) {
    for (size_t i = 0; i < list.commands.size(); ++i) {
        if (list.commands[i].kind == TraceList::Kind::launch) launches_.push_back(i);
    }
}

void Walk::keep_state(uint64_t launch) {
    for (; position_ < launches_[launch]; ++position_) {
        const TraceList::Command& command = list_.commands[position_];
        if (command.kind == TraceList::Kind::memcpy) gpu_.copy_from_host(command.address, command.bytes);
    }
}

const LaunchResult& Walk::simulate(uint64_t launch, Cycles interval, const std::function<void()>& at_interval,
                                   const std::function<void()>& check) {
    position_ = launches_[launch] + 1;
    gpu_.start(path(launch));
    Cycles check_at = kCyclesBetweenChecks, report_at = interval ? interval : kNever;
    while (!gpu_.advance(std::min(check_at, report_at))) {
        if (gpu_.cycles() >= report_at) {
            at_interval();
            report_at += interval;
        }
        if (gpu_.cycles() >= check_at) {
            check();
            check_at += kCyclesBetweenChecks;
        }
    }
    return gpu_.result();
}

}  // namespace kernelpoint::fast_model
