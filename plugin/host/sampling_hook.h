// The plugin behind abi.h, as this host uses it. Nothing else here knows that ABI.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>

#include "fast_model/gpu.h"
#include "kernelpoint/abi.h"
#include "kernelpoint/loader.h"

namespace kernelpoint::host {

// The plugin refuses or fails; the run cannot go on.
class PluginError : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

class SamplingHook {
public:
    // Opens the plugin and a session on the launches of `list_path`. Throws PluginError.
    SamplingHook(const std::string& sampling_config, const std::string& list_path, uint64_t launches,
                 const fast_model::GpuConfig& config);

    // The launch to handle after `after` (KP_BEFORE_FIRST at first); nothing when the run is over.
    std::optional<uint64_t> next(uint64_t after);
    kp_decision decide(uint64_t launch_index, const std::string& trace_path);
    // True when the launch in flight is to be stopped inside.
    bool wants_stop(uint64_t launch_index, const fast_model::Gpu& gpu);
    void complete(uint64_t launch_index, const fast_model::LaunchResult& result);
    void abort(uint64_t launch_index, const std::string& reason);
    // Ends the session and prints its kernelpoint_* lines. False when no bound is stated.
    bool finish();

private:
    void check(kp_status status, const char* doing) const;

    kp_api api_{};
    kp_session* session_ = nullptr;
    const uint64_t launches_;
};

}  // namespace kernelpoint::host
