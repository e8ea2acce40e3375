// Segments of a list, simulated ahead of the run on several threads, or elsewhere, for each of which a thread waits.
//
// Each begins in the state that replay gives. That state may differ from what the launches before really leave, so
// nothing of a segment enters the result by itself: its outcomes are offered to the run, which takes one only where it
// fits the state that the run has come to. A wrong state costs time, never a cycle.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "fast_model/list/delegation.h"
#include "fast_model/list/effort.h"
#include "fast_model/list/runner.h"
#include "fast_model/list/sources.h"
#include "native/replay/history.h"

namespace kernelpoint::fast_model {

struct Segment {
    uint64_t begin = 0, end = 0;   // commands of the list; the first is a launch
    uint64_t launches_before = 0;  // with a trace
};

// Segments of about `bytes` of text that no launch before had. Launches that only repeat are in none where they come
// in long rows: their outcomes are known when they come. The borders depend on the list alone.
std::vector<Segment> segments_of(const TraceList& list, const Sources& sources, uint64_t bytes);

class Segments {
public:
    Segments(const GpuConfig& config, const TraceList& list, const Sources& sources, Outcomes& outcomes,
             const Effort& effort, std::function<std::string(const SegmentTask&)> elsewhere);
    ~Segments();

    // Begins; false if `goes_on` ended it.
    bool start(unsigned threads, const std::function<bool()>& goes_on);
    // The run has come to a command: waits until the segment that it lies in is done. False if `goes_on` ended it.
    bool wait_for(uint64_t command, const std::function<bool()>& goes_on);

private:
    bool read_footprints(unsigned threads, const std::function<bool()>& goes_on);
    void work();
    void simulate(const Segment& segment, Runner& runner);
    void simulate_elsewhere(const Segment& segment);
    std::vector<TraceList::Command> before(const Segment& segment) const;
    void replay(const Segment& segment, Runner& runner);
    const std::vector<replay::LineTouch>& touches(uint32_t trace);

    const GpuConfig config_;
    const TraceList& list_;
    const Sources& sources_;
    Outcomes& outcomes_;
    const uint64_t most_bytes_;
    const std::function<std::string(const SegmentTask&)> elsewhere_;
    const std::vector<Segment> segments_;
    std::vector<uint32_t> source_of_command_;  // kNoSource for a copy
    std::unordered_map<std::string, uint32_t> source_of_path_;
    std::vector<std::string> footprints_;  // packed, by source; empty where not read

    std::mutex history_mutex_;
    replay::History history_;
    replay::Walk walk_;
    replay::Footprint footprint_;

    std::mutex mutex_;
    std::condition_variable changed_;
    size_t begun_ = 0, passed_ = 0;  // segments that a thread has taken; that the run has come to
    std::vector<bool> done_;
    unsigned ahead_ = 0;  // segments that may be begun before the run comes to them
    std::atomic<bool> stopped_{false};
    std::vector<std::thread> threads_;
};

}  // namespace kernelpoint::fast_model
