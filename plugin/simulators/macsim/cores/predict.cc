#include "simulators/macsim/cores/predict.h"

#include <cmath>
#include <numeric>
#include <unordered_map>

#include "simulators/macsim/cores/trained_states.h"
#include "simulators/macsim/cores/training.h"

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
void add(const Counts& counts, double number, Prediction& mean, double& squares) {
    const auto cycles = static_cast<double>(counts[kCycles]);
    const double before = cycles - mean[kCycles];
    for (size_t i = 0; i < kCounts; ++i) mean[i] += (static_cast<double>(counts[i]) - mean[i]) / number;
    squares += before * (cycles - mean[kCycles]);
}

double sum_of(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0);
}

// The variance of the totals is shared out in proportion to the launches' own sums of squares.
void spread(const std::vector<double>& squares, const std::vector<double>& totals, std::vector<Prediction>& predictions) {
    const double mean = sum_of(totals) / static_cast<double>(totals.size());
    double of_totals = 0;
    for (const double total : totals) of_totals += (total - mean) * (total - mean);
    const double variance = of_totals / static_cast<double>(totals.size() - 1), all = sum_of(squares);
    for (size_t i = 0; i < squares.size(); ++i) {
        predictions[i][kSpread] = std::sqrt(squares[i] / static_cast<double>(totals.size() - 1));
        predictions[i][kOfTotal] = all > 0.0 ? std::sqrt(variance * squares[i] / all) : 0.0;
    }
}

}  // namespace

Predictions predict_launches(const std::vector<std::string>& paths, const SmInfo& cores, uint64_t memory_bytes,
                             const std::function<void(uint64_t launch)>& report) {
    const Traces traces(paths);
    CodeCache codes(memory_bytes);
    const auto code_of = [&](uint32_t trace) -> const LaunchCode* {
        const std::string& path = *traces.paths[trace];
        return path.empty() ? nullptr : codes.find(trace, path, [](const std::string&) {});
    };
    Predictions predicted;
    std::vector<Prediction>& predictions = predicted.launches;
    predictions.resize(paths.size());
    StateRecorder recorder(Training(cores, 0).sms());
    std::vector<double> squares(paths.size()), totals(kReplications);
    for (uint64_t trajectory = 0; trajectory < kReplications; ++trajectory) {
        Training training(cores, traces.paths.size(), trajectory);
        for (uint64_t launch = 0; launch < paths.size(); ++launch) {
            report(trajectory * paths.size() + launch);
            training.pass(traces.of_launch[launch], code_of);
            if (trajectory == 0) recorder.add(training.sms(), training.last_level());
            const Counts counts = training.last_outcome(traces.of_launch[launch]);
            if (trajectory == 0) {
                predictions[launch][kReplayed] = static_cast<double>(counts[kCycles]);
                predictions[launch][kReplayedMispredictions] = static_cast<double>(counts[kMispredictions]);
            }
            totals[trajectory] += static_cast<double>(counts[kCycles]);
            add(counts, static_cast<double>(trajectory + 1), predictions[launch], squares[launch]);
        }
    }
    spread(squares, totals, predictions);
    predicted.states = recorder.bytes();
    return predicted;
}

}  // namespace kernelpoint::replay::macsim
