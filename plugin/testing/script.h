// Instructions of a scripted plugin, from the lines of its script:
//
//     pass 0 3 1:5            the launches to simulate in the next pass, as launch or process:launch
//     skip 3                  launches that are asked about and answered with KP_SKIP, or KP_EXECUTE
//     interval 100            cycles between progress calls
//     stop 3 700              tell launch 3 to stop at the first progress call from cycle 700 on; "stop * 700": any
//     launch
//     whole 3 900 50          cycles and instructions that launch 3 is projected to have when it was stopped
//     estimate 100 10         cycles and instructions of a launch that was not simulated
//     done 2 900 50 [3]       launch 2 was simulated before, by the process that this one resumes; each of its counters
//     is 3
//     name 3 gemm             the kernel name of launch 3, as if it had been read before
//     uncounted 3             launches whose results are no part of the sample
//     skip_latency 3          launches whose constant latency is skipped; none named: all
//     replay 3                launches that begin with replayed state; none named: all
//     leaves 3 4096 15 0 15 0 [1]   what launch 3 did to the line at 4096 (touched, written, filled, copied, opaque):
//                             part of what is replayed before every later launch of its process, in this order
//     bytes 3 0a1b            kp_replay.bytes of launch 3, in hexadecimal digits
//     ctas 3 80               CTAs of launch 3
//     grid 3 80 4 1           CTAs, warps of a CTA, its last warp: of the launches right before launch 3, newest first
//     bound l2_misses 0.3     relative half-width of a counter's total; none stated otherwise
//     say hello               log this word when the session opens
//     no_bound, degraded      flags of the summary
//     pending 2               so many KP_PENDING before the end of each pass
//     fail launch             "open", "next", "replay", "complete", "progress", "abort" or "finish" fails
#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "kernelpoint/state.h"

namespace kernelpoint::testing {

using Unit = std::pair<uint32_t, uint64_t>;  // process, launch

struct Cost {
    double cycles = 0, instructions = 0, counter = 0;
};

struct Script {
    std::vector<std::set<Unit>> passes;
    std::set<Unit> skipped, uncounted;
    uint32_t interval = 0, flags = 0;
    std::map<Unit, uint64_t> stops;
    uint64_t stop_any = UINT64_MAX, pending = 0;
    std::map<Unit, Cost> projections, done;
    std::map<Unit, std::string> names;
    Cost other;
    std::string failing, message;
    std::map<std::string, double> counter_bounds;  // relative half-widths
    bool replays_all = false;
    std::set<Unit> replays;
    bool skips_all_latencies = false;
    std::set<Unit> skipped_latencies;
    std::map<Unit, std::vector<kp_touch>> touches;
    std::map<Unit, uint64_t> ctas;
    std::map<Unit, std::vector<kp_grid>> grids;
    std::map<Unit, std::string> bytes;
};

inline Unit read_unit(const std::string& word) {
    const size_t colon = word.find(':');
    if (colon == std::string::npos) return {0, std::stoull(word)};
    return {static_cast<uint32_t>(std::stoul(word)), std::stoull(word.substr(colon + 1))};
}

inline std::string text_of(const Unit& unit) {
    return std::to_string(unit.first) + ":" + std::to_string(unit.second);
}

inline kp_touch read_touch(std::istringstream& words) {
    uint64_t line = 0;
    unsigned touched = 0, written = 0, filled = 0, copied = 0;
    words >> line >> touched >> written >> filled >> copied;
    const auto byte = [](unsigned number) { return static_cast<uint8_t>(number); };
    uint32_t opaque = 0;
    words >> opaque;
    return {line, byte(touched), byte(written), byte(filled), byte(copied), opaque};
}

inline kp_grid read_grid(std::istringstream& words) {
    kp_grid grid{};
    words >> grid.ctas >> grid.warps >> grid.last_warp;
    return grid;
}

inline std::string read_bytes(std::istringstream& words) {
    std::string digits, bytes;
    words >> digits;
    for (size_t i = 0; i + 1 < digits.size(); i += 2)
        bytes += static_cast<char>(std::stoul(digits.substr(i, 2), nullptr, 16));
    return bytes;
}

inline void read_launch_line(Script& script, const std::string& word, std::istringstream& words) {
    std::string which;
    if (!(words >> which)) return;
    if (word == "stop" && which == "*") {
        words >> script.stop_any;
        return;
    }
    const Unit unit = read_unit(which);
    if (word == "stop") words >> script.stops[unit];
    if (word == "whole") words >> script.projections[unit].cycles >> script.projections[unit].instructions;
    if (word == "done") {
        Cost& done = script.done[unit];
        words >> done.cycles >> done.instructions;
        if (!(words >> done.counter)) done.counter = 0;
    }
    if (word == "name") words >> script.names[unit];
    if (word == "leaves") script.touches[unit].push_back(read_touch(words));
    if (word == "ctas") words >> script.ctas[unit];
    if (word == "grid") script.grids[unit].push_back(read_grid(words));
    if (word == "bytes") script.bytes[unit] = read_bytes(words);
}

inline void read_line(Script& script, const std::string& word, std::istringstream& words) {
    std::string which;
    if (word == "pass") script.passes.emplace_back();
    while (word == "pass" && words >> which) script.passes.back().insert(read_unit(which));
    while (word == "skip" && words >> which) script.skipped.insert(read_unit(which));
    while (word == "uncounted" && words >> which) script.uncounted.insert(read_unit(which));
    if (word == "interval") words >> script.interval;
    if (word == "estimate") words >> script.other.cycles >> script.other.instructions;
    if (word == "pending") words >> script.pending;
    if (word == "replay") script.replays_all = words.eof();
    while (word == "replay" && words >> which) script.replays.insert(read_unit(which));
    if (word == "skip_latency") script.skips_all_latencies = words.eof();
    while (word == "skip_latency" && words >> which) script.skipped_latencies.insert(read_unit(which));
    if (word == "bound" && words >> which) words >> script.counter_bounds[which];
    if (word == "say") words >> script.message;
    if (word == "fail") words >> script.failing;
    if (word == "no_bound") script.flags |= KP_SUMMARY_NO_BOUND;
    if (word == "degraded") script.flags |= KP_SUMMARY_DEGRADED;
    static const std::set<std::string> of_a_launch{"stop", "whole", "done", "name", "leaves", "bytes", "ctas", "grid"};
    if (of_a_launch.count(word) != 0) read_launch_line(script, word, words);
}

inline Script read_script(std::ifstream& file) {
    Script script;
    for (std::string line, word; std::getline(file, line);) {
        std::istringstream words(line);
        if (words >> word) read_line(script, word, words);
    }
    return script;
}

}  // namespace kernelpoint::testing
