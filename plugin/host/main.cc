// kernelpoint-host: a small deterministic trace-driven GPU simulator that carries the KernelPoint plugin. It exists for
// the demonstration, for tests and for statistics; its cycles are not validated against hardware.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <climits>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "fast_model/configuration/derive.h"
#include "fast_model/list/run.h"
#include "kernelpoint/client.hpp"
#include "kernelpoint/descriptors.h"
#include "kernelpoint/printable.hpp"
#include "native/trace/interruption.h"

namespace kernelpoint::host {
namespace {

using fast_model::ConfigError;
using fast_model::GpuConfig;
using fast_model::kCounterFields;
using fast_model::LaunchResult;

// ---- the command line

struct Arguments {
    std::string trace;                // kernelslist.g, or a folder of traces
    std::vector<std::string> config;  // files of the simulated GPU: one of the model's own, or a simulator's
    std::string kernel_sampling;      // YAML file of the plugin; empty: simulate every launch
    std::string results;              // CSV to write; empty: none
    bool help = false;
};

const char* const kUsage =
    "usage: kernelpoint-host -trace LIST -config CONFIG... [-kernel_sampling FILE] [-results FILE]\n"
    "\n"
    "Simulates the kernel launches of an Accel-Sim trace list on a small model of a GPU. Not validated against "
    "hardware.\n"
    "\n"
    "  -trace LIST            kernelslist.g, or a folder of kernel-N.traceg files\n"
    "  -config CONFIG         the simulated GPU: a YAML file, one of the packaged v100, rtx, or what another "
    "simulator\n"
    "                         takes: Accel-Sim's gpgpusim.config and trace.config (-config twice), MacSim's params.in\n"
    "  -kernel_sampling FILE  sample launches as this YAML file says, or as a pack (.kppack), whose list is then "
    "taken;\n"
    "                         absent: simulate all\n"
    "  -results FILE          write cycles, instructions and counters of each simulated launch as CSV\n"
    "\n"
    "exit status: 0 done; 1 refused input; 3 no bound is stated because launches failed; 130 interrupted\n";

// Folder of this program.
std::string program_directory() {
    char path[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    const std::string program(path, length > 0 ? static_cast<size_t>(length) : 0);
    return program.substr(0, program.rfind('/'));
}

// Path of the plugin that is installed with this program.
std::string plugin_path() {
    return program_directory() + "/../lib/libkernelpoint.so";
}

std::string packaged_config(const std::string& name) {
    return program_directory() + "/../host_configs/" + name + ".yaml";
}

// The file of a configuration, named by its path or, where it is shipped, without folder and suffix.
std::string config_file(const std::string& name) {
    if (name.find_first_of("./") != std::string::npos) return name;
    const std::string path = packaged_config(name);
    if (access(path.c_str(), R_OK) == 0) return path;
    throw ConfigError("-config: got '" + name + "'; allowed: v100, rtx, or a file");
}

// Parses the command line; throws ConfigError. A configuration without path or suffix (`v100`) is a packaged one.
Arguments parse_arguments(int argc, char** argv) {
    Arguments arguments;
    std::map<std::string, std::string*> options{
        {"-trace", &arguments.trace}, {"-kernel_sampling", &arguments.kernel_sampling}, {"-results", &arguments.results}};
    for (int i = 1; i < argc; ++i) {
        const std::string option = argv[i];
        if (option == "-h" || option == "-help" || option == "--help") {
            arguments.help = true;
            return arguments;
        }
        const auto found = options.find(option);
        if (found == options.end() && option != "-config") {
            throw ConfigError("unknown option '" + option + "'; allowed: -trace, -config, -kernel_sampling, -results, -help");
        }
        if (i + 1 == argc || *argv[i + 1] == '\0') throw ConfigError(option + " needs a value");
        if (option == "-config") {
            arguments.config.push_back(config_file(argv[++i]));
            continue;
        }
        if (!found->second->empty()) throw ConfigError(option + " is given twice; allowed: once");
        *found->second = argv[++i];
    }
    unpack(&arguments.kernel_sampling, &arguments.trace, plugin_path(), &stop_run);
    if (arguments.trace.empty()) throw ConfigError("-trace is missing; allowed: kernelslist.g, or a folder of traces");
    if (arguments.config.empty()) throw ConfigError("-config is missing; allowed: v100, rtx, or a file");
    return arguments;
}

// ---- results of the launches that were simulated: totals for standard output, and one CSV row per launch

// Cell of a CSV file. An apostrophe stands before text that a spreadsheet would take for a formula.
std::string quoted(std::string text) {
    if (!text.empty() && std::strchr("=+-@\t\r", text[0]) != nullptr) text.insert(0, 1, '\'');
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string result = "\"";
    for (const char c : text) result += c == '"' ? "\"\"" : std::string(1, c);
    return result + "\"";
}

// A file, which is emptied, or a FIFO that somebody reads: one that nobody reads would wait for ever.
std::FILE* open_output(const std::string& path) {
    const int descriptor = kp_above_streams(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666));
    if (descriptor < 0) return nullptr;
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
    return fdopen(descriptor, "w");
}

// Sums over launches for standard output; counters by name.
struct Totals {
    uint64_t launches = 0;
    double cycles = 0, instructions = 0;
    std::vector<std::pair<std::string, double>> counters;

