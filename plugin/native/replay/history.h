// The launches and copies of a list in program order, and the walk back over them from one launch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "native/replay/footprint.h"
#include "native/trace/launches.h"
#include "native/trace/stream_hash.h"

namespace kernelpoint::replay {

// An access during a walk: a LineTouch, or a line that a copy from the host has filled.
struct Touch : LineTouch {
    bool copied = false;  // clean and filled, whatever it was before
};

// Hash table of memory lines by line, SM and path, which is emptied in constant time.
class SeenLines {
public:
    SeenLines() : slots_(1024) {}

    void clear() {
        lines_ = 0;
        if (++round_ != 0) return;
        slots_.assign(slots_.size(), Slot{});
        round_ = 1;
    }
    // Adds an access older than all before it; false if it adds nothing new about its line.
    bool add(const Touch& older) {
        LineTouch& seen = insert(older);
        const uint8_t touched = seen.touched, written = seen.written, filled = seen.filled;
        // Nothing that was before a copy is left of a line.
        seen.touched |= older.copied ? uint8_t{0xf} : older.touched;
        seen.written |= older.copied ? uint8_t{0xf} : older.written;
        seen.filled |= older.copied ? uint8_t{0xf} : older.filled;
        return (older.touched & ~touched) != 0 || (older.written & ~written) != 0 || (older.filled & ~filled) != 0;
    }
    uint64_t lines() const { return lines_; }
    // Sectors of a line that the accesses so far have filled.
    uint8_t filled(const LineTouch& place) {
        const Slot& slot = slot_of(place);
        return slot.round == round_ ? slot.seen.filled : 0;
    }

private:
    struct Slot {
        LineTouch seen;
        uint32_t round = 0;  // the slot is free where this is not the present round
    };

    Slot& slot_of(const LineTouch& place) {
        const uint64_t mask = slots_.size() - 1;
        const uint64_t who = uint64_t{place.sm} << 2 | static_cast<uint64_t>(place.path);
        uint64_t i = mix(place.line ^ who << 44) & mask;
        while (slots_[i].round == round_ && !slots_[i].seen.is_same_place(place)) i = (i + 1) & mask;
        return slots_[i];
    }
    LineTouch& insert(const LineTouch& place) {
        Slot* slot = &slot_of(place);
        if (slot->round == round_) return slot->seen;
        if (2 * ++lines_ > slots_.size()) {
            grow();
            slot = &slot_of(place);
        }
        *slot = Slot{{}, round_};
        slot->seen.line = place.line;
        slot->seen.sm = place.sm;
        slot->seen.path = place.path;
        return slot->seen;
    }
    void grow() {
        std::vector<Slot> old(slots_.size() * 2);
        old.swap(slots_);
        for (const Slot& slot : old) {
            if (slot.round == round_) slot_of(slot.seen) = slot;
        }
    }

    std::vector<Slot> slots_;  // a power of two, at most half of them taken
    uint32_t round_ = 1;
    uint64_t lines_ = 0;
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
    History(const Launches& launches, bool with_copies) {
        std::vector<uint32_t> of_content(launches.paths.size(), kNoContent);
        std::map<std::pair<uint64_t, uint64_t>, uint32_t> copies;
        const auto add_event = [this](uint32_t source, uint32_t distinct) {
            distinct_.push_back(distinct);
            events_.push_back(source);
        };
        const auto on_launch = [&](uint64_t launch) {
            const uint32_t content = launches.contents[launch];
            if (content == kNoContent)
                throw std::invalid_argument("launch " + std::to_string(launch) +
                                            " was not traced; replay needs a trace of every launch");
            const auto number = static_cast<uint32_t>(sources_.size());
            launches_.push_back(static_cast<uint32_t>(events_.size()));
            if (of_content[content] == kNoContent) {
                of_content[content] = number;
                sources_.push_back({launches.paths[content]});
            }
            add_event(of_content[content], number);
        };
        const auto on_copy = [&](const Launches::Copy& copy) {
            if (!with_copies || copy.bytes == 0) return;
            const auto number = static_cast<uint32_t>(sources_.size());
            const auto [known, is_new] = copies.emplace(std::make_pair(copy.address, copy.bytes), number);
            const uint64_t last = copy.address + (copy.bytes - 1);
            if (is_new) sources_.push_back({{}, copy.address / kLineBytes, last / kLineBytes});
            add_event(known->second, number);
        };
        launches.each(on_launch, on_copy);
        met_in_.assign(sources_.size(), 0);
    }

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
    void walk(uint64_t launch, uint64_t lines, const TouchesOf& touches_of, TouchesBefore& result) {
        result.touches.clear();
        result.launches = 0;
        seen_.clear();
        ++walk_;
        const uint32_t end = launches_[launch];
        uint32_t left = distinct_[end];  // sources not met yet
        for (uint32_t event = end; event > 0 && left > 0 && seen_.lines() < lines; --event) {
            const uint32_t number = events_[event - 1];
            const Source& source = sources_[number];
            if (!source.path.empty()) ++result.launches;
            if (met_in_[number] == walk_) continue;
            met_in_[number] = walk_;
            --left;
            if (source.path.empty()) {
                add_copy(source, lines, result);
                continue;
            }
            const std::vector<LineTouch>& touches = touches_of(number);
            for (auto touch = touches.rbegin(); touch != touches.rend() && seen_.lines() < lines; ++touch) {
                add({*touch, false}, result);
            }
        }
        result.covered = seen_.lines() >= lines;
        std::reverse(result.touches.begin(), result.touches.end());
    }

