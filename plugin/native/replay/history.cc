#include "native/replay/history.h"

#include <algorithm>
#include <map>
#include <stdexcept>

namespace kernelpoint::replay {

// Model: a launch reads what it stores to only where it reads it alone as well: a store allocates without a read.
void FirstReads::add_trace(const std::vector<LineTouch>& touches) {
    for (const LineTouch& touch : touches) {
        const uint8_t known = filled_.filled(touch);
        const auto read = static_cast<uint8_t>(touch.filled & ~touch.written & ~known);
        if (read != 0) reads_.push_back({{touch.line, read, 0, read, 0, Path::data}, false});
        if ((touch.filled & ~known) != 0) filled_.add({touch, false});
    }
    ends_.push_back(reads_.size());
}

void FirstReads::add_copy(uint64_t first_line, uint64_t last_line) {
    for (uint64_t line = first_line;; ++line) {
        const Touch touch{{line, 0xf, 0, 0xf, 0, Path::data}, true};
        if (copied_.add(touch)) reads_.push_back(touch);
        if (line == last_line) break;
    }
    ends_.push_back(reads_.size());
}

void FirstReads::put_before(uint32_t sources, std::vector<Touch>& touches) const {
    if (sources == 0) return;
    touches.insert(touches.begin(), reads_.begin(), reads_.begin() + static_cast<std::ptrdiff_t>(ends_[sources - 1]));
}

History::History(const Launches& launches, bool with_copies) {
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

void History::walk(uint64_t launch, uint64_t lines, const TouchesOf& touches_of, TouchesBefore& result) {
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

void History::put_first_reads(uint64_t launch, const TouchesOf& touches_of, TouchesBefore& result) {
    const uint32_t earlier = distinct_[launches_[launch]];
    for (auto number = static_cast<uint32_t>(first_reads_.sources()); number < earlier; ++number) {
        const Source& source = sources_[number];
        if (source.path.empty())
            first_reads_.add_copy(source.first_line, source.last_line);
        else
            first_reads_.add_trace(touches_of(number));
    }
    first_reads_.put_before(earlier, result.touches);
}

void History::add(const Touch& touch, TouchesBefore& result) {
    if (seen_.add(touch)) result.touches.push_back(touch);
}

void History::add_copy(const Source& copy, uint64_t lines, TouchesBefore& result) {
    for (uint64_t line = copy.last_line; seen_.lines() < lines; --line) {
        add({{line, 0xf, 0, 0xf, 0, Path::data}, true}, result);
        if (line == copy.first_line) return;
    }
}

}  // namespace kernelpoint::replay
