// A session as the host holds it: the Python object behind it, its log, and the text it has handed out.
#pragma once

#include <pybind11/pybind11.h>

#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "kernelpoint/abi.h"

// Never freed: a host may leave in any way at any time, and Python objects must not be touched then.
struct kp_session {
    std::mutex mutex;
    pybind11::object object;
    kp_log_fn log = nullptr;
    void* log_user = nullptr;
    // Counter names of the last result, as C++ and as a Python tuple: they are the same for every result of a run.
    std::vector<std::string> counter_names;
    pybind11::object counter_tuple;
    // Results of kp_replay_before, the last ones, and the arrays that they point into.
    pybind11::object touches, predictor_arrays, grids;
    std::vector<kp_predictor> predictors;
    // Text that was handed out; it stays where it is.
    std::unordered_set<std::string> texts;
    // Results of kp_finish: the estimates of the run, and the counts and estimates of each process.
    bool finished = false;
    std::vector<kp_estimate> estimates;
    std::vector<kp_process> processes;
    std::vector<std::vector<kp_estimate>> process_estimates;
    // Result of kp_launch_estimate, the last one.
    std::vector<double> launch_counters;

    const char* keep(const std::string& text) { return texts.insert(text).first->c_str(); }
};

namespace kernelpoint::embedding {

// Hand text to a host's log line by line; standard error where the host has none.
void write_lines(const kp_session* session, const std::string& text);

// Hand one line that Python code printed to the log of the session whose call is running on this thread; to standard
// error where none is (a thread that Python code started).
void write_line(pybind11::object line);

// The session whose call is running on this thread, or NULL.
extern thread_local const kp_session* t_current_session;

}  // namespace kernelpoint::embedding
