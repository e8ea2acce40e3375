// The launches and copies of a list in program order, and the walk back over them from one launch.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "native/replay/seen_lines.h"
#include "native/trace/launches.h"

namespace kernelpoint::replay {

// First reads of each memory line in a list: they came from DRAM and opened its rows. Sources (traces and copies) are
// ordered by their first event.
class FirstReads {
public:
    size_t sources() const { return ends_.size(); }
    void add_trace(const std::vector<LineTouch>& touches);
    void add_copy(uint64_t first_line, uint64_t last_line);

    // Inserts the first reads of the first `sources` before the contents of `touches`. Copies from the host are
    // included.
    void put_before(uint32_t sources, std::vector<Touch>& touches) const;

private:
    SeenLines filled_, copied_;
    std::vector<Touch> reads_;
    std::vector<size_t> ends_;  // of each source in `reads_`
};

struct TouchesBefore {
    std::vector<Touch> touches;  // oldest first; an older touch of a line that comes again adds something to the newer
    uint64_t launches = 0;       // earlier launches that were passed
    bool covered = false;        // as many lines were met as were asked for
};

class History {
public:
    // Makes the history of a list. `with_copies`: include copies from the host. Throws std::invalid_argument if a
    // launch has no content.
    History(const Launches& launches, bool with_copies);

    uint64_t launches() const { return launches_.size(); }
    // Number of a launch's content (equal traces have equal numbers), and the path of one trace of it.
    uint32_t trace_of(uint64_t launch) const { return events_[launches_[launch]]; }
    size_t sources() const { return sources_.size(); }
    const std::string& path(uint32_t trace) const { return sources_[trace].path; }

    // The touches of a trace; they live until the next call.
    using TouchesOf = std::function<const std::vector<LineTouch>&(uint32_t trace)>;

    // Collects accesses of earlier launches, newest first, until they cover `lines` distinct lines or the list begins.
    // A content that was already met is passed, because it accesses the same lines. Cost: the footprints of the
    // distinct contents, and one comparison for each launch passed. `result` keeps its memory from walk to walk.
    void walk(uint64_t launch, uint64_t lines, const TouchesOf& touches_of, TouchesBefore& result);

    // Inserts the first reads of earlier launches before the accesses of a walk that did not cover all lines. Cost:
    // the footprint of each distinct content, once for all walks.
    void put_first_reads(uint64_t launch, const TouchesOf& touches_of, TouchesBefore& result);

private:
    // Source of memory accesses in a list: a content, or a copy to [first_line, last_line] if the path is empty.
    struct Source {
        std::string path;
        uint64_t first_line = 0, last_line = 0;
    };

    void add(const Touch& touch, TouchesBefore& result);
    void add_copy(const Source& copy, uint64_t lines, TouchesBefore& result);

    std::vector<Source> sources_;     // numbered in the order of their first events
    std::vector<uint32_t> events_;    // sources, in program order
    std::vector<uint32_t> distinct_;  // distinct sources of the events before each event
    std::vector<uint32_t> launches_;  // the event of each launch
    SeenLines seen_;
    std::vector<uint32_t> met_in_;  // for each source the walk that met it last
    uint32_t walk_ = 0;
    FirstReads first_reads_;
};

}  // namespace kernelpoint::replay
