#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <sys/stat.h>

#include <algorithm>

#include "native/bindings/bindings.h"
#include "native/trace/format.h"
#include "native/trace/scan.h"
#include "native/trace/stream_hash.h"

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

py::dict cta_to_dict(const Cta& cta) {
    py::dict item;
    item["index"] = to_tuple(cta.index);
    item["warps"] = array_of(cta.warps);
    item["instructions"] = array_of(cta.instructions);
    item["addresses"] = array_of(cta.addresses);
    item["bulk_copies"] = array_of(cta.bulk_copies);
    item["operand_values"] = array_of(cta.operand_values);
    item["values"] = array_of(cta.values);
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
        if (!without_gil([&] { return reader_->next(cta_); })) throw py::stop_iteration();
        return cta_to_dict(cta_);
    }
    const LaunchHeader& header() const { return reader_->header(); }
    py::tuple opcodes() const { return opcode_texts(reader_->opcodes()); }

private:
    const std::unique_ptr<TraceReader> reader_;
    Cta cta_;
};

void bind_ctas(py::module_& module) {
    PYBIND11_NUMPY_DTYPE(Warp, id, first_instruction, instruction_count);
    PYBIND11_NUMPY_DTYPE(Instruction, pc, active_mask, opcode, width, destination_count, source_count, destinations, sources,
                         first_address, address_count);
    PYBIND11_NUMPY_DTYPE(BulkCopy, instruction, barrier, bytes, bytes_outside, multicast);
    PYBIND11_NUMPY_DTYPE(OperandValues, instruction, first, per_lane);
    py::class_<CtaIterator>(module, "CtaIterator")
        .def("__iter__", [](py::object self) { return self; })
        .def("__next__", &CtaIterator::next)
        .def_property_readonly("header", &CtaIterator::header)
        .def_property_readonly("opcodes", &CtaIterator::opcodes);  // as text; grows while CTAs are read
    module.def(
        "read_ctas", [](const std::string& path, bool keep_values) { return std::make_unique<CtaIterator>(path, keep_values); },
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
        "launch_name", [](const std::string& path) { return format_of_launch(path).launch_name(path); }, py::arg("path"));
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
    const Launches list = without_gil([&] { return read_trace_list(path); });
    py::array_t<int32_t> contents(static_cast<py::ssize_t>(list.contents.size()));
    std::copy(list.contents.begin(), list.contents.end(), contents.mutable_data());
    py::array_t<uint64_t> copies({static_cast<py::ssize_t>(list.copies.size()), py::ssize_t{3}});
    uint64_t* out = copies.mutable_data();
    for (const Launches::Copy& copy : list.copies)
        for (const uint64_t number : {copy.command, copy.address, copy.bytes}) *out++ = number;
    return py::make_tuple(py::tuple(py::cast(list.paths)), contents, array_of(list.numbers), copies);
}

void bind_scan(py::module_& module) {
    py::class_<Work>(module, "Work")
        .def_readonly("instructions", &Work::instructions)
        .def_readonly("thread_instructions", &Work::thread_instructions)
        .def_readonly("ctas", &Work::ctas)
        .def_readonly("warps", &Work::warps)
        .def_readonly("global_accesses", &Work::global_accesses)
        .def_readonly("shared_accesses", &Work::shared_accesses)
        .def_readonly("unread_instructions", &Work::unread_instructions)
        .def_readonly("sectors", &Work::sectors)
        .def_readonly("bytes", &Work::bytes)
        .def_property_readonly("by_unit", [](const Work& work) {
            return py::tuple(py::cast(std::vector<uint64_t>(work.by_unit, work.by_unit + unit_count)));
        });
    py::class_<MetContents>(module, "MetContents").def(py::init([](const Numbers<uint64_t>& contents) {
        const auto rows = contents.unchecked<2>();  // as scan_many gives them
        if (rows.shape(1) != 4) throw py::value_error("contents: expected four numbers of each");
        auto met = std::make_unique<MetContents>();
        for (py::ssize_t i = 0; i < rows.shape(0); ++i) met->add({rows(i, 0), rows(i, 1)});
        return met;
    }));
    py::class_<Defects>(module, "Defects")
        .def_readonly("zero_addresses", &Defects::zero_addresses)
        .def_readonly("missing_warps", &Defects::missing_warps)
        .def_readonly("empty_warps", &Defects::empty_warps)
        .def_readonly("missing_barriers", &Defects::missing_barriers)
        .def_readonly("repeated_ctas", &Defects::repeated_ctas)
        .def_readonly("after_exit", &Defects::after_exit)
        .def_readonly("missing_exits", &Defects::missing_exits);
    py::class_<Scan>(module, "Scan")
        .def_readonly("header", &Scan::header)
        .def_readonly("work", &Scan::work)
        .def_readonly("defects", &Scan::defects)
        .def_readonly("unknown_opcodes", &Scan::unknown_opcodes)
        .def_readonly("store_data_left_out", &Scan::store_data_left_out)
        .def_property_readonly("stream", [](const Scan& scan) { return scan.stream.hex(); })
        .def_property_readonly("values", [](const Scan& scan) { return scan.values.hex(); });
}

