#include "fast_model/list/segments.h"

#include <algorithm>
#include <chrono>
#include <unordered_set>

#include "fast_model/list/threads.h"
#include "native/replay/packing.h"
#include "native/trace/interruption.h"

namespace kernelpoint::fast_model {
namespace {

constexpr uint64_t kLeastPart = 32;           // of a segment; less is not worth a replay
constexpr uint64_t kUnknownBytes = 1 << 20;   // of a source whose text was not read
constexpr uint64_t kLongestRepetition = 64;   // launches
constexpr uint64_t kLongestLookBack = 65536;  // commands, for what is sent elsewhere
constexpr size_t kMostBefore = 1024;          // of them are sent
constexpr uint64_t kMostRunners = 16;         // that share memory for recurring states

// The list as the history sees it: launches without a trace left out, equal traces under one path.
TraceList same_paths(const TraceList& list, const Sources& sources) {
    TraceList same;
    size_t launch = 0;
    for (const TraceList::Command& command : list.commands) {
        if (command.kind == TraceList::Kind::memcpy) {
            same.commands.push_back(command);
            continue;
        }
        const uint32_t source = sources.of_launch[launch++];
        if (source == kNoSource) continue;
        same.commands.push_back({TraceList::Kind::launch, sources.paths[source], 0, 0, -1});
        ++same.launches;
    }
    return same;
}

std::vector<uint32_t> sources_of_commands(const TraceList& list, const Sources& sources) {
    std::vector<uint32_t> found;
    size_t launch = 0;
    for (const TraceList::Command& command : list.commands)
        found.push_back(command.kind == TraceList::Kind::memcpy ? kNoSource : sources.of_launch[launch++]);
    return found;
}

// Cuts a list into segments, command by command.
class Cutter {
public:
    Cutter(uint64_t bytes, size_t sources) : target_(bytes), met_(sources, false) {}

    void add(uint64_t command, uint32_t source, uint64_t bytes) {
        const bool is_new = !met_[source];
        met_[source] = true;
        if (bytes_ == 0) {
            if (is_new) present_ = {command, command, launches_};
        } else if (!is_new && ++repeated_ > kLongestRepetition) {
            cut();
        }
        ++launches_;
        if (!is_new) return;
        repeated_ = 0;
        bytes_ += std::max<uint64_t>(bytes, 1);
        present_.end = command + 1;
        if (bytes_ >= target_) cut();
    }
    std::vector<Segment> finish() {
        cut();
        return std::move(segments_);
    }

private:
    void cut() {
        if (bytes_ >= target_ / kLeastPart) segments_.push_back(present_);
        bytes_ = repeated_ = 0;
    }

