#include "native/replay/sm_states.h"

#include "native/registered.h"
#include "native/trace/format.h"

namespace kernelpoint::replay {

const SmStateProvider& sm_state_provider(const std::string& trace_path) {
    const char* const format = format_of_launch(trace_path).name();
    const SmStateProvider* found = implementation<SmStateProvider>(format);
    if (found == nullptr)
        throw TraceError(trace_path, 0, std::string("is in the format of ") + format + ", which tells no SMs apart");
    return *found;
}

}  // namespace kernelpoint::replay
