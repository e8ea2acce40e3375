#include "fast_model/list/runner.h"

namespace kernelpoint::fast_model {
namespace {

constexpr Cycles kCyclesBetweenChecks = 10000;

}  // namespace

Outcomes::Shared Runner::run(uint32_t source, const std::string& path, const std::function<bool()>& goes_on) {
    if (!gpu_.keeps_l2_only()) return simulate(path, goes_on);
    if (Outcomes::Shared known = outcomes_.find(source, gpu_.l2())) {
        gpu_.l2().apply(known->change);
        return known;
    }
    gpu_.l2().record();
    Outcomes::Shared outcome = simulate(path, goes_on);
    if (outcome != nullptr) outcomes_.add(source, outcome);
    return outcome;
}

Outcomes::Shared Runner::simulate(const std::string& path, const std::function<bool()>& goes_on) {
    ++simulated_;
    try {
        gpu_.start(path);
        for (Cycles until = kCyclesBetweenChecks; !gpu_.advance(until); until += kCyclesBetweenChecks) {
            if (!goes_on()) return nullptr;
        }
    } catch (...) {
        gpu_.abandon();
        throw;
    }
    auto outcome = std::make_shared<Outcome>();
    outcome->number = outcomes_.next_number();
    outcome->cycles = gpu_.result().cycles;
    outcome->instructions = gpu_.result().instructions;
    outcome->counters = gpu_.result().counters;
    if (gpu_.keeps_l2_only()) outcome->change = gpu_.l2().recorded();
    return outcome;
}

}  // namespace kernelpoint::fast_model
