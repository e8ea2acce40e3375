#include "native/trace/scan.h"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <sys/stat.h>

#include "native/bindings/bindings.h"
#include "native/trace/content.h"
#include "native/trace/format.h"
#include "native/trace/mix.h"

namespace py = pybind11;

namespace kernelpoint {

namespace {

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
        if (rows.shape(1) != 3) throw py::value_error("contents: expected three numbers of each");
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

// Content and result of each trace. Contents: uint64 [n, 3], hash in two parts and bytes of text; all ones as bytes
// where a trace has none. Results: a Scan; the reason why the trace was refused as text; None where the content was
// met. `progress(done)` is called on this thread; what it raises stops the scan, as Ctrl-C does.
py::tuple scan_many(const std::vector<std::string>& paths, unsigned threads, MetContents& met,
                    const py::object& progress) {
    if (threads < 1) throw py::value_error("threads must be at least 1, got 0");
    std::vector<ScanResult> results;
    {
        const py::gil_scoped_release released;
        results = scan_traces(paths, threads, met, [&](uint64_t done) { tell(progress, done); });
    }
    tell(progress, paths.size());
    py::array_t<uint64_t> contents({static_cast<py::ssize_t>(paths.size()), py::ssize_t{3}});
    auto rows = contents.mutable_unchecked<2>();
    py::list scans;
    for (ScanResult& result : results) {
        const auto row = static_cast<py::ssize_t>(scans.size());
        rows(row, 0) = result.content ? result.content->hash.high : 0;
        rows(row, 1) = result.content ? result.content->hash.low : 0;
        rows(row, 2) = result.content ? result.content->bytes : UINT64_MAX;
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

void register_scan(py::module_& module) {
    bind_scan(module);
    module.attr("STREAM_HASH_VERSION") = stream_hash_version;
    module.def(
        "scan", [](const std::string& path) { return scan_trace(path); }, py::arg("path"),
        py::call_guard<py::gil_scoped_release, PythonSignals>());
    module.def("scan_many", &scan_many, py::arg("paths"), py::arg("threads"), py::arg("met"),
               py::arg("progress") = py::none());
    module.attr("CONTENT_VERSION") = content_version;
    module.def("stat_many", &stat_many, py::arg("paths"));
}

}  // namespace kernelpoint
