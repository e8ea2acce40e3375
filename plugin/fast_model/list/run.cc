#include "fast_model/list/run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "fast_model/gpu.h"
#include "native/trace/interruption.h"
#include "native/trace/stream_hash.h"
#include "native/trace/threads.h"

namespace kernelpoint::fast_model {

namespace {

// Finds streams whose launches take what they took before, whatever is in L2. Streams whose data comes and
// goes never do. Once two simulated launches in succession are alike, some take the numbers of the last; the next one
// is simulated after kGrowth times as many launches each time.
class Settling {
public:
    // True if the next launch may take the numbers of the last one that was simulated.
    bool skip() {
        if (waiting_ == 0) return false;
        --waiting_;
        return true;
    }

    // A launch was simulated.
    void add(const ListResult::Numbers& numbers) {
        const auto near = [](uint64_t a, uint64_t b, uint64_t of) {
            return std::abs(static_cast<double>(a) - static_cast<double>(b)) <= kAlike * static_cast<double>(of);
        };
        const uint64_t misses = numbers.counters.l2_misses;
        const bool alike = last_ && near(numbers.cycles, last_->cycles, last_->cycles) &&
                           near(misses, last_->counters.l2_misses, numbers.counters.l2_accesses);
        waiting_ = wait_ = alike ? std::max<uint64_t>(1, wait_ * kGrowth) : 0;
        last_ = numbers;
    }

private:
    static constexpr double kAlike = .002;
    static constexpr uint64_t kGrowth = 4;

    std::optional<ListResult::Numbers> last_;
    uint64_t wait_ = 0, waiting_ = 0;
};

// Outcomes of simulated launches, to be taken again where a launch of the same trace begins in a state in which the
// very same would happen.
struct Outcome {
    ListResult::Numbers numbers;
    StateChange change;          // of L2
    uint64_t number = 0;         // no other outcome has it
    mutable size_t suspect = 0;  // a set of the change that did not fit last time: looked at first
};

constexpr size_t kMostOfASource = 8;  // looking through more costs more than it saves

uint64_t bytes_of(const Outcome& outcome) {
    return sizeof(Outcome) + outcome.change.bytes();
}

// Keeps at most `memory_bytes`, those used last.
class Outcomes {
public:
    using Shared = std::shared_ptr<const Outcome>;

    Outcomes(size_t sources, uint64_t memory_bytes) : most_bytes_(memory_bytes), of_source_(sources) {}

    // The outcome of a source that was used last; null where none is known.
    Shared last(uint32_t source) const { return of_source_[source].empty() ? nullptr : of_source_[source].front()->outcome; }

    // The outcome of a source that fits the state of a cache; null where none is known.
    Shared find(uint32_t source, const Cache& state) {
        for (const Place place : of_source_[source]) {
            const Outcome& outcome = *place->outcome;
            outcome.suspect = state.misfit(outcome.change, outcome.suspect);
            if (outcome.suspect == outcome.change.sets.size()) {
                used(place);
                return place->outcome;
            }
        }
        return nullptr;
    }

    void add(uint32_t source, Shared outcome) {
        bytes_ += bytes_of(*outcome);
        kept_.push_front({source, std::move(outcome)});
        std::vector<Place>& places = of_source_[source];
        places.insert(places.begin(), kept_.begin());
        if (places.size() > kMostOfASource) forget(places.back());
        while (bytes_ > most_bytes_ && kept_.size() > 1) forget(std::prev(kept_.end()));
    }

    uint64_t next_number() { return next_number_++; }

private:
    struct Kept {
        uint32_t source;
        Shared outcome;
    };
    using Place = std::list<Kept>::iterator;

    void used(Place place) {
        std::vector<Place>& places = of_source_[place->source];
        const auto found = std::find(places.begin(), places.end(), place);
        kept_.splice(kept_.begin(), kept_, place);
        std::rotate(places.begin(), found, found + 1);
    }

    void forget(Place place) {
        std::vector<Place>& places = of_source_[place->source];
        places.erase(std::find(places.begin(), places.end(), place));
        bytes_ -= bytes_of(*place->outcome);
        kept_.erase(place);
    }

    const uint64_t most_bytes_;
    uint64_t next_number_ = 0, bytes_ = 0;
    std::list<Kept> kept_;                       // the one used last first
    std::vector<std::vector<Place>> of_source_;  // likewise
};

constexpr uint64_t kBytesOfAStep = 128;     // in the maps
constexpr size_t kMostPassed = 1ull << 16;  // steps that L2 lags behind; each keeps its outcome

// The hash of all that a cache holds, kept up to date by the sets that changed.
class CacheHash {
public:
    void reset() { of_set_.clear(); }
    // `changed`: sets since the last call; ignored after reset(), where all are read.
    StreamHash update(const Cache& cache, const std::vector<SetChange>& changed) {
        if (of_set_.empty()) {
            sum_ = {};
            of_set_.resize(cache.sets());
            for (uint32_t set = 0; set < cache.sets(); ++set) replace(set, cache.hash_of_set(set));
        } else {
            for (const SetChange& change : changed) replace(change.set, cache.hash_of_set(change.set));
        }
        return sum_;
    }

private:
    void replace(uint32_t set, StreamHash present) {
        StreamHash& kept = of_set_[set];
        sum_.high += present.high - kept.high;
        sum_.low += present.low - kept.low;
        kept = present;
    }

