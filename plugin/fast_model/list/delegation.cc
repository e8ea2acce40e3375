#include "fast_model/list/delegation.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>

#include "fast_model/list/runner.h"
#include "native/replay/history.h"

namespace kernelpoint::fast_model {
namespace {

template <typename T>
void put(std::string& text, const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <typename T>
void put_all(std::string& text, const std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    put(text, uint64_t{values.size()});
    text.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

// Takes values from the front of a text; `whole` becomes false where it ends too early.
class Unpacker {
public:
    explicit Unpacker(std::string_view text) : text_(text) {}
    bool whole() const { return whole_; }
    bool at_end() const { return text_.empty(); }

    template <typename T>
    void get(T& value) {
        take(&value, sizeof value);
    }
    template <typename T>
    void get_all(std::vector<T>& values) {
        uint64_t count = 0;
        get(count);
        if (count > text_.size() / sizeof(T)) whole_ = false;
        values.resize(whole_ ? count : 0);
        take(values.data(), values.size() * sizeof(T));
    }

private:
    void take(void* to, size_t bytes) {
        if (bytes > text_.size()) whole_ = false;
        if (!whole_ || bytes == 0) return;
        std::memcpy(to, text_.data(), bytes);
        text_.remove_prefix(bytes);
    }

    std::string_view text_;
    bool whole_ = true;
};

// Commands one after another as a list of its own, with the source of each.
class TaskList {
public:
    explicit TaskList(const SegmentTask& task) {
        for (const auto* commands : {&task.before, &task.commands})
            for (const TraceList::Command& command : *commands) add(command);
    }

    TraceList list;
    std::vector<std::string> paths;    // of each source
    std::vector<uint32_t> of_command;  // kNoSource for a copy

private:
    void add(const TraceList::Command& command) {
        list.commands.push_back(command);
        if (command.kind == TraceList::Kind::memcpy) {
            of_command.push_back(kNoSource);
            return;
        }
        ++list.launches;
        const auto [known, added] = known_.emplace(command.path, static_cast<uint32_t>(paths.size()));
        if (added) paths.push_back(command.path);
        of_command.push_back(known->second);
    }

    std::unordered_map<std::string, uint32_t> known_;
};

replay::Residency residency_of(const GpuConfig& config) {
    return {config.sms, config.max_ctas_per_sm, config.max_warps_per_sm, config.registers_per_sm,
            config.shared_memory_per_sm};
}

void replay_before(const GpuConfig& config, const TaskList& task, uint64_t launches, Runner& runner) {
    replay::History history(task.list, true);
    replay::Footprint footprint;
    const auto touches_of = [&](uint32_t trace) -> const std::vector<replay::LineTouch>& {
        try {
            footprint = replay::read_footprint(history.path(trace), residency_of(config));
        } catch (const TraceError&) {  // whoever simulates it will say so
            footprint.touches.clear();
        }
        return footprint.touches;
    };
    replay::Walk walk;
    history.walk(launches, runner.l2_lines(), touches_of, walk);
    runner.replay(walk.touches);
}

}  // namespace

std::string simulate_segment(const GpuConfig& config, const SegmentTask& task, uint64_t memory_bytes,
                             const std::function<bool()>& goes_on) {
    const TaskList all(task);
    Outcomes outcomes(all.paths.size(), memory_bytes);
    Runner runner(config, outcomes, memory_bytes);
    const auto launches = std::count_if(task.before.begin(), task.before.end(),
                                        [](const auto& c) { return c.kind == TraceList::Kind::launch; });
    replay_before(config, all, static_cast<uint64_t>(launches), runner);
    std::string packed;
    std::unordered_set<uint64_t> known;  // numbers of outcomes
    for (uint32_t number = 0; number < task.commands.size(); ++number) {
        const TraceList::Command& command = task.commands[number];
        if (command.kind == TraceList::Kind::memcpy) {
            runner.copy_from_host(command.address, command.bytes);
            continue;
        }
        try {
            const Outcomes::Shared outcome =
                runner.run(all.of_command[task.before.size() + number], command.path, goes_on);
            if (outcome == nullptr) break;
            if (!known.insert(outcome->number).second) continue;
            put(packed, number);
            put(packed, outcome->cycles);
            put(packed, outcome->instructions);
            put(packed, outcome->counters);
            put_all(packed, outcome->change.sets);
            put_all(packed, outcome->change.lines);
        } catch (const std::runtime_error&) {  // TraceError, LaunchError: the run will say so
        }
    }
    return packed;
}

bool add_outcomes(const std::string& packed, const std::vector<uint32_t>& sources, Outcomes& outcomes) {
    Unpacker unpacker(packed);
    while (!unpacker.at_end()) {
        uint32_t number = 0;
        auto outcome = std::make_shared<Outcome>();
        unpacker.get(number);
        unpacker.get(outcome->cycles);
        unpacker.get(outcome->instructions);
        unpacker.get(outcome->counters);
        unpacker.get_all(outcome->change.sets);
        unpacker.get_all(outcome->change.lines);
        if (!unpacker.whole() || number >= sources.size() || sources[number] == kNoSource) return false;
        outcome->number = outcomes.next_number();
        outcomes.add(sources[number], std::move(outcome));
    }
    return true;
}

}  // namespace kernelpoint::fast_model