// Content and result of each trace. Contents: uint64 [n, 4], hash in two parts, bytes of text (all ones where a trace has
// no content), and the launch's number in the header (all ones where it has none). Results: a Scan; the reason why the trace
// was refused as text; None where the content was met. `progress(done)` is called on this thread; an exception of it stops the
// scan, as Ctrl-C does.
py::tuple scan_many(const std::vector<std::string>& paths, unsigned threads, MetContents& met, const py::object& progress) {
    if (threads < 1) throw py::value_error("threads must be at least 1, got 0");
    const auto report = [&](uint64_t done) { tell(progress, done); };
    std::vector<ScanResult> results = without_gil([&] { return scan_traces(paths, threads, met, report); });
    tell(progress, paths.size());
    py::array_t<uint64_t> contents({static_cast<py::ssize_t>(paths.size()), py::ssize_t{4}});
    auto rows = contents.mutable_unchecked<2>();
    py::list scans;
    for (ScanResult& result : results) {
        const auto row = static_cast<py::ssize_t>(scans.size());
        rows(row, 0) = result.content ? result.content->hash.high : 0;
        rows(row, 1) = result.content ? result.content->hash.low : 0;
        rows(row, 2) = result.content ? result.content->bytes : UINT64_MAX;
        rows(row, 3) = result.content ? result.content->kernel_id : no_kernel_id;
        if (result.scan)
            scans.append(py::cast(std::move(*result.scan)));
        else if (!result.error.empty())
            scans.append(py::cast(result.error));
        else
            scans.append(py::none());
    }
    return py::make_tuple(contents, scans);
}

int64_t nanoseconds(const timespec& time) {
    return int64_t{time.tv_sec} * 1000000000 + time.tv_nsec;
}

struct SizeAndTime {
    int64_t size = -1, mtime_ns = -1;
    uint64_t version = 1;  // a hash of inodes and times: another file, or another content
    void mix_in(uint64_t number) { version = mix(version ^ number); }
    void add(const std::string& path) {
        struct stat status{};
        if (stat(path.c_str(), &status) != 0) return;
        mix_in(status.st_ino);
        mix_in(static_cast<uint64_t>(nanoseconds(status.st_mtim)));
        mix_in(static_cast<uint64_t>(nanoseconds(status.st_ctim)));
        if (S_ISREG(status.st_mode)) size = std::max<int64_t>(size, 0) + status.st_size;
        mtime_ns = std::max(mtime_ns, nanoseconds(status.st_mtim));
    }
};

SizeAndTime size_and_time(const std::string& path) {
    SizeAndTime result;
    result.add(path);
    if (result.size < 0) return {};
    for (const std::string& companion : format_of_launch(path).companions(path)) result.add(companion);
    return result;
}

// Rows (size, mtime in ns, version) of each path; -1, -1, -1 where it is not a file. The version is a hash of the time,
// of the inode and of the time of change, which a write that puts size and time back cannot put back, and a copy has
// not.
py::array_t<int64_t> stat_many(const std::vector<std::string>& paths) {
    py::array_t<int64_t> table({static_cast<py::ssize_t>(paths.size()), py::ssize_t{3}});
    auto rows = table.mutable_unchecked<2>();
    py::gil_scoped_release unlocked;
    for (size_t i = 0; i < paths.size(); ++i) {
        const auto row = static_cast<py::ssize_t>(i);
        const SizeAndTime found = size_and_time(paths[i]);
        rows(row, 0) = found.size;
        rows(row, 1) = found.mtime_ns;
        rows(row, 2) = found.size >= 0 ? static_cast<int64_t>(found.version >> 1) : -1;
    }
    return table;
}

}  // namespace

Launches launches_of(const Numbers<int32_t>& contents, std::vector<std::string> paths, const Numbers<uint64_t>& copies) {
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
    bind_scan(module);
    module.attr("STREAM_HASH_VERSION") = stream_hash_version;
    module.def(
        "scan", [](const std::string& path) { return scan_trace(path); }, py::arg("path"),
        py::call_guard<py::gil_scoped_release, PythonSignals>());
    module.def("scan_many", &scan_many, py::arg("paths"), py::arg("threads"), py::arg("met"), py::arg("progress") = py::none());
    module.attr("CONTENT_VERSION") = content_version;
    module.def("stat_many", &stat_many, py::arg("paths"));
}

}  // namespace kernelpoint
