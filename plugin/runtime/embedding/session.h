// A session as the host holds it: the Python object behind it, its log, and the text it has handed out.
#pragma once

#include <pybind11/pybind11.h>

#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "kernelpoint/state.h"

// A session. It is never freed: a host may end at any time, and Python objects must not be touched then.
struct kp_session {
    std::mutex mutex;
    pybind11::object object;
    kp_log_fn log = nullptr;
    void* log_user = nullptr;
    pybind11::tuple counter_names;  // of every result
    // Results of kp_state.before, the last ones: the arrays, and copies of those whose elements the host knows larger.
    pybind11::object touches, grids, bytes;
    std::string larger_touches, larger_grids;
    // Text that was handed out; it stays where it is.
    std::unordered_set<std::string> texts;
    // Results of `finish`: the summary and the estimates of the run, then those of each process.
    struct Finished {
        kp_summary summary;
        std::vector<kp_estimate> estimates;
    };
    std::vector<Finished> finished;
    // Result of `cost`, the last one.
    std::vector<double> launch_counters;

    const char* keep(const std::string& text) { return texts.insert(text).first->c_str(); }
};

namespace kernelpoint::embedding {

// Passes text to the host's log line by line; to standard error if the host has none.
void write_lines(const kp_session* session, const std::string& text);

// Hand one line that Python code printed to the log of the session whose call is running on this thread; to standard
// error where none is (a thread that Python code started).
void write_line(pybind11::object line);

// The session whose call is running on this thread, or NULL.
extern thread_local const kp_session* t_current_session;

}  // namespace kernelpoint::embedding