    void print() const {
        std::printf("gpu_tot_sim_launches = %" PRIu64 "\n", launches);
        std::printf("gpu_tot_sim_cycle = %lld\n", std::llround(cycles));
        std::printf("gpu_tot_sim_insn = %lld\n", std::llround(instructions));
        std::printf("gpu_tot_ipc = %.4f\n", cycles > 0 ? instructions / cycles : 0.0);
        for (const auto& [name, value] : counters) std::printf("gpu_tot_%s = %lld\n", name.c_str(), std::llround(value));
    }
};

class Results {
public:
    // Opens the CSV file unless `csv_path` is empty; throws ConfigError.
    explicit Results(const std::string& csv_path) : csv_path_(csv_path) {
        for (const fast_model::CounterField& field : kCounterFields) totals_.counters.emplace_back(field.name, 0);
        if (csv_path.empty()) return;
        csv_.reset(open_output(csv_path));
        if (!csv_) throw ConfigError("-results " + csv_path + ": cannot be written: " + std::strerror(errno));
        std::string names = "launch_index,trace,kernel_name,cycles,instructions";
        for (const fast_model::CounterField& field : kCounterFields) names += std::string(",") + field.name;
        std::fprintf(csv_.get(), "%s\n", names.c_str());
    }
    // Adds the result of a launch; throws ConfigError if the CSV cannot be written.
    void add(uint64_t launch_index, const std::string& trace_path, const LaunchResult& result) {
        ++totals_.launches;
        totals_.cycles += static_cast<double>(result.cycles);
        totals_.instructions += static_cast<double>(result.instructions);
        for (size_t i = 0; i < kCounterFields.size(); ++i)
            totals_.counters[i].second += static_cast<double>(result.counters.*kCounterFields[i].value);
        if (csv_) write_row(launch_index, trace_path, result);
    }
    const Totals& totals() const { return totals_; }

private:
    // Rows are flushed one by one: what an interrupted run has simulated is in the file.
    void write_row(uint64_t launch_index, const std::string& trace_path, const LaunchResult& result) {
        std::string row = std::to_string(launch_index) + "," + quoted(trace_path.substr(trace_path.rfind('/') + 1)) + "," +
                          quoted(result.kernel_name) + "," + std::to_string(result.cycles) + "," +
                          std::to_string(result.instructions);
        for (const fast_model::CounterField& field : kCounterFields) row += "," + std::to_string(result.counters.*field.value);
        row += "\n";
        if (std::fputs(row.c_str(), csv_.get()) < 0 || std::fflush(csv_.get()) != 0) {
            throw ConfigError("-results " + csv_path_ + ": cannot be written: " + std::strerror(errno));
        }
    }

    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    const std::string csv_path_;
    std::unique_ptr<std::FILE, Close> csv_;
    Totals totals_;
};

// ---- the plugin behind abi.h

// Error: the plugin refuses the run, or fails; the run cannot go on.
class PluginError : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

void fail(const std::string& why) {
    throw PluginError(why);
}

void print(const kp_estimate& e, bool all_simulated) {
    if (!is_told(e, all_simulated)) return;
    std::printf("kernelpoint_%s = %.17g\n", e.name, e.estimate);
    if (std::isfinite(e.half_width)) std::printf("kernelpoint_%s_half_width = %.17g\n", e.name, e.half_width);
    if (is_limited(e)) std::printf("kernelpoint_%s_at_most = %.17g\n", e.name, e.at_most);
}

// The totals of the whole run under the names that a full run's have; a counter of which too little is known is named.
void print_totals(const kp_summary& summary, const std::vector<kp_estimate>& estimates) {
    Totals totals{summary.launches, std::nan(""), std::nan(""), {}};
    std::string unknown;
    for (const kp_estimate& e : estimates) {
        if ((e.flags & KP_ESTIMATE_RATIO) != 0) continue;
        const std::string name = e.name;
        if (name == "cycles") {
            totals.cycles = e.estimate;
        } else if (name == "instructions") {
            totals.instructions = e.estimate;
        } else if (is_known(e, summary.simulated == summary.launches)) {
            totals.counters.emplace_back(name, e.estimate);
        } else {
            unknown += " " + name;
        }
    }
    if (std::isfinite(totals.cycles)) totals.print();
    if (!unknown.empty())
        std::printf("kernelpoint: half-width above 25 %%, or not met by any simulated launch, so without a total:%s\n",
                    unknown.c_str());
}

class Sampling {
public:
    // Opens the plugin and a session on the launches of `list_path`. Throws PluginError.
    Sampling(const std::string& sampling_config, const std::string& list_path, uint64_t launches, const GpuConfig& config)
        : client_(&fail) {
        Host host;
        host.simulator = "kernelpoint-host";
        host.version = fast_model::kModelVersion;
        host.config_hash = config.hash();
        host.flags = KP_HOST_CAN_STOP;
        for (const fast_model::CounterField& field : kCounterFields) host.counter_names.push_back(field.name);
        host.kept.flags = KP_KEPT_COPIES_FILL;
        host.kept.lines = config.l2_size / fast_model::kLineBytes;
        host.kept.sms = config.sms;
        host.kept.ctas_per_sm = config.max_ctas_per_sm;
        host.kept.warps_per_sm = config.max_warps_per_sm;
        host.kept.registers_per_sm = config.registers_per_sm;
        host.kept.shared_memory_per_sm = config.shared_memory_per_sm;
        host.configuration = config.text();
        host.processes = {{list_path, launches}};
        host.plugin = plugin_path();
        client_.open(sampling_config, host);
    }

