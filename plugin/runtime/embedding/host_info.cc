#include "runtime/embedding/host_info.h"

#include "runtime/embedding/call.h"

namespace py = pybind11;

namespace kernelpoint::embedding {
namespace {

py::object known_text(const char* bytes) {
    return text(bytes != nullptr ? bytes : "");
}

py::object counter_names(const kp_host_info& info) {
    if (!(info.flags & KP_HOST_NAMES_COUNTERS)) return py::none();
    py::list names;
    for (uint32_t i = 0; i < info.counter_count; ++i) names.append(text(info.counter_names[i]));
    return names;
}

}  // namespace

py::dict host_dictionary(const kp_host_info& info) {
    py::list paths, counts;
    for (uint32_t process = 0; process < info.process_count; ++process) {
        paths.append(path(info.list_paths != nullptr ? info.list_paths[process] : nullptr));
        counts.append(number(info.launch_counts != nullptr ? info.launch_counts[process] : 0));
    }
    py::dict fields;
    fields["simulator"] = known_text(info.simulator);
    fields["version"] = known_text(info.version);
    fields["config_hash"] = known_text(info.config_hash);
    fields["concurrent"] = py::bool_((info.flags & KP_HOST_CONCURRENT) != 0);
    fields["can_stop"] = py::bool_((info.flags & KP_HOST_CAN_STOP) != 0);
    fields["copies_fill"] = py::bool_((info.flags & KP_HOST_COPIES_FILL) != 0);
    fields["counts_ctas"] = py::bool_((info.flags & KP_HOST_COUNTS_CTAS) != 0);
    fields["keeps_rows"] = py::bool_((info.flags & KP_HOST_KEEPS_ROWS) != 0);
    fields["keeps_l1"] = py::bool_((info.flags & KP_HOST_KEEPS_L1) != 0);
    fields["needs_whole_traces"] = py::bool_((info.flags & KP_HOST_NEEDS_WHOLE_TRACES) != 0);
    fields["state_lines"] = number(info.state_lines);
    fields["predictor"] = py::make_tuple(number(info.predictor_history_bits), number(info.predictor_counter_bits));
    fields["residency"] =
        py::make_tuple(info.sms, info.ctas_per_sm, info.warps_per_sm, info.registers_per_sm, info.shared_memory_per_sm);
    fields["process_count"] = number(info.process_count);
    fields["counter_names"] = counter_names(info);
    fields["list_paths"] = paths;
    fields["launch_counts"] = counts;
    fields["configuration"] = known_text(info.configuration);
    return fields;
}

}  // namespace kernelpoint::embedding
