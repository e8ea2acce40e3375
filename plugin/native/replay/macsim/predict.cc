#include "native/replay/macsim/predict.h"

#include <unordered_map>

#include "native/replay/macsim/code_cache.h"

namespace kernelpoint::replay::macsim {

std::vector<Outcome> predict_launches(const std::vector<std::string>& paths, const CoreInfo& cores,
                                      uint64_t memory_bytes, const std::function<bool(uint64_t launch)>& goes_on) {
    std::vector<uint32_t> traces;
    std::vector<const std::string*> path_of;
    std::unordered_map<std::string, uint32_t> known;
    for (const std::string& path : paths) {
        const auto [at, added] = known.emplace(path, static_cast<uint32_t>(path_of.size()));
        if (added) path_of.push_back(&at->first);
        traces.push_back(at->second);
    }
    CodeCache codes(memory_bytes);
    const auto code_of = [&](uint32_t trace) -> const LaunchCode* {
        return path_of[trace]->empty() ? nullptr : codes.find(trace, *path_of[trace], [](const std::string&) {});
    };
    Training training(cores.predictor, cores.residency, 0);
    std::vector<Outcome> outcomes;
    for (uint64_t launch = 0; launch < traces.size() && goes_on(launch); ++launch) {
        training.before(launch + 1, path_of.size(), [&](uint64_t at) { return traces[at]; }, code_of);
        outcomes.push_back(training.last_outcome(traces[launch]));
    }
    return outcomes;
}

}  // namespace kernelpoint::replay::macsim
