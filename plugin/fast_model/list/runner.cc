#include "fast_model/list/runner.h"

namespace kernelpoint::fast_model {
Outcomes::Shared Runner::run(uint32_t source, const std::string& path, const std::function<bool()>& goes_on) {
    if (!gpu_.keeps_l2_only()) return simulate(path, goes_on);
    if (Outcomes::Shared passed = states_.pass(source)) return passed;
    states_.catch_up(gpu_.l2());
    Outcomes::Shared outcome = outcomes_.find(source, gpu_.l2());
    if (outcome != nullptr) {
        gpu_.l2().apply(outcome->change);
    } else {
        gpu_.l2().record();
        outcome = simulate(path, goes_on);
        if (outcome == nullptr) return nullptr;
        outcomes_.add(source, outcome);
    }
    states_.learn(source, outcome, gpu_.l2());
    return outcome;
}

void Runner::copy_from_host(uint64_t address, uint64_t bytes) {
    if (!gpu_.keeps_l2_only()) {
        gpu_.copy_from_host(address, bytes);
        return;
    }
    const uint64_t step = step_of_copy(address, bytes);
    if (states_.pass(step) != nullptr) return;
    states_.catch_up(gpu_.l2());
    gpu_.l2().record();
    gpu_.copy_from_host(address, bytes);
    auto outcome = std::make_shared<Outcome>();
    outcome->number = outcomes_.next_number();
    outcome->change = gpu_.l2().recorded();
    states_.learn(step, std::move(outcome), gpu_.l2());
}

// Behind all sources.
uint64_t Runner::step_of_copy(uint64_t address, uint64_t bytes) {
    const uint64_t next = (uint64_t{1} << 32) + copies_.size();
    return copies_.emplace(std::make_pair(address, bytes), next).first->second;
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
        states_.lose_state();
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