    // Moves to the next launch to simulate; false at the end of the run.
    bool next() {
        kp_status status = client_.next_to_simulate(&at_);
        // Nothing is in flight when this host asks, so there is nothing to complete first: it asks once more, no
        // longer.
        if (status == KP_PENDING) status = client_.next_to_simulate(&at_);
        if (status == KP_PENDING) fail("the plugin waits for a launch in flight, but there is none");
        return status == KP_OK;
    }
    const Position& at() const { return at_; }
    // Memory lines that earlier launches leave in the caches; valid until the next call.
    kp_replay replay_before() { return client_.replay_before(at_); }
    // True if the running launch is to be stopped inside. The next functions report its result, or why it could not be
    // simulated.
    bool wants_stop(const fast_model::Gpu& gpu) {
        kp_progress progress = sized<kp_progress>();
        progress.index = at_.launch;
        progress.cycles = gpu.cycles();
        progress.instructions = gpu.instructions();
        progress.ctas_issued = gpu.ctas_issued();
        progress.ctas_completed = gpu.ctas_completed();
        progress.ctas_total = gpu.header().grid.count();
        return client_.wants_stop(progress);
    }
    void complete(const LaunchResult& result) {
        std::vector<double> counters;
        for (const fast_model::CounterField& field : kCounterFields)
            counters.push_back(static_cast<double>(result.counters.*field.value));
        client_.complete(at_, result.cycles, result.instructions, counters, result.stopped ? KP_RESULT_STOPPED : 0);
    }
    void abort(const std::string& reason) { client_.abort(at_, reason); }

