#include "host/sampling_hook.h"

#include <cinttypes>
#include <cmath>
#include <cstdio>

#include "host/arguments.h"
#include "host/results.h"

namespace kernelpoint::host {
namespace {

void fail(const std::string& why) {
    throw PluginError(why);
}

void print(const kp_estimate& e, bool all_simulated) {
    if (!is_told(e, all_simulated)) return;
    std::printf("kernelpoint_%s = %.17g\n", e.name, e.estimate);
    if (std::isfinite(e.half_width)) std::printf("kernelpoint_%s_half_width = %.17g\n", e.name, e.half_width);
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

}  // namespace

SamplingHook::SamplingHook(const std::string& sampling_config, const std::string& list_path, uint64_t launches,
                           const fast_model::GpuConfig& config)
    : client_(&fail) {
    Host host;
    host.simulator = "kernelpoint-host";
    host.version = fast_model::kModelVersion;
    host.config_hash = config.hash();
    host.flags = KP_HOST_CAN_STOP;
    for (const fast_model::CounterField& field : fast_model::kCounterFields) host.counter_names.push_back(field.name);
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

bool SamplingHook::next() {
    kp_status status = client_.next_to_simulate(&at_);
    // Nothing is in flight when this host asks, so there is nothing to complete first: it asks once more, no longer.
    if (status == KP_PENDING) status = client_.next_to_simulate(&at_);
    if (status == KP_PENDING) fail("the plugin waits for a launch in flight, but there is none");
    return status == KP_OK;
}

bool SamplingHook::wants_stop(const fast_model::Gpu& gpu) {
    kp_progress progress = sized<kp_progress>();
    progress.index = at_.launch;
    progress.cycles = gpu.cycles();
    progress.instructions = gpu.instructions();
    progress.ctas_issued = gpu.ctas_issued();
    progress.ctas_completed = gpu.ctas_completed();
    progress.ctas_total = gpu.header().grid.count();
    return client_.wants_stop(progress);
}

void SamplingHook::complete(const fast_model::LaunchResult& result) {
    std::vector<double> counters;
    for (const fast_model::CounterField& field : fast_model::kCounterFields)
        counters.push_back(static_cast<double>(result.counters.*field.value));
    client_.complete(at_, result.cycles, result.instructions, counters, result.stopped ? KP_RESULT_STOPPED : 0);
}

void SamplingHook::abort(const std::string& reason) {
    client_.abort(at_, reason);
}

bool SamplingHook::finish() {
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

}  // namespace kernelpoint::host
