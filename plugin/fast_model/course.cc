#include "fast_model/course.h"

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

Course follow(const GpuConfig& config, const std::string& path, const std::vector<replay::Touch>& touches,
              Cycles interval, uint64_t most_ctas, const std::function<bool()>& goes_on) {
    Gpu gpu(config);
    replay_touches(gpu, touches);
    Course course;
    gpu.start(path);
    const auto point = [&] {
        course.points.push_back({gpu.cycles(), gpu.instructions(), gpu.ctas_issued(), gpu.ctas_completed()});
    };
    for (Cycles until = interval; !gpu.advance(until); until += interval) {
        point();
        if (gpu.ctas_issued() >= most_ctas) gpu.stop_issuing();
        if (!goes_on()) {
            course.ended_early = true;
            return course;
        }
    }
    course.result = gpu.result();
    const uint64_t ctas = course.result.counters.ctas;
    course.points.push_back({course.result.cycles, course.result.instructions, ctas, ctas});
    return course;
}

}  // namespace kernelpoint::fast_model