    const uint64_t target_;
    std::vector<bool> met_;
    Segment present_;
    uint64_t bytes_ = 0, repeated_ = 0, launches_ = 0;
    std::vector<Segment> segments_;
};

}  // namespace

std::vector<Segment> segments_of(const TraceList& list, const Sources& sources, uint64_t bytes) {
    Cutter cutter(bytes, sources.paths.size());
    const std::vector<uint32_t> of_command = sources_of_commands(list, sources);
    for (uint64_t command = 0; command < of_command.size(); ++command) {
        const uint32_t source = of_command[command];
        if (source == kNoSource) continue;
        cutter.add(command, source, sources.bytes[source] != 0 ? sources.bytes[source] : kUnknownBytes);
    }
    return cutter.finish();
}

Segments::Segments(const GpuConfig& config, const TraceList& list, const Sources& sources, Outcomes& outcomes,
                   const Effort& effort, std::function<std::string(const SegmentTask&)> elsewhere)
    : config_(config),
      list_(list),
      sources_(sources),
      outcomes_(outcomes),
      most_bytes_(effort.memory_bytes),
      elsewhere_(std::move(elsewhere)),
      segments_(segments_of(list, sources, effort.segment_bytes)),
      source_of_command_(sources_of_commands(list, sources)),
      footprints_(sources.paths.size()),
      history_(same_paths(list, sources), true),
      done_(segments_.size(), false) {
    for (uint32_t source = 0; source < sources.paths.size(); ++source) source_of_path_[sources.paths[source]] = source;
}

Segments::~Segments() {
    stopped_ = true;
    {
        const std::lock_guard<std::mutex> held(mutex_);
        changed_.notify_all();
    }
    for (std::thread& thread : threads_) thread.join();
}

bool Segments::start(unsigned threads, const std::function<bool()>& goes_on) {
    if (threads < 2 || segments_.size() < 2) {
        passed_ = segments_.size();
        return true;
    }
    if (elsewhere_ == nullptr && !read_footprints(threads, goes_on)) return false;
    ahead_ = 2 * threads;
    for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
    return true;
}

// Of the sources that come before the last segment.
bool Segments::read_footprints(unsigned threads, const std::function<bool()>& goes_on) {
    uint32_t count = 0;
    for (uint64_t command = 0; command < segments_.back().begin; ++command) {
        const uint32_t source = source_of_command_[command];
        if (source != kNoSource) count = std::max(count, source + 1);
    }
    const replay::Residency residency{config_.sms, config_.max_ctas_per_sm, config_.max_warps_per_sm,
                                      config_.registers_per_sm, config_.shared_memory_per_sm};
    std::atomic<uint64_t> bytes{0};
    const auto read = [&](uint64_t source) {
        if (bytes > most_bytes_) return;
        try {
            footprints_[source] = pack(replay::read_footprint(sources_.paths[source], residency));
            bytes += footprints_[source].size();
        } catch (const TraceError&) {  // whoever simulates it will say so
        }
    };
    return in_parallel(count, threads, read, goes_on);
}

bool Segments::wait_for(uint64_t command, const std::function<bool()>& goes_on) {
    while (passed_ < segments_.size() && segments_[passed_].begin <= command) {
        std::unique_lock<std::mutex> held(mutex_);
        const auto is_done = [this] { return bool{done_[passed_]}; };
        while (!changed_.wait_for(held, kBetweenCalls, is_done)) {
            held.unlock();
            if (!goes_on()) return false;
            held.lock();
        }
        ++passed_;
        changed_.notify_all();
    }
    return true;
}

void Segments::work() {
    const Interruption interruption([this] {
        if (stopped_) throw Interrupted();
    });
    std::unique_ptr<Runner> runner;
    std::unique_lock<std::mutex> held(mutex_);
    while (true) {
        changed_.wait(held, [this] { return stopped_ || begun_ == segments_.size() || begun_ < passed_ + ahead_; });
        if (stopped_ || begun_ == segments_.size()) return;
        const size_t segment = begun_++;
        held.unlock();
        try {
            if (elsewhere_ != nullptr) {
                simulate_elsewhere(segments_[segment]);
            } else {
                if (runner == nullptr)
                    runner = std::make_unique<Runner>(config_, outcomes_, most_bytes_ / kMostRunners);
                simulate(segments_[segment], *runner);
            }
        } catch (const Interrupted&) {
        } catch (const std::bad_alloc&) {  // the run does without
        }
        held.lock();
        done_[segment] = true;
        changed_.notify_all();
    }
}

void Segments::simulate(const Segment& segment, Runner& runner) {
    replay(segment, runner);
    const auto goes_on = [this] { return !stopped_; };
    for (uint64_t command = segment.begin; command < segment.end && !stopped_; ++command) {
        const TraceList::Command& present = list_.commands[command];
        const uint32_t source = source_of_command_[command];
        if (present.kind == TraceList::Kind::memcpy) {
            runner.copy_from_host(present.address, present.bytes);
        } else if (source != kNoSource) {
            try {
                if (runner.run(source, present.path, goes_on) == nullptr) return;
            } catch (const std::runtime_error&) {  // TraceError, LaunchError: the run will say so
            }
        }
    }
}

void Segments::simulate_elsewhere(const Segment& segment) {
    SegmentTask task{before(segment), {}};
    std::vector<uint32_t> sources;
    for (uint64_t command = segment.begin; command < segment.end; ++command) {
        const TraceList::Command& present = list_.commands[command];
        const uint32_t source = source_of_command_[command];
        if (present.kind == TraceList::Kind::launch && source == kNoSource) continue;
        task.commands.push_back(present);
        if (source != kNoSource) task.commands.back().path = sources_.paths[source];
        sources.push_back(source);
    }
    add_outcomes(elsewhere_(task), sources, outcomes_);
}

// The copies and the last launches of distinct traces before a segment, oldest first; not so many that sending them
// costs more than a state that is not quite right.
std::vector<TraceList::Command> Segments::before(const Segment& segment) const {
    std::vector<TraceList::Command> found;
    std::unordered_set<uint32_t> met;
    const uint64_t first = segment.begin > kLongestLookBack ? segment.begin - kLongestLookBack : 0;
    for (uint64_t command = segment.begin; command > first && found.size() < kMostBefore; --command) {
        const TraceList::Command& present = list_.commands[command - 1];
        const uint32_t source = source_of_command_[command - 1];
        if (present.kind == TraceList::Kind::memcpy) {
            found.push_back(present);
        } else if (source != kNoSource && met.insert(source).second) {
            found.push_back(present);
            found.back().path = sources_.paths[source];
        }
    }
    std::reverse(found.begin(), found.end());
    return found;
}

const std::vector<replay::LineTouch>& Segments::touches(uint32_t trace) {
    const std::string& packed = footprints_[source_of_path_.at(history_.path(trace))];
    if (!unpack(packed, footprint_)) footprint_.touches.clear();
    return footprint_.touches;
}

void Segments::replay(const Segment& segment, Runner& runner) {
    const std::lock_guard<std::mutex> held(history_mutex_);
    const auto touches_of = [this](uint32_t trace) -> const std::vector<replay::LineTouch>& { return touches(trace); };
    history_.walk(segment.launches_before, runner.l2_lines(), touches_of, walk_);
    runner.replay(walk_.touches);
}

}  // namespace kernelpoint::fast_model
