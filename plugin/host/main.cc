// kernelpoint-host: a small deterministic trace-driven GPU simulator that carries the KernelPoint plugin. It exists for
// the demonstration, for tests and for statistics; its cycles are not validated against hardware.
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <memory>

#include "fast_model/configuration/derive.h"
#include "host/arguments.h"
#include "host/run.h"
#include "kernelpoint/descriptors.h"
#include "kernelpoint/printable.hpp"
#include "native/trace/interruption.h"

namespace {

using namespace kernelpoint::host;
namespace fast_model = kernelpoint::fast_model;

enum ExitCode { kDone = 0, kRefused = 1, kNoBound = 3, kInterrupted = 130 };

volatile std::sig_atomic_t signalled = 0;

void remember(int) {
    signalled = 1;
}

void check_interrupt() {
    if (signalled) throw kernelpoint::Interrupted();
}

// SIGINT and SIGTERM ask the run to end at the next interruption point. A second signal ends the process at once.
void catch_signals() {
    struct sigaction action = {};
    action.sa_handler = remember;
    action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
}

// Options of another simulator's configuration that the model has no counterpart of are named once.
fast_model::GpuConfig configuration(const Arguments& arguments) {
    const fast_model::Derived derived = fast_model::read_configuration(arguments.config, packaged_config("v100"));
    for (const std::string& note : fast_model::notes(derived))
        std::fprintf(stderr, "kernelpoint-host: %s\n", kernelpoint::printable(note).c_str());
    return derived.config;
}

int simulate(const Arguments& arguments) {
    const fast_model::GpuConfig config = configuration(arguments);
    const kernelpoint::Launches list = kernelpoint::read_trace_list(arguments.trace);
    std::unique_ptr<SamplingHook> hook;
    if (!arguments.kernel_sampling.empty()) {
        hook = std::make_unique<SamplingHook>(arguments.kernel_sampling, arguments.trace, list.contents.size(), config);
    }
    Results results(arguments.results);
    catch_signals();
    const kernelpoint::Interruption interruption(check_interrupt);
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
                kernelpoint::printable(config.name).c_str(), config.hash().c_str(), fast_model::kModelVersion);
    if (!hook) {
        results.totals().print();
        return kDone;
    }
    if (hook->finish() || failed == 0) return kDone;
    std::fprintf(stderr, "kernelpoint-host: no bound is stated: %" PRIu64 " launches could not be simulated\n", failed);
    return kNoBound;
}

int simulate_until_interrupted(const Arguments& arguments) {
    try {
        return simulate(arguments);
    } catch (const kernelpoint::Interrupted&) {
        const bool sampled = !arguments.kernel_sampling.empty();
        std::fprintf(stderr, "kernelpoint-host: interrupted%s\n", sampled ? "; the same command goes on" : "");
        return kInterrupted;
    }
}

}  // namespace

int main(int argc, char** argv) {
    kp_settle_streams();
    try {
        const Arguments arguments = parse_arguments(argc, argv);
        if (arguments.help) {
            std::fputs(kUsage, stdout);
            return kDone;
        }
        return simulate_until_interrupted(arguments);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "kernelpoint-host: %s\n", kernelpoint::printable(error.what()).c_str());
        return kRefused;
    }
}