    // Inserts the first reads of earlier launches before the accesses of a walk that did not cover all lines. Cost:
    // the footprint of each distinct content, once for all walks.
    void put_first_reads(uint64_t launch, const TouchesOf& touches_of, TouchesBefore& result) {
        const uint32_t earlier = distinct_[launches_[launch]];
        for (auto number = static_cast<uint32_t>(first_ends_.size()); number < earlier; ++number) {
            const Source& source = sources_[number];
            if (source.path.empty())
                add_first_copy(source);
            else
                add_first_reads(touches_of(number));
            first_ends_.push_back(first_reads_.size());
        }
        if (earlier == 0) return;
        const auto end = first_reads_.begin() + static_cast<std::ptrdiff_t>(first_ends_[earlier - 1]);
        result.touches.insert(result.touches.begin(), first_reads_.begin(), end);
    }

private:
    // Source of memory accesses in a list: a content, or a copy to [first_line, last_line] if the path is empty.
    struct Source {
        std::string path;
        uint64_t first_line = 0, last_line = 0;
    };

    void add(const Touch& touch, TouchesBefore& result) {
        if (seen_.add(touch)) result.touches.push_back(touch);
    }
    // Model: a launch reads what it stores to only where it reads it alone as well: a store allocates without a read.
    void add_first_reads(const std::vector<LineTouch>& touches) {
        for (const LineTouch& touch : touches) {
            const uint8_t known = filled_.filled(touch);
            const auto read = static_cast<uint8_t>(touch.filled & ~touch.written & ~known);
            if (read != 0) first_reads_.push_back({{touch.line, read, 0, read, 0, Path::data}, false});
            if ((touch.filled & ~known) != 0) filled_.add({touch, false});
        }
    }
    void add_first_copy(const Source& copy) {
        for (uint64_t line = copy.first_line;; ++line) {
            const Touch touch{{line, 0xf, 0, 0xf, 0, Path::data}, true};
            if (copied_.add(touch)) first_reads_.push_back(touch);
            if (line == copy.last_line) break;
        }
    }
    void add_copy(const Source& copy, uint64_t lines, TouchesBefore& result) {
        for (uint64_t line = copy.last_line; seen_.lines() < lines; --line) {
            add({{line, 0xf, 0, 0xf, 0, Path::data}, true}, result);
            if (line == copy.first_line) return;
        }
    }

    std::vector<Source> sources_;     // numbered in the order of their first events
    std::vector<uint32_t> events_;    // sources, in program order
    std::vector<uint32_t> distinct_;  // distinct sources of the events before each event
    std::vector<uint32_t> launches_;  // the event of each launch
    SeenLines seen_;
    std::vector<uint32_t> met_in_;  // for each source the walk that met it last
    uint32_t walk_ = 0;
    // First reads of each memory line in the list, which came from DRAM and opened its rows, and copies, for the
    // sources so far, in their order.
    SeenLines filled_, copied_;
    std::vector<Touch> first_reads_;
    std::vector<size_t> first_ends_;  // of each source in first_reads_
};

}  // namespace kernelpoint::replay
