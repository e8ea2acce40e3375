#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <sys/stat.h>

#include <chrono>
#include <thread>
#include <unordered_map>

#include "native/bindings/bindings.h"
#include "native/trace/format.h"
#include "native/trace/scan.h"
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

void bind_scan(py::module_& module) {
    py::class_<Work>(module, "Work")
        .def_readonly("instructions", &Work::instructions)
        .def_readonly("thread_instructions", &Work::thread_instructions)
        .def_readonly("ctas", &Work::ctas)
        .def_readonly("warps", &Work::warps)
        .def_readonly("global_accesses", &Work::global_accesses)
        .def_readonly("shared_accesses", &Work::shared_accesses)
        .def_readonly("sectors", &Work::sectors)
        .def_readonly("bytes", &Work::bytes)
        .def_property_readonly("by_unit", [](const Work& work) {
            return py::tuple(py::cast(std::vector<uint64_t>(work.by_unit, work.by_unit + unit_count)));
        });
    py::class_<Scan>(module, "Scan")
        .def_readonly("header", &Scan::header)
        .def_readonly("work", &Scan::work)
        .def_readonly("unknown_opcodes", &Scan::unknown_opcodes)
        .def_readonly("store_data_left_out", &Scan::store_data_left_out)
        .def_property_readonly("stream", [](const Scan& scan) { return scan.stream.hex(); })
        .def_property_readonly("values", [](const Scan& scan) { return scan.values.hex(); });
}

using Clock = std::chrono::steady_clock;

// Waits for `finished` without the GIL; every 100 ms calls `progress(done)` and looks for Ctrl-C.
void watch(const std::atomic<bool>& finished, const std::atomic<size_t>& done, const py::object& progress) {
    for (auto next_call = Clock::now(); !finished;) {
        {
            py::gil_scoped_release unlocked;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        if (Clock::now() < next_call) continue;
        next_call = Clock::now() + std::chrono::milliseconds(100);
        if (PyErr_CheckSignals() != 0) throw py::error_already_set();
        if (!progress.is_none()) progress(done.load());
    }
}

// The results in the order of `paths`: a Scan, or the reason why the trace was refused as text. `progress(done)` is
// called on this thread; what it raises stops the scan, as Ctrl-C does.
py::list scan_many(const std::vector<std::string>& paths, unsigned threads, const py::object& progress) {
    if (threads < 1) throw py::value_error("threads must be at least 1, got 0");
    std::vector<ScanResult> results;
    std::atomic<bool> stop{false}, finished{false};
    std::atomic<size_t> done{0};
    std::thread worker([&] {
        scan_traces(paths, threads, results, stop, done);
        finished = true;
    });
    const auto end = [&](bool early) {
        py::gil_scoped_release unlocked;
        if (early) stop = true;
        worker.join();
    };
    try {
        watch(finished, done, progress);
    } catch (...) {
        end(true);
        throw;
    }
    end(false);
    if (!progress.is_none()) progress(done.load());
    py::list list;
    for (ScanResult& result : results) {
        if (result.error.empty())
            list.append(py::cast(std::move(result.scan)));
        else
            list.append(py::cast(result.error));
    }
    return list;
}

struct SizeAndTime {
    int64_t size = -1, mtime_ns = -1;
    void add(const std::string& path) {
        struct stat status{};
        if (stat(path.c_str(), &status) != 0) return;
        if (S_ISREG(status.st_mode)) size = std::max<int64_t>(size, 0) + status.st_size;
        mtime_ns = std::max(mtime_ns, int64_t{status.st_mtim.tv_sec} * 1000000000 + status.st_mtim.tv_nsec);
    }
};

SizeAndTime size_and_time(const std::string& path) {
    SizeAndTime result;
    result.add(path);
    if (result.size < 0) return {};
    for (const std::string& companion : format_of_launch(path).companions(path)) result.add(companion);
    return result;
}

// Rows (size, mtime in ns) of each path; -1, -1 where it is not a file.
py::array_t<int64_t> stat_many(const std::vector<std::string>& paths) {
    py::array_t<int64_t> table({static_cast<py::ssize_t>(paths.size()), py::ssize_t{2}});
    auto rows = table.mutable_unchecked<2>();
    py::gil_scoped_release unlocked;
    for (size_t i = 0; i < paths.size(); ++i) {
        const auto row = static_cast<py::ssize_t>(i);
        const SizeAndTime found = size_and_time(paths[i]);
        rows(row, 0) = found.size;
        rows(row, 1) = found.mtime_ns;
    }
    return table;
}

template <typename T>
py::array_t<T> to_array(const std::vector<T>& values) {
    return py::array_t<T>(static_cast<py::ssize_t>(values.size()), values.data());
}

}  // namespace

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

namespace {

// Iterates over the CTAs of a trace; each is a dict of its index and numpy arrays of its own.
class CtaIterator {
public:
    CtaIterator(const std::string& path, bool keep_values) : reader_(path, keep_values) {}
    py::dict next() {
        {
            py::gil_scoped_release unlocked;
            const PythonSignals signals;
            if (!reader_.next(cta_)) ended_ = true;
        }
        if (ended_) throw py::stop_iteration();
        return cta_to_dict(cta_);
    }
    const LaunchHeader& header() const { return reader_.header(); }
    py::tuple opcodes() const { return opcode_texts(reader_.opcodes()); }

private:
    TraceReader reader_;
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
        for (const TraceFormat* format : trace_formats()) names.append(format->name());
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

// (the trace of every launch, the tracer's number of each, rows (position among the commands, address, bytes) of the
// copies)
py::tuple list_commands(const std::string& path) {
    TraceList list;
    {
        py::gil_scoped_release unlocked;
        const PythonSignals signals;
        list = read_trace_list(path);
    }
    py::list paths;
    std::unordered_map<std::string_view, py::object> known;  // launches of one trace share its text
    std::vector<uint64_t> copies;
    std::vector<int64_t> numbers;
    for (size_t i = 0; i < list.commands.size(); ++i) {
        const TraceList::Command& command = list.commands[i];
        if (command.kind == TraceList::Kind::launch) {
            const auto [text, added] = known.try_emplace(command.path.get());
            if (added) text->second = py::cast(std::string(command.path.get()));
            paths.append(text->second);
            numbers.push_back(command.number);
        } else {
            copies.insert(copies.end(), {i, command.address, command.bytes});
        }
    }
    py::array_t<uint64_t> rows({static_cast<py::ssize_t>(copies.size() / 3), py::ssize_t{3}}, copies.data());
    return py::make_tuple(paths, to_array(numbers), rows);
}

}  // namespace

void register_traces(py::module_& module) {
    bind_header(module);
    bind_scan(module);
    bind_ctas(module);
    bind_formats(module);
    module.attr("STREAM_HASH_VERSION") = stream_hash_version;
    module.def(
        "read_header", [](const std::string& path) { return TraceReader(path).header(); }, py::arg("path"),
        py::call_guard<py::gil_scoped_release, PythonSignals>());
    module.def("scan", &scan_trace, py::arg("path"), py::call_guard<py::gil_scoped_release, PythonSignals>());
    module.def("scan_many", &scan_many, py::arg("paths"), py::arg("threads"), py::arg("progress") = py::none());
    module.def("stat_many", &stat_many, py::arg("paths"));
    module.def("read_trace_list", &list_commands, py::arg("path"));
}

}  // namespace kernelpoint