    // Ends the session and prints its kernelpoint_* lines. False if no bound is stated.
    bool finish() {
        const kp_summary summary = client_.finish();
        const bool bound = !(summary.flags & KP_SUMMARY_NO_BOUND);
        const std::vector<kp_estimate> estimates = client_.estimates();
        print_totals(summary, estimates);
        std::printf("kernelpoint_launches = %" PRIu64 "\n", summary.launches);
        std::printf("kernelpoint_simulated = %" PRIu64 "\n", summary.simulated);
        std::printf("kernelpoint_skipped = %" PRIu64 "\n", summary.skipped);
        std::printf("kernelpoint_projected = %" PRIu64 "\n", summary.projected);
        std::printf("kernelpoint_passes = %" PRIu64 "\n", summary.passes);
        if (std::isfinite(summary.cycle_speedup)) std::printf("kernelpoint_cycle_speedup = %g\n", summary.cycle_speedup);
        if (summary.saved_seconds > 0) std::printf("kernelpoint_saved_seconds = %.4g\n", summary.saved_seconds);
        std::printf("kernelpoint_bound = %s\n", bound ? "stated" : "none");
        if (bound) std::printf("kernelpoint_confidence = %g\n", summary.confidence);
        std::printf("kernelpoint_degraded = %s\n", summary.flags & KP_SUMMARY_DEGRADED ? "yes" : "no");
        for (const kp_estimate& estimate : estimates) print(estimate, summary.simulated == summary.launches);
        return bound;
    }

private:
    Client client_;
    Position at_;
};

// ---- a run over the launches of a list: all of them, or those that the plugin asks for

// Progress of a run on standard error: one line rewritten in place on a terminal, else a line every ten seconds of a
// full run.
class Progress {
public:
    explicit Progress(uint64_t launches) : launches_(launches), terminal_(isatty(STDERR_FILENO) == 1) {}
    ~Progress() {
        if (terminal_) std::fputs("\r\033[K", stderr);
    }
    void begin_full_run() {
        full_run_ = true;
        begun_ = shown_at_ = std::chrono::steady_clock::now();
    }
    void show(uint64_t launch_index, double cycles) {
        if (!terminal_ && !full_run_) return;  // the plugin logs the progress of a sampled run
        const auto now = std::chrono::steady_clock::now();
        if (now - shown_at_ < (terminal_ ? std::chrono::milliseconds(200) : std::chrono::seconds(10))) return;
        shown_at_ = now;
        std::fprintf(stderr, "%slaunch %" PRIu64 " of %" PRIu64 ", %.1f million cycles simulated%s%s",
                     terminal_ ? "\r\033[K" : "kernelpoint-host: ", launch_index + 1, launches_, cycles / 1e6,
                     left(launch_index, now).c_str(), terminal_ ? "" : "\n");
    }

private:
    using Time = std::chrono::steady_clock::time_point;

    // Time left of a full run, at the rate of the launches before this one.
    std::string left(uint64_t launch_index, Time now) const {
        if (!full_run_ || launch_index == 0) return "";
        const double seconds = std::chrono::duration<double>(now - begun_).count() / static_cast<double>(launch_index) *
                               static_cast<double>(launches_ - launch_index);
        char text[64];
        std::snprintf(text, sizeof text, ", about %.0f s left", seconds);
        return text;
    }

    const uint64_t launches_;
    const bool terminal_;
    bool full_run_ = false;
    Time begun_, shown_at_;
};

class Run {
public:
    Run(const GpuConfig& config, const Launches& list, Results& results)
        : walk_(config, list), results_(results), progress_(list.contents.size()) {}

