#include "fast_model/list/walk.h"

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

}  // namespace kernelpoint::fast_model
