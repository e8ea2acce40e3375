#include "host/sampling_hook.h"

#include <cinttypes>
#include <cmath>
#include <cstdio>

#include "host/arguments.h"

namespace kernelpoint::host {
namespace {

void print(const kp_estimate* estimates, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
        const kp_estimate& e = estimates[i];
        std::printf("kernelpoint_%s = %.17g\n", e.name, e.estimate);
        if (std::isfinite(e.half_width)) std::printf("kernelpoint_%s_half_width = %.17g\n", e.name, e.half_width);
    }
}

}  // namespace

SamplingHook::SamplingHook(const std::string& sampling_config, const std::string& list_path, uint64_t launches,
                           const fast_model::GpuConfig& config)
    : launches_(launches) {
    const std::string plugin = program_directory() + "/../lib/libkernelpoint.so";
    const std::string error = kp_load(&api_, plugin.c_str());
    if (!error.empty()) throw PluginError(error);
    const std::string hash = config.hash();
    const char* const list_paths[] = {list_path.c_str()};
    kp_host_info info{};
    info.size = sizeof info;
    info.abi_version = KP_ABI_VERSION;
    info.simulator = "kernelpoint-host";
    info.version = fast_model::kModelVersion;
    info.config_hash = hash.c_str();
    info.flags = KP_HOST_CAN_STOP;
    info.process_count = 1;
    info.list_paths = list_paths;
    info.launch_counts = &launches;
    check(api_.open(sampling_config.c_str(), &info, &session_), "opening the session");
}

std::optional<uint64_t> SamplingHook::next(uint64_t after) {
    uint64_t launch = KP_NO_LAUNCH;
    kp_status status = api_.next(session_, 0, after, &launch);
    // This host has nothing in flight when it asks, so there is nothing to complete first: ask once more, no longer.
    if (status == KP_PENDING) status = api_.next(session_, 0, after, &launch);
    if (status == KP_PENDING) throw PluginError("the plugin waits for a launch in flight, but there is none");
    check(status, "asking for the next launch");
    if (status == KP_DONE) return std::nullopt;
    if (launch >= launches_) {
        throw PluginError("the plugin asks for launch " + std::to_string(launch) + "; allowed: 0 to " +
                          std::to_string(launches_ - 1));
    }
    return launch;
}

kp_decision SamplingHook::decide(uint64_t launch_index, const std::string& trace_path) {
    kp_launch launch{};
    launch.size = sizeof launch;
    launch.index = launch_index;
    launch.trace_path = trace_path.c_str();
    kp_decision decision{};
    decision.size = sizeof decision;
    check(api_.on_launch(session_, &launch, &decision), "deciding a launch");
    return decision;
}

bool SamplingHook::wants_stop(uint64_t launch_index, const fast_model::Gpu& gpu) {
    kp_progress progress{};
    progress.size = sizeof progress;
    progress.index = launch_index;
    progress.cycles = gpu.cycles();
    progress.instructions = gpu.instructions();
    progress.ctas_issued = gpu.ctas_issued();
    progress.ctas_completed = gpu.ctas_completed();
    progress.ctas_total = gpu.header().grid.count();
    uint32_t action = KP_CONTINUE;
    check(api_.on_progress(session_, &progress, &action), "reporting progress");
    return action == KP_STOP;
}

void SamplingHook::complete(uint64_t launch_index, const fast_model::LaunchResult& result) {
    kp_counter counters[fast_model::kCounterFields.size()];
    for (size_t i = 0; i < fast_model::kCounterFields.size(); ++i) {
        counters[i] = {fast_model::kCounterFields[i].name,
                       static_cast<double>(result.counters.*fast_model::kCounterFields[i].value)};
    }
    kp_result told{};
    told.size = sizeof told;
    told.index = launch_index;
    told.flags = result.stopped ? KP_RESULT_STOPPED : 0;
    told.counter_count = static_cast<uint32_t>(fast_model::kCounterFields.size());
    told.cycles = result.cycles;
    told.instructions = result.instructions;
    told.counters = counters;
    check(api_.on_complete(session_, &told), "reporting a result");
}

void SamplingHook::abort(uint64_t launch_index, const std::string& reason) {
    check(api_.on_abort(session_, 0, launch_index, reason.c_str()), "reporting a failed launch");
}

bool SamplingHook::finish() {
    kp_summary summary{};
    summary.size = sizeof summary;
    check(api_.finish(session_, &summary), "ending the session");
    const bool bound = !(summary.flags & KP_SUMMARY_NO_BOUND);
    std::printf("kernelpoint_launches = %" PRIu64 "\n", summary.launches);
    std::printf("kernelpoint_simulated = %" PRIu64 "\n", summary.simulated);
    std::printf("kernelpoint_skipped = %" PRIu64 "\n", summary.skipped);
    std::printf("kernelpoint_projected = %" PRIu64 "\n", summary.projected);
    std::printf("kernelpoint_passes = %" PRIu32 "\n", summary.passes);
    std::printf("kernelpoint_bound = %s\n", bound ? "stated" : "none");
    if (bound) std::printf("kernelpoint_confidence = %g\n", summary.confidence);
    std::printf("kernelpoint_degraded = %s\n", summary.flags & KP_SUMMARY_DEGRADED ? "yes" : "no");
    print(summary.estimates, summary.estimate_count);
    print(summary.ratios, summary.ratio_count);
    return bound;
}

void SamplingHook::check(kp_status status, const char* doing) const {
    if (status >= 0) return;
    const char* reason = api_.last_error();
    throw PluginError(std::string("the plugin failed in ") + doing + ": " + (reason ? reason : "no reason given"));
}

}  // namespace kernelpoint::host
