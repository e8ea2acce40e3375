#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>

#include "native/bindings/bindings.h"
#include "native/trace/format.h"
#include "native/trace/trace_list.h"

namespace py = pybind11;

namespace kernelpoint {

namespace {

py::tuple to_tuple(const Dim3& d) {
    return py::make_tuple(d.x, d.y, d.z);
}

void bind_header(py::module_& module) {
    py::class_<LaunchHeader>(module, "LaunchHeader")
        .def_readonly("kernel_name", &LaunchHeader::kernel_name)
        .def_readonly("kernel_id", &LaunchHeader::kernel_id)
        .def_property_readonly("grid", [](const LaunchHeader& h) { return to_tuple(h.grid); })
        .def_property_readonly("block", [](const LaunchHeader& h) { return to_tuple(h.block); })
        .def_readonly("shared_memory", &LaunchHeader::shared_memory)
        .def_readonly("registers", &LaunchHeader::registers)
        .def_readonly("binary_version", &LaunchHeader::binary_version)
        .def_readonly("stream_id", &LaunchHeader::stream_id)
        .def_readonly("shared_base", &LaunchHeader::shared_base)
        .def_readonly("local_base", &LaunchHeader::local_base)
        .def_readonly("nvbit_version", &LaunchHeader::nvbit_version)
        .def_readonly("tracer_version", &LaunchHeader::tracer_version);
}

template <typename T>
py::array_t<T> to_array(const std::vector<T>& values) {
    return py::array_t<T>(static_cast<py::ssize_t>(values.size()), values.data());
}

py::dict cta_to_dict(const Cta& cta) {
    py::dict item;
    item["index"] = to_tuple(cta.index);
    item["warps"] = to_array(cta.warps);
    item["instructions"] = to_array(cta.instructions);
    item["addresses"] = to_array(cta.addresses);
    item["bulk_copies"] = to_array(cta.bulk_copies);
    item["operand_values"] = to_array(cta.operand_values);
    item["values"] = to_array(cta.values);
    const Cluster& cluster = cta.cluster;
    item["cluster"] = py::make_tuple(to_tuple(cluster.index), to_tuple(cluster.cta), cluster.rank);
    return item;
}

py::tuple opcode_texts(const std::vector<Opcode>& opcodes) {
    py::list texts;
    for (const Opcode& opcode : opcodes) texts.append(opcode.text);
    return texts;
}

// Iterates over the CTAs of a trace; each is a dict of its index and numpy arrays of its own.
class CtaIterator {
public:
    CtaIterator(const std::string& path, bool keep_values) : reader_(open_trace(path, keep_values)) {}
    py::dict next() {
        {
            py::gil_scoped_release unlocked;
            const PythonSignals signals;
            if (!reader_->next(cta_)) ended_ = true;
        }
        if (ended_) throw py::stop_iteration();
        return cta_to_dict(cta_);
    }
    const LaunchHeader& header() const { return reader_->header(); }
    py::tuple opcodes() const { return opcode_texts(reader_->opcodes()); }

private:
    const std::unique_ptr<TraceReader> reader_;
    Cta cta_;
    bool ended_ = false;
};

void bind_ctas(py::module_& module) {
    PYBIND11_NUMPY_DTYPE(Warp, id, first_instruction, instruction_count);
    PYBIND11_NUMPY_DTYPE(Instruction, pc, active_mask, opcode, width, destination_count, source_count, destinations,
                         sources, first_address, address_count);
    PYBIND11_NUMPY_DTYPE(BulkCopy, instruction, barrier, bytes, bytes_outside, multicast);
    PYBIND11_NUMPY_DTYPE(OperandValues, instruction, first, per_lane);
    py::class_<CtaIterator>(module, "CtaIterator")
        .def("__iter__", [](py::object self) { return self; })
        .def("__next__", &CtaIterator::next)
        .def_property_readonly("header", &CtaIterator::header)
        .def_property_readonly("opcodes", &CtaIterator::opcodes);  // as text; grows while CTAs are read
    module.def(
        "read_ctas",
        [](const std::string& path, bool keep_values) { return std::make_unique<CtaIterator>(path, keep_values); },
        py::arg("path"), py::arg("keep_values") = false);
}

void bind_formats(py::module_& module) {
    module.def("trace_formats", [] {
        py::list names;
        for (const TraceFormat* format : implementations<TraceFormat>()) names.append(format->name());
        return py::tuple(names);
    });
    module.def("trace_format", [](const std::string& path) { return format_of_launch(path).name(); }, py::arg("path"));
    module.def(
        "launch_name", [](const std::string& path) { return format_of_launch(path).launch_name(path); },
        py::arg("path"));
    module.def(
        "is_list_name",
        [](const std::string& path) {
            return surest_format([&](const TraceFormat& format) {
                       return format.is_list_name(path) ? Match::certain : Match::none;
                   }) != nullptr;
        },
        py::arg("path"));
}

// (the distinct traces, the trace of every launch, the tracer's number of each trace, rows (position among the
// commands, address, bytes) of the copies)
py::tuple list_commands(const std::string& path) {
    Launches list;
    {
        py::gil_scoped_release unlocked;
        const PythonSignals signals;
        list = read_trace_list(path);
    }
    py::array_t<int32_t> contents(static_cast<py::ssize_t>(list.contents.size()));
    std::copy(list.contents.begin(), list.contents.end(), contents.mutable_data());
    py::array_t<uint64_t> copies({static_cast<py::ssize_t>(list.copies.size()), py::ssize_t{3}});
    uint64_t* out = copies.mutable_data();
    for (const Launches::Copy& copy : list.copies)
        for (const uint64_t number : {copy.command, copy.address, copy.bytes}) *out++ = number;
    return py::make_tuple(py::tuple(py::cast(list.paths)), contents, to_array(list.numbers), copies);
}

}  // namespace

Launches launches_of(const Numbers<int32_t>& contents, std::vector<std::string> paths,
                     const Numbers<uint64_t>& copies) {
    if (contents.ndim() != 1 || copies.ndim() != 2 || copies.shape(1) != 3)
        throw py::value_error("expected a content of each launch, and a row of three numbers of each copy");
    Launches launches;
    launches.contents.reserve(static_cast<size_t>(contents.size()));
    const auto content_of = contents.unchecked<1>();
    for (py::ssize_t i = 0; i < content_of.shape(0); ++i) {
        if (content_of(i) < -1 || content_of(i) >= static_cast<int64_t>(paths.size()))
            throw py::value_error("content of launch " + std::to_string(i) + ": got " + std::to_string(content_of(i)) +
                                  "; there are " + std::to_string(paths.size()));
        launches.contents.push_back(static_cast<uint32_t>(content_of(i)));
    }
    launches.paths = std::move(paths);
    const auto rows = copies.unchecked<2>();
    for (py::ssize_t i = 0; i < rows.shape(0); ++i) launches.copies.push_back({rows(i, 0), rows(i, 1), rows(i, 2)});
    return launches;
}

void register_traces(py::module_& module) {
    bind_header(module);
    bind_ctas(module);
    bind_formats(module);
    module.def(
        "read_header", [](const std::string& path) { return open_trace(path)->header(); }, py::arg("path"),
        py::call_guard<py::gil_scoped_release, PythonSignals>());
    module.def("read_trace_list", &list_commands, py::arg("path"));
}

}  // namespace kernelpoint
