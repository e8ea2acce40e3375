#include "fast_model/launch_progress.h"

#include <algorithm>

namespace kernelpoint::fast_model {

void replay_touches(Gpu& gpu, const std::vector<replay::Touch>& touches) {
    gpu.empty_state();
    for (const replay::Touch& touch : touches) {
        if (touch.copied) {
            gpu.copy_from_host(touch.line * kLineBytes, kLineBytes);
        } else {
            gpu.touch({touch.line, touch.touched}, touch.written);
        }
    }
}

LaunchProgress follow(const GpuConfig& config, const std::string& path, const std::vector<replay::Touch>& touches,
                      Cycles interval, uint64_t most_ctas, const std::function<bool()>& goes_on) {
    Gpu gpu(config);
    replay_touches(gpu, touches);
    LaunchProgress progress;
    gpu.start(path);
    const auto point = [&] {
        progress.points.push_back({gpu.cycles(), gpu.instructions(), gpu.ctas_issued(), gpu.ctas_completed()});
    };
    for (Cycles until = interval; !gpu.advance(until); until += interval) {
        point();
        if (gpu.ctas_issued() >= most_ctas) gpu.stop_issuing();
        if (!goes_on()) {
            progress.ended_early = true;
            return progress;
        }
    }
    progress.result = gpu.result();
    const uint64_t ctas = progress.result.counters.ctas;
    progress.points.push_back({progress.result.cycles, progress.result.instructions, ctas, ctas});
    return progress;
}

}  // namespace kernelpoint::fast_model
