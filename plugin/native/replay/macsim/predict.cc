#include "native/replay/macsim/predict.h"

#include <cmath>
#include <unordered_map>

#include "native/replay/macsim/code_cache.h"

namespace kernelpoint::replay::macsim {
namespace {

// The launches of a list by trace: equal paths, equal numbers.
struct Traces {
    std::unordered_map<std::string, uint32_t> numbers;
    std::vector<const std::string*> paths;  // by number
    std::vector<uint32_t> of_launch;

    explicit Traces(const std::vector<std::string>& launches) {
        for (const std::string& path : launches) {
            const auto [at, added] = numbers.emplace(path, static_cast<uint32_t>(paths.size()));
            if (added) paths.push_back(&at->first);
            of_launch.push_back(at->second);
        }
    }
};

// Means and sums of squared differences from them (Welford, Technometrics 1962).
void add(const Outcome& outcome, double count, Prediction& mean, double& squares) {
    const auto cycles = static_cast<double>(outcome.cycles);
    const double before = cycles - mean.cycles;
    mean.cycles += before / count;
    squares += before * (cycles - mean.cycles);
    mean.mispredictions += (static_cast<double>(outcome.mispredictions) - mean.mispredictions) / count;
}

}  // namespace

std::vector<Prediction> predict_launches(const std::vector<std::string>& paths, const CoreInfo& cores,
                                         uint64_t memory_bytes, const std::function<bool(uint64_t launch)>& goes_on) {
    const Traces traces(paths);
    CodeCache codes(memory_bytes);
    const auto trace_of = [&](uint64_t at) { return traces.of_launch[at]; };
    const auto code_of = [&](uint32_t trace) -> const LaunchCode* {
        const std::string& path = *traces.paths[trace];
        return path.empty() ? nullptr : codes.find(trace, path, [](const std::string&) {});
    };
    std::vector<Prediction> predictions(paths.size());
    std::vector<double> squares(paths.size());
    for (uint64_t course = 0; course < kCourses; ++course) {
        Training training(cores.predictor, cores.residency, 0, course);
        for (uint64_t launch = 0; launch < paths.size(); ++launch) {
            if (!goes_on(course * paths.size() + launch)) return {};
            training.before(launch + 1, traces.paths.size(), trace_of, code_of);
            add(training.last_outcome(trace_of(launch)), static_cast<double>(course + 1), predictions[launch],
                squares[launch]);
        }
    }
    for (size_t i = 0; i < squares.size(); ++i) predictions[i].spread = std::sqrt(squares[i] / (kCourses - 1));
    return predictions;
}

}  // namespace kernelpoint::replay::macsim
