// The plugin behind abi.h, as this host uses it. Nothing else here knows that ABI.
#pragma once

#include <stdexcept>
#include <string>

#include "fast_model/gpu.h"
#include "kernelpoint/client.hpp"

namespace kernelpoint::host {

// Error: the plugin refuses the run, or fails; the run cannot go on.
class PluginError : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

class SamplingHook {
public:
    // Opens the plugin and a session on the launches of `list_path`. Throws PluginError.
    SamplingHook(const std::string& sampling_config, const std::string& list_path, uint64_t launches,
                 const fast_model::GpuConfig& config);

    // Moves to the next launch to simulate; false at the end of the run.
    bool next();
    uint64_t launch() const { return at_.launch; }
    bool replays() const { return at_.restores(); }
    fast_model::Cycles progress_interval() const { return at_.order.progress_interval; }

    // Memory lines that earlier launches leave in the caches; valid until the next call.
    kp_replay replay_before() { return client_.replay_before(at_); }
    // True if the running launch is to be stopped inside. The next functions report its result, or why it could not be
    // simulated.
    bool wants_stop(const fast_model::Gpu& gpu);
    void complete(const fast_model::LaunchResult& result);
    void abort(const std::string& reason);

    // Ends the session and prints its kernelpoint_* lines. False if no bound is stated.
    bool finish();

private:
    Client client_;
    Position at_;
};

}  // namespace kernelpoint::host
