#include "fast_model/list/run.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "fast_model/list/runner.h"
#include "native/trace/threads.h"

namespace kernelpoint::fast_model {
namespace {

// Asks `goes_on`, but not more often than it needs to be asked.
class Patience {
public:
    explicit Patience(const GoesOn& goes_on) : goes_on_(goes_on), asked_at_(std::chrono::steady_clock::now()) {}
    bool goes_on(uint64_t launches, double share) {
        const auto now = std::chrono::steady_clock::now();
        if (now - asked_at_ < kBetweenCalls) return true;
        asked_at_ = now;
        return goes_on_(launches, share);
    }

private:
    const GoesOn& goes_on_;
    std::chrono::steady_clock::time_point asked_at_;
};

class ListRun {
public:
    ListRun(const GpuConfig& config, const TraceList& list, const Effort& effort, const GoesOn& goes_on)
        : list_(list),
          memory_bytes_(effort.memory_bytes),
          config_(config),
          patience_(goes_on),
          sources_(find_sources(list, effort.contents)) {}

    ListResult run() {
        for (uint32_t source = 0; source < sources_.paths.size(); ++source) text_ += text_of(source);
        result_.ended_early = !run_commands();
        return std::move(result_);
    }

private:
    bool asked() { return patience_.goes_on(launches_, share()); }

    // Of the text, or of the launches where that is less: much text at the beginning tells little of a long rest.
    double share() const {
        if (text_ == 0) return 0;
        return std::min(passed_text_ / text_, static_cast<double>(launches_) / static_cast<double>(list_.launches));
    }

    // A launch costs the text that none before it had; the others are known by then.
    double text_of(uint32_t source) const { return 1.0 + static_cast<double>(sources_.bytes[source]); }

    // False when the run is to end.
    bool run_commands() {
        Runner runner(config_, sources_.paths.size(), memory_bytes_);
        result_.of_launch.assign(list_.launches, kNoNumbers);
        for (const TraceList::Command& command : list_.commands) {
            if (command.kind == TraceList::Kind::memcpy) {
                runner.copy_from_host(command.address, command.bytes);
                continue;
            }
            if (!run_launch(command.path, runner)) return false;
            ++launches_;
            result_.simulated = runner.simulated();
            if (!asked()) return false;
        }
        return true;
    }

    bool run_launch(const std::string& path, Runner& runner) {
        const uint32_t source = sources_.of_launch[launches_];
        if (source == kNoSource) return true;
        if (source == next_source_) passed_text_ += text_of(next_source_++);
        try {
            const Outcomes::Shared outcome = runner.run(source, path, [this] { return asked(); });
            if (outcome == nullptr) return false;
            take(*outcome);
        } catch (const std::runtime_error& error) {  // TraceError, LaunchError
            result_.failures.emplace_back(launches_, error.what());
        }
        return true;
    }

    // Equal numbers are kept once.
    void take(const Outcome& outcome) {
        const auto [known, added] = numbers_.emplace(outcome.number, static_cast<uint32_t>(result_.numbers.size()));
        if (added) result_.numbers.push_back({outcome.cycles, outcome.instructions, outcome.counters});
        result_.of_launch[launches_] = known->second;
    }

    const TraceList& list_;
    const uint64_t memory_bytes_;
    const GpuConfig config_;
    Patience patience_;
    const Sources sources_;
    std::unordered_map<uint64_t, uint32_t> numbers_;  // by number of an outcome
    uint64_t launches_ = 0;
    uint32_t next_source_ = 0;  // the first that no launch has had
    double text_ = 0, passed_text_ = 0;
    ListResult result_;
};

}  // namespace

ListResult run_list(const GpuConfig& config, const TraceList& list, const Effort& effort, const GoesOn& goes_on) {
    return ListRun(config, list, effort, goes_on).run();
}

}  // namespace kernelpoint::fast_model