    // Simulates every launch. Throws TraceError or Interrupted.
    void all() {
        progress_.begin_full_run();
        for (uint64_t launch = 0; launch < walk_.launches(); ++launch) {
            walk_.keep_state(launch);
            simulate(launch, 0, [] {});
        }
    }
    // Simulates the launches that the plugin asks for, pass by pass, and reports failed launches to it. Returns the
    // number of launches that failed for good. Throws PluginError or Interrupted.
    uint64_t sampled(Sampling& hook) {
        std::set<uint64_t> failed;
        std::set<std::string> named;  // reasons why launches failed; each is told once
        while (hook.next()) {
            interruption_point();
            const uint64_t launch = hook.at().launch;
            if (hook.at().restores()) {
                // The launch begins with what all launches before it in the list leave, whatever this process has
                // simulated.
                const kp_replay before = hook.replay_before();
                walk_.gpu().replay(before.touches, before.touch_count);
            } else {
                walk_.keep_state(launch);
            }
            try {
                simulate(launch, hook.at().order.progress_interval, [&] {
                    if (hook.wants_stop(walk_.gpu())) walk_.gpu().stop_issuing();
                });
                hook.complete(walk_.gpu().result());
                failed.erase(launch);
            } catch (const TraceError& error) {
                if (named.insert(error.what()).second)
                    std::fprintf(stderr, "kernelpoint-host: launch %" PRIu64 " failed: %s\n", launch,
                                 printable(error.what()).c_str());
                hook.abort(error.what());
                failed.insert(launch);
            }
        }
        return failed.size();
    }

private:
    void simulate(uint64_t launch, fast_model::Cycles interval, const std::function<void()>& at_interval) {
        const Interruption progress(
            [&] { progress_.show(launch, results_.totals().cycles + static_cast<double>(walk_.gpu().cycles())); });
        results_.add(launch, walk_.path(launch), walk_.simulate(launch, interval, at_interval));
        interruption_point();
    }
    fast_model::Walk walk_;
    Results& results_;
    Progress progress_;
};

// ---- the program

enum ExitCode { kDone = 0, kRefused = 1, kNoBound = 3, kInterrupted = 130 };

volatile std::sig_atomic_t signalled = 0;

// SIGINT and SIGTERM ask the run to end at the next interruption point. A second signal ends the process at once.
void catch_signals() {
    struct sigaction action = {};
    action.sa_handler = [](int) { signalled = 1; };
    action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
}

// Options of another simulator's configuration that the model has no counterpart of are named once.
GpuConfig configuration(const Arguments& arguments) {
    const fast_model::Derived derived = fast_model::read_configuration(arguments.config, packaged_config("v100"));
    for (const std::string& note : fast_model::notes(derived))
        std::fprintf(stderr, "kernelpoint-host: %s\n", printable(note).c_str());
    return derived.config;
}

int simulate(const Arguments& arguments) {
    const GpuConfig config = configuration(arguments);
    const Launches list = read_trace_list(arguments.trace);
    std::unique_ptr<Sampling> hook;
    if (!arguments.kernel_sampling.empty()) {
        hook = std::make_unique<Sampling>(arguments.kernel_sampling, arguments.trace, list.contents.size(), config);
    }
    Results results(arguments.results);
    catch_signals();
    const Interruption interruption([] {
        if (signalled) throw Interrupted();
    });
    uint64_t failed = 0;
    {
        Run run(config, list, results);
        if (hook) {
            failed = run.sampled(*hook);
        } else {
            run.all();
        }
    }
    std::printf("simulated GPU = %s (configuration %s, model %s; not validated against hardware)\n",
                printable(config.name).c_str(), config.hash().c_str(), fast_model::kModelVersion);
    if (!hook) {
        results.totals().print();
        return kDone;
    }
    if (hook->finish() || failed == 0) return kDone;
    std::fprintf(stderr, "kernelpoint-host: no bound is stated: %" PRIu64 " launches could not be simulated\n", failed);
    return kNoBound;
}

}  // namespace
}  // namespace kernelpoint::host

int main(int argc, char** argv) {
    using namespace kernelpoint::host;
    kp_settle_streams();
    try {
        const Arguments arguments = parse_arguments(argc, argv);
        if (arguments.help) {
            std::fputs(kUsage, stdout);
            return kDone;
        }
        try {
            return simulate(arguments);
        } catch (const kernelpoint::Interrupted&) {
            const bool sampled = !arguments.kernel_sampling.empty();
            std::fprintf(stderr, "kernelpoint-host: interrupted%s\n", sampled ? "; the same command goes on" : "");
            return kInterrupted;
        }
    } catch (const std::exception& error) {
        std::fprintf(stderr, "kernelpoint-host: %s\n", kernelpoint::printable(error.what()).c_str());
        return kRefused;
    }
}
