// The footprint of one launch: what it last did to each sector of global memory, in order of the last touches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <vector>

#include "native/trace/trace.h"

namespace kernelpoint::replay {

constexpr uint64_t kLineBytes = 128, kSectorBytes = 32;
constexpr uint64_t kMemorySteps = 50;   // see read_footprint
constexpr uint32_t kNearSectors = 128;  // that a warp finds again in the L1; see read_footprint

// Path of an access to what all SMs share: as data, as instruction fetch, or around the L1.
enum class Path : uint8_t { data = 0, fetch = 1, around = 2 };  // through the SM's L1; its instruction cache; around

// A memory line and the sectors accessed in it; each mask has one bit for each 32-byte sector.
struct LineTouch {
    uint64_t line = 0;    // address / 128
    uint8_t touched = 0;  // read or written
    uint8_t written = 0;  // of those, written
    uint8_t filled = 0;   // of those, read, or written in every byte: complete without what memory holds
    uint16_t sm = 0;      // that touched it; 0 where SMs are not told apart
    Path path = Path::data;

    bool is_same_place(const LineTouch& other) const { return line == other.line && sm == other.sm && path == other.path; }
    bool operator==(const LineTouch& other) const {
        return is_same_place(other) && touched == other.touched && written == other.written && filled == other.filled;
    }
};

// Limits on what the simulated GPU runs at the same time. 0: unknown.
struct Residency {
    uint32_t sms = 0, ctas_per_sm = 0, warps_per_sm = 0, registers_per_sm = 0, shared_memory_per_sm = 0;

    // Number of CTAs that an SM runs at once, for CTAs with these warps, registers and bytes of shared memory: at
    // least 1, UINT32_MAX if no limit is known.
    uint64_t ctas_of_sm(uint64_t warps, uint64_t registers, uint64_t shared_memory) const {
        uint64_t most = ctas_per_sm != 0 ? ctas_per_sm : UINT32_MAX;
        const auto limit = [&most](uint64_t has, uint64_t needs) {
            if (has != 0 && needs != 0) most = std::min(most, has / needs);
        };
        limit(warps_per_sm, warps);
        limit(registers_per_sm, registers);
        limit(shared_memory_per_sm, shared_memory);
        return std::max<uint64_t>(most, 1);
    }

    // Number of CTAs of a launch that run at the same time, at least 1; 1 if `sms` is unknown.
    uint64_t resident_ctas(const LaunchHeader& launch) const;
};

// CTAs of a launch, from which the state of the SMs' warp schedulers follows.
struct Grid {
    uint64_t ctas = 0;       // in the trace
    uint32_t warps = 0;      // of a CTA
    uint32_t last_warp = 0;  // of the last CTA, the warp that ends last; 0 where SMs are told apart

    bool operator==(const Grid& other) const {
        return ctas == other.ctas && warps == other.warps && last_warp == other.last_warp;
    }
    bool operator!=(const Grid& other) const { return !(*this == other); }
};

struct Footprint {
    Grid grid;
    std::vector<LineTouch> touches;  // each sector once, for each SM and path where they are told apart; oldest first
};

// Times at which slots for CTAs become free.
class Slots {
public:
    explicit Slots(uint64_t count) {
        for (uint64_t i = 0; i < count; ++i) free_at_.push(0);
    }
    uint64_t take() {
        const uint64_t at = free_at_.top();
        free_at_.pop();
        return at;
    }
    void give(uint64_t at) { free_at_.push(at); }

private:
    std::priority_queue<uint64_t, std::vector<uint64_t>, std::greater<uint64_t>> free_at_;
};

// Reads the memory accesses of a launch in an approximate order. Model: a CTA begins when a slot of the GPU is free,
// in the order of the trace, and a warp executes an instruction in one step and waits `kMemorySteps` more for a load.
// This gives the order in which CTAs that run side by side touch memory; it is no timing. A sector that a warp loads
// again before it has loaded `kNearSectors` others comes from the L1 (a warp's share of 128 KB): what all SMs share is
// not touched by it. Loads, stores and atomics of global memory count, generic ones outside the window of shared
// memory (16 MiB from its base) included. Local memory does not: its addresses do not say which SM's it is. Throws
// TraceError.
Footprint read_footprint(const std::string& trace_path, const Residency& residency);

// Raised whenever equal traces would give other bytes than before.
constexpr uint32_t kFootprintVersion = 5;

// Packs a footprint into bytes, about two for each line.
std::string pack(const Footprint& footprint);
// Unpacks a footprint; false if the bytes are not one.
bool unpack(const std::string& bytes, Footprint& footprint);

}  // namespace kernelpoint::replay
