#include "fast_model/list/run.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <unordered_map>

#include "fast_model/gpu.h"
#include "fast_model/list/outcomes.h"
#include "fast_model/list/recurring_states.h"
#include "native/trace/interruption.h"
#include "native/trace/threads.h"

namespace kernelpoint::fast_model {
namespace {

constexpr uint32_t kNoSource = UINT32_MAX;

// Launches of a list that run the very same trace.
struct Sources {
    std::vector<uint32_t> of_launch;  // kNoSource for a launch without a trace
    // Of each source, numbered in the order of their first launches: a path to it, and the size of its text (0: not
    // known).
    std::vector<std::string> paths;
    std::vector<uint64_t> bytes;
};

// Two traces are one source if their contents are equal. `contents`: of each launch; empty: equal paths are one source.
Sources find_sources(const TraceList& list, const std::vector<Content>& contents) {
    Sources result;
    std::unordered_map<std::string_view, uint32_t> of_path;
    std::map<std::pair<uint64_t, uint64_t>, uint32_t> of_content;
    for (const TraceList::Command& command : list.commands) {
        if (command.kind != TraceList::Kind::launch) continue;
        if (command.path.empty()) {
            result.of_launch.push_back(kNoSource);
            continue;
        }
        const auto number = static_cast<uint32_t>(result.paths.size());
        const Content content = contents.empty() ? Content() : contents[result.of_launch.size()];
        const bool added = contents.empty()
                               ? of_path.emplace(command.path.get(), number).second
                               : of_content.emplace(std::make_pair(content.hash.high, content.hash.low), number).second;
        if (added) {
            result.paths.push_back(command.path);
            result.bytes.push_back(content.bytes);
        }
        result.of_launch.push_back(contents.empty() ? of_path.at(command.path.get())
                                                    : of_content.at({content.hash.high, content.hash.low}));
    }
    return result;
}

// Launches and copies one after another on one simulated GPU.
class Runner {
public:
    // `memory_bytes`: for outcomes, and as much for states, that may come again.
    Runner(const GpuConfig& config, size_t sources, uint64_t memory_bytes)
        : gpu_(config), outcomes_(sources, memory_bytes), states_(memory_bytes) {}

    // The outcome of the next launch: one that is known and fits, else that of Gpu::run.
    Outcomes::Shared run(uint32_t source, const std::string& path) {
        if (!gpu_.keeps_l2_only()) return simulate(path);
        if (Outcomes::Shared passed = states_.pass(source)) return passed;
        states_.catch_up(gpu_.l2());
        Outcomes::Shared outcome = outcomes_.find(source, gpu_.l2());
        if (outcome != nullptr) {
            gpu_.l2().apply(outcome->change);
        } else {
            gpu_.l2().record();
            outcome = simulate(path);
            outcomes_.add(source, outcome);
        }
        states_.learn(source, outcome, gpu_.l2());
        return outcome;
    }

    void copy_from_host(uint64_t address, uint64_t bytes) {
        if (!gpu_.keeps_l2_only()) return gpu_.copy_from_host(address, bytes);
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

    // Launches that were not known.
    uint64_t simulated() const { return simulated_; }

private:
    // Behind all sources.
    uint64_t step_of_copy(uint64_t address, uint64_t bytes) {
        const uint64_t next = (uint64_t{1} << 32) + copies_.size();
        return copies_.emplace(std::make_pair(address, bytes), next).first->second;
    }

    Outcomes::Shared simulate(const std::string& path) {
        ++simulated_;
        try {
            gpu_.run(path);
        } catch (...) {
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

    Gpu gpu_;
    Outcomes outcomes_;
    RecurringStates states_;
    std::map<std::pair<uint64_t, uint64_t>, uint64_t> copies_;  // numbered
    uint64_t simulated_ = 0;
};

class ListRun {
public:
    ListRun(const GpuConfig& config, const TraceList& list, const Effort& effort, const Report& report)
        : list_(list),
          report_(report),
          sources_(find_sources(list, effort.contents)),
          runner_(config, sources_.paths.size(), effort.memory_bytes) {}

    ListResult run() {
        const Interruption interruption([this] { report_in_time(); });
        for (uint32_t source = 0; source < sources_.paths.size(); ++source) text_ += text_of(source);
        result_.of_launch.assign(list_.launches, kNoNumbers);
        for (const TraceList::Command& command : list_.commands) {
            if (command.kind == TraceList::Kind::memcpy) {
                runner_.copy_from_host(command.address, command.bytes);
                continue;
            }
            run_launch(command.path);
            ++launches_;
            report_in_time();
        }
        result_.simulated = runner_.simulated();
        return std::move(result_);
    }

private:
    void report_in_time() {
        const auto now = std::chrono::steady_clock::now();
        if (now - reported_at_ < kBetweenReports) return;
        reported_at_ = now;
        report_(launches_, share());
    }

    // Of the text, or of the launches where that is less: much text at the beginning tells little of a long rest.
    double share() const {
        if (text_ == 0) return 0;
        return std::min(passed_text_ / text_, static_cast<double>(launches_) / static_cast<double>(list_.launches));
    }

    // A launch costs the text that none before it had; the others are known by then.
    double text_of(uint32_t source) const { return 1.0 + static_cast<double>(sources_.bytes[source]); }

    void run_launch(const std::string& path) {
        const uint32_t source = sources_.of_launch[launches_];
        if (source == kNoSource) return;
        if (source == next_source_) passed_text_ += text_of(next_source_++);
        try {
            take(*runner_.run(source, path));
        } catch (const TraceError& error) {
            result_.failures.emplace_back(launches_, error.what());
        }
    }

    // Equal numbers are kept once.
    void take(const Outcome& outcome) {
        const auto [known, added] = numbers_.emplace(outcome.number, static_cast<uint32_t>(result_.numbers.size()));
        if (added) result_.numbers.push_back({outcome.cycles, outcome.instructions, outcome.counters});
        result_.of_launch[launches_] = known->second;
    }

    const TraceList& list_;
    const Report& report_;
    const Sources sources_;
    Runner runner_;
    std::chrono::steady_clock::time_point reported_at_ = std::chrono::steady_clock::now();
    std::unordered_map<uint64_t, uint32_t> numbers_;  // by number of an outcome
    uint64_t launches_ = 0;
    uint32_t next_source_ = 0;  // the first that no launch has had
    double text_ = 0, passed_text_ = 0;
    ListResult result_;
};

}  // namespace

ListResult run_list(const GpuConfig& config, const TraceList& list, const Effort& effort, const Report& report) {
    return ListRun(config, list, effort, report).run();
}

}  // namespace kernelpoint::fast_model
