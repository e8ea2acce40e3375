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

py::list counter_names(const kp_host& host) {
    py::list names;
    for (uint32_t i = 0; i < host.counter_count; ++i) names.append(text(host.counter_names[i]));
    return names;
}

// A description of the host's list, whose elements lie as far apart as the host's size of one says.
kp_description description(const kp_host& host, uint64_t index) {
    const uint32_t size = host.descriptions->size;
    kp_description copy{};
    std::memcpy(&copy, reinterpret_cast<const char*>(host.descriptions) + index * size,
                std::min<size_t>(size, sizeof(copy)));
    return copy;
}

py::list architectures(const kp_host& host) {
    py::list known;
    for (uint64_t i = 0; i < host.architecture_count; ++i) known.append(number(host.architectures[i]));
    return known;
}

template <typename Number>
py::bytes packed(const std::vector<Number>& numbers) {
    return py::bytes(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number));
}

// Columns of all descriptions, numbers packed, for kernelpoint.workload.host_info; None where there are none.
py::object descriptions(const kp_host& host) {
    if (host.descriptions == nullptr) return py::none();
    uint64_t count = 0;
    for (uint32_t process = 0; process < host.process_count; ++process) count += host.launch_counts[process];
    py::list names;
    std::vector<uint32_t> extents;
    std::vector<int64_t> shapes;
    std::vector<uint64_t> keys;
    std::vector<double> costs, features;
    for (uint64_t i = 0; i < count; ++i) {
        const kp_description one = description(host, i);
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

// Reads the host's statements of the extension kp_state.
void add_state(const kp_kept& kept, py::dict& fields) {
    fields["restores"] = py::bool_((kept.flags & KP_KEPT_RESTORES) != 0);
    fields["copies_fill"] = py::bool_((kept.flags & KP_KEPT_COPIES_FILL) != 0);
    fields["counts_ctas"] = py::bool_((kept.flags & KP_KEPT_COUNTS_CTAS) != 0);
    fields["keeps_rows"] = py::bool_((kept.flags & KP_KEPT_ROWS) != 0);
    fields["state_lines"] = number(kept.lines);
    fields["residency"] =
        py::make_tuple(kept.sms, kept.ctas_per_sm, kept.warps_per_sm, kept.registers_per_sm, kept.shared_memory_per_sm);
    fields["not_replayed"] = known_text(kept.not_replayed);
    // as text, since a worker sends it on as JSON
    fields["state_bytes"] = py::bytes(static_cast<const char*>(kept.bytes), kept.byte_count).attr("hex")();
}

}  // namespace

py::dict host_dictionary(const kp_host& host, const kp_kept* kept) {
    py::list paths, counts;
    for (uint32_t process = 0; process < host.process_count; ++process) {
        paths.append(path(host.list_paths != nullptr ? host.list_paths[process] : nullptr));
        counts.append(number(host.launch_counts != nullptr ? host.launch_counts[process] : 0));
    }
    const auto has = [&host](uint32_t flag) { return py::bool_((host.flags & flag) != 0); };
    py::dict fields;
    fields["simulator"] = known_text(host.simulator);
    fields["version"] = known_text(host.version);
    fields["config_hash"] = known_text(host.config_hash);
    fields["configuration"] = known_text(host.configuration);
    fields["has_no_traces"] = has(KP_HOST_NO_TRACES);
    fields["stateless"] = has(KP_HOST_STATELESS);
    fields["is_deterministic"] = has(KP_HOST_DETERMINISTIC);
    fields["concurrent"] = has(KP_HOST_CONCURRENT);
    fields["can_stop"] = has(KP_HOST_CAN_STOP);
    fields["executes"] = has(KP_HOST_EXECUTES);
    fields["needs_whole_traces"] = has(KP_HOST_NEEDS_WHOLE_TRACES);
    fields["process_count"] = number(host.process_count);
    fields["list_paths"] = paths;
    fields["launch_counts"] = counts;
    fields["counter_names"] = counter_names(host);
    fields["descriptions"] = descriptions(host);
    fields["architectures"] = architectures(host);
    if (kept != nullptr) add_state(*kept, fields);
    return fields;
}

}  // namespace kernelpoint::embedding
