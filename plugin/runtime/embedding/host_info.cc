#include <algorithm>
#include <cstring>
#include <vector>

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

// A description of the host's list, whose elements lie as far apart as the host's size of one says.
kp_description description(const kp_host_info& info, uint64_t index) {
    const uint32_t size = info.descriptions->size;
    kp_description copy{};
    std::memcpy(&copy, reinterpret_cast<const char*>(info.descriptions) + index * size,
                std::min<size_t>(size, sizeof(copy)));
    return copy;
}

py::list architectures(const kp_host_info& info) {
    py::list known;
    for (uint64_t i = 0; i < info.architecture_count; ++i) known.append(number(info.architectures[i]));
    return known;
}

template <typename Number>
py::bytes packed(const std::vector<Number>& numbers) {
    return py::bytes(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number));
}

// Columns of all descriptions, numbers packed, for kernelpoint.workload.host_info; None where there are none.
py::object descriptions(const kp_host_info& info) {
    if (info.description_count == 0) return py::none();
    py::list names;
    std::vector<uint32_t> extents;
    std::vector<int64_t> shapes;
    std::vector<uint64_t> keys;
    std::vector<double> costs, features;
    for (uint64_t i = 0; i < info.description_count; ++i) {
        const kp_description one = description(info, i);
        names.append(known_text(one.name));
        extents.push_back(one.shape_count);
        shapes.insert(shapes.end(), one.shape, one.shape + one.shape_count);
        keys.push_back(one.key);
        costs.push_back(one.cost);
        features.insert(features.end(), one.features, one.features + one.feature_count);
    }
    py::dict columns;
    columns["names"] = names;
    columns["extents"] = packed(extents);
    columns["shapes"] = packed(shapes);
    columns["keys"] = packed(keys);
    columns["costs"] = packed(costs);
    columns["features"] = packed(features);
    return columns;
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
    fields["has_no_traces"] = py::bool_((info.flags & KP_HOST_NO_TRACES) != 0);
    fields["is_deterministic"] = py::bool_((info.flags & KP_HOST_DETERMINISTIC) != 0);
    fields["restores"] = py::bool_((info.flags & KP_HOST_RESTORES) != 0);
    fields["executes"] = py::bool_((info.flags & KP_HOST_EXECUTES) != 0);
    fields["stateless"] = py::bool_((info.flags & KP_HOST_STATELESS) != 0);
    fields["descriptions"] = descriptions(info);
    fields["state_lines"] = number(info.state_lines);
    fields["predictor"] = py::make_tuple(number(info.predictor_history_bits), number(info.predictor_counter_bits));
    fields["residency"] =
        py::make_tuple(info.sms, info.ctas_per_sm, info.warps_per_sm, info.registers_per_sm, info.shared_memory_per_sm);
    fields["process_count"] = number(info.process_count);
    fields["counter_names"] = counter_names(info);
    fields["list_paths"] = paths;
    fields["launch_counts"] = counts;
    fields["configuration"] = known_text(info.configuration);
    fields["not_replayed"] = known_text(info.not_replayed);
    fields["architectures"] = architectures(info);
    return fields;
}

}  // namespace kernelpoint::embedding