    std::vector<StreamHash> of_set_;
    StreamHash sum_;
};

// States that a list comes back to: the effect of a step there is known, and it is not simulated again. A step is a
// launch of a source, or a copy. Steps from known states are passed over: L2 lags behind until a step is not known.
//
// Numerics: two states are equal if the 128-bit hashes of what L2 holds are (the order of its lines, their valid and
// dirty sectors).
class RecurringStates {
public:
    explicit RecurringStates(uint64_t memory_bytes) : most_bytes_(memory_bytes) {}

    // The outcome of a step from the present state; null where it is not known. Then L2 must catch up, and the step be
    // done.
    Outcomes::Shared pass(uint64_t step) {
        if (!of_l2_) return nullptr;
        const auto known = known_.find({passed_.empty() ? *of_l2_ : passed_.back().after, step});
        if (known == known_.end()) return nullptr;
        if (passed_.size() == kMostPassed && place_.count(known->second.after) == 0) return nullptr;
        go_to(known->second);
        return known->second.outcome;
    }

    void catch_up(Cache& l2) {
        for (const Passed& passed : passed_) {
            l2.apply(passed.outcome->change);
            hash_.update(l2, passed.outcome->change.sets);
        }
        if (!passed_.empty()) of_l2_ = passed_.back().after;
        passed_.clear();
        place_.clear();
    }

    // A step was done, and L2 is up to date.
    void learn(uint64_t step, Outcomes::Shared outcome, const Cache& l2) {
        forget_if_full();
        const StreamHash after = hash_.update(l2, outcome->change.sets);
        if (of_l2_) {
            if (outcomes_.insert(outcome->number).second) bytes_ += outcome->change.bytes();
            bytes_ += kBytesOfAStep;
            known_[{*of_l2_, step}] = {after, std::move(outcome)};
        }
        of_l2_ = after;
    }

    // Forgets the known state of the L2: something other than a recorded launch has changed it.
    void lose_state() {
        hash_.reset();
        of_l2_.reset();
        passed_.clear();
        place_.clear();
    }

private:
    struct Key {
        StreamHash state;
        uint64_t step;
        bool operator==(const Key& other) const { return state == other.state && step == other.step; }
    };
    struct Hash {
        size_t operator()(const StreamHash& state) const { return state.low; }
        size_t operator()(const Key& key) const { return key.state.low ^ mix(key.step); }
    };
    struct Passed {
        StreamHash after;
        Outcomes::Shared outcome;
    };

    void go_to(Passed passed) {
        const bool back_at_l2 = passed.after == *of_l2_;
        const auto met = place_.find(passed.after);
        if (!back_at_l2 && met == place_.end()) {
            place_[passed.after] = passed_.size();
            passed_.push_back(std::move(passed));
            return;
        }
        const size_t left = back_at_l2 ? 0 : met->second + 1;
        for (; passed_.size() > left; passed_.pop_back()) place_.erase(passed_.back().after);
    }

    void forget_if_full() {
        if (bytes_ <= most_bytes_) return;
        known_.clear();
        outcomes_.clear();
        bytes_ = 0;
    }

    const uint64_t most_bytes_;
    CacheHash hash_;
    std::optional<StreamHash> of_l2_;  // unknown before the first step
    std::unordered_map<Key, Passed, Hash> known_;
    std::unordered_set<uint64_t> outcomes_;  // numbers of those in known_
    uint64_t bytes_ = 0;                     // of those
    // From L2's state to the present one, no state twice.
    std::vector<Passed> passed_;
    std::unordered_map<StreamHash, size_t, Hash> place_;  // in passed_
};

// Launches and copies one after another on one simulated GPU.
class Runner {
public:
    // `memory_bytes`: for outcomes, and as much for states, that may come again. `streams`: of each source, or none.
    Runner(const GpuConfig& config, size_t sources, uint64_t memory_bytes, const std::vector<uint32_t>& streams)
        : gpu_(config), outcomes_(sources, memory_bytes), states_(memory_bytes), streams_(streams) {
        if (!streams.empty()) of_stream_.resize(2 + 2 * *std::max_element(streams.begin(), streams.end()));
        is_met_.assign(sources, false);
    }

    // The outcome of the next launch: one that is known and fits, else that of Gpu::run.
    Outcomes::Shared run(uint32_t source, const std::string& path) {
        if (!gpu_.keeps_l2_only()) return simulate(path);
        if (Outcomes::Shared passed = states_.pass(source)) return passed;
        states_.catch_up(gpu_.l2());
        Outcomes::Shared outcome = outcomes_.find(source, gpu_.l2());
        if (outcome != nullptr) {
            gpu_.l2().apply(outcome->change);
        } else if (streams_.empty()) {
            outcome = simulate_recorded(source, path);
        } else {
            Stream& stream = of_stream_[2 * size_t{streams_[source]} + is_met_[source]];
            is_met_[source] = true;
            if (stream.settling.skip()) {
                outcome = settled(source, *stream.last);
            } else {
                outcome = simulate_recorded(source, path);
                stream.settling.add(outcome->numbers);
                stream.last = outcome;
            }
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
    struct Stream {
        Settling settling;
        Outcomes::Shared last;  // that was simulated
    };

    Outcomes::Shared simulate_recorded(uint32_t source, const std::string& path) {
        gpu_.l2().record();
        Outcomes::Shared outcome = simulate(path);
        outcomes_.add(source, outcome);
        return outcome;
    }

    // The numbers of the stream's last launch; L2 changes as it did for this source before.
    Outcomes::Shared settled(uint32_t source, const Outcome& last) {
        auto outcome = std::make_shared<Outcome>();
        outcome->number = outcomes_.next_number();
        outcome->numbers = last.numbers;
        if (const Outcomes::Shared before = outcomes_.last(source)) outcome->change = before->change;
        gpu_.l2().apply(outcome->change);
        return outcome;
    }

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
        outcome->numbers = {gpu_.result().cycles, gpu_.result().instructions, gpu_.result().counters};
        if (gpu_.keeps_l2_only()) outcome->change = gpu_.l2().recorded();
        return outcome;
    }

    Gpu gpu_;
    Outcomes outcomes_;
    RecurringStates states_;
    const std::vector<uint32_t>& streams_;
    std::vector<Stream> of_stream_;  // two of each: for contents that are launched for the first time, and again
    std::vector<bool> is_met_;       // by source
    std::map<std::pair<uint64_t, uint64_t>, uint64_t> copies_;  // numbered
    uint64_t simulated_ = 0;
};

}  // namespace

ListResult run_list(const GpuConfig& config, const Launches& launches, const Effort& effort, const Report& report) {
    Runner runner(config, launches.paths.size(), effort.memory_bytes, effort.streams);
    ListResult result;
    result.of_launch.assign(launches.contents.size(), kNoNumbers);
    std::unordered_map<uint64_t, uint32_t> numbers;  // by number of an outcome: equal ones are kept once
    std::vector<bool> is_met(launches.paths.size());
    uint64_t done = 0;  // launches
    // A launch costs the text that none before it had; the others are known by then.
    const auto text_of = [&](uint32_t content) {
        return 1.0 + (effort.bytes.empty() ? 0.0 : static_cast<double>(effort.bytes[content]));
    };
    double text = 0, passed_text = 0;
    for (uint32_t content = 0; content < launches.paths.size(); ++content) text += text_of(content);
    auto reported_at = std::chrono::steady_clock::now();
    const auto report_in_time = [&] {
        const auto now = std::chrono::steady_clock::now();
        if (now - reported_at < kBetweenReports) return;
        reported_at = now;
        // Of the text, or of the launches where that is less: much text at the beginning tells little of a long rest.
        const double of_launches = static_cast<double>(done) / static_cast<double>(launches.contents.size());
        report(done, text == 0 ? 0 : std::min(passed_text / text, of_launches));
    };
    const Interruption interruption(report_in_time);
    const auto launch = [&](uint64_t index) {
        const uint32_t content = launches.contents[index];
        try {
            if (content != kNoContent) {
                if (!is_met[content]) passed_text += text_of(content);
                is_met[content] = true;
                const Outcomes::Shared outcome = runner.run(content, launches.paths[content]);
                const auto row = static_cast<uint32_t>(result.numbers.size());
                const auto [known, added] = numbers.emplace(outcome->number, row);
                if (added) result.numbers.push_back(outcome->numbers);
                result.of_launch[index] = known->second;
            }
        } catch (const TraceError& error) {
            result.failures.emplace_back(index, error.what());
        }
        ++done;
        report_in_time();
    };
    launches.each(launch, [&](const Launches::Copy& copy) { runner.copy_from_host(copy.address, copy.bytes); });
    result.simulated = runner.simulated();
    return result;
}

void Walk::keep_state(uint64_t launch) {
    for (; copied_ < list_.copies.size() && list_.launches_before(copied_) <= launch; ++copied_)
        gpu_.copy_from_host(list_.copies[copied_].address, list_.copies[copied_].bytes);
}

const LaunchResult& Walk::simulate(uint64_t launch, Cycles interval, const std::function<void()>& at_interval) {
    const Launches::Copy* const first = list_.copies.data();  // the copies before a launch come first
    const auto is_before = [&](const Launches::Copy& copy) {
        return list_.launches_before(static_cast<size_t>(&copy - first)) <= launch;
    };
    copied_ = static_cast<size_t>(std::partition_point(first, first + list_.copies.size(), is_before) - first);
    return gpu_.run(path(launch), interval, at_interval);
}

}  // namespace kernelpoint::fast_model
