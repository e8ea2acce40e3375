// One of MacSim's cores, as far as the order of branches depends on it: fetched, predicted, executed, resolved.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "simulators/macsim/cores/core_state.h"
#include "simulators/macsim/cores/round_robin.h"
#include "simulators/macsim/cores/warp_code.h"

namespace kernelpoint::replay::macsim {

// Model: two warps in turn fetch an instruction each every four cycles, from an instruction cache; an instruction a
// cycle passes a queue into a window of 16 that all warps share. Every four cycles, at a turn of their own (see
// SmState::phase), each of two schedulers issues the oldest ready instruction of a warp, in order within a warp, and
// the window is filled up behind them; they take turns in being the first. Results come after a fixed time, those of
// loads after one for each level of the caches; a bank of shared memory serves one access in each turn. A branch is
// predicted when it is fetched and resolved when it is issued. A warp whose branch is mispredicted fetches nothing
// until then, and its next fetches go on at the line before the branch. A warp ends when all that it issued has come to
// its end; where none is left to fetch, fetching stops at its turn until a CTA begins.
struct CoreTiming {
    uint64_t period = 4;   // cycles between fetches, and between issues
    uint32_t fetches = 2;  // warps that fetch, and schedulers that issue, in each
    uint64_t front = 10;   // cycles from fetch to the queue
    uint64_t queued = 4;   // and from there to where the window is filled from
    size_t fetched = 256;  // instructions that wait for the queue
    size_t queue = 32, window = 16;
    uint32_t moved = 4;                   // instructions that fill the window at a time
    uint64_t compute = 25;                // cycles from issue to result
    uint64_t store[3] = {30, 301, 421};   // cycles from issue to a store's end
    uint64_t shared = 2, constant = 4;    // of accesses to these memories
    uint64_t load[3] = {40, 300, 420};    // found in the L1, in the last level, in DRAM
    uint64_t fetch_miss[2] = {200, 320};  // an instruction line in the last level, in DRAM
    uint64_t restart = 3;                 // cycles to the next fetches where fetching had stopped
};

// A range of LaunchCode::warps.
struct CtaWarps {
    uint32_t first = 0, count = 0;
};

constexpr uint64_t kNever = UINT64_MAX;

// Of one core in a launch, or of all. A request that meets another of its core for its line is merged.
struct Accesses {
    uint64_t fetch_misses = 0, l1 = 0, l1_misses = 0, merged = 0, last_level_misses = 0, last_level_fills = 0;

    void add(const Accesses& other) {
        fetch_misses += other.fetch_misses;
        l1 += other.l1;
        l1_misses += other.l1_misses;
        merged += other.merged;
        last_level_misses += other.last_level_misses;
        last_level_fills += other.last_level_fills;
    }
};

// Cycle in which each register of a warp is ready.
using Registers = std::array<uint64_t, 256>;

// A warp; those of an SM are numbered in the order in which they begin.
struct Resident {
    const WarpCode* code = nullptr;
    uint32_t cta = 0;        // index into Core::ctas_
    uint32_t registers = 0;  // index into Core::registers_
    uint32_t fetched = 0, issued = 0, in_window = 0;
    bool mispredicted = false;
    uint64_t waits_until = 0;  // for an instruction line, or for the end of a recovery
    uint64_t retired = 0;      // cycle in which all that was issued has come to its end, in order
    uint64_t line = 0;         // it fetches from
};

struct InFlight {
    uint32_t warp = 0;
    const WarpInstruction* instruction = nullptr;
    uint64_t moves_at = 0;
    bool mispredicted = false;
    uint32_t history = 0, recovered = 0;  // of the predictor
};

// An instruction in the window. `ready_at`: the cycle in which its sources are; kNever behind another of its warp.
struct Waiting {
    InFlight entry;
    uint64_t ready_at = kNever;
};

struct RunningCta {
    uint32_t first = 0, warps = 0;  // numbers of its warps
    uint32_t ended = 0, issued = 0, at_barrier = 0;
    uint64_t retired = 0;  // cycle in which the last of `issued` warps ends
};

// A CTA that begins in a cycle of the core.
struct Arrival {
    uint64_t at;
    CtaWarps cta;
};

// Something that happens to a warp's CTA later.
struct Event {
    uint64_t at;
    uint32_t warp;
    bool is_end;  // else it has come to a barrier
};

// The cache that all cores share, in a launch.
struct LastLevel {
    LineSet& lines;
    LinesOnTheirWay on_their_way;  // by the clock that all cores share
};

class Core {
public:
    Core(const LaunchCode& code, SmState& sm, LastLevel& last_level)
        : code_(code),
          sm_(sm),
          last_level_(last_level),
          history_(sm.predictor.history),
          lead_(sm.phase),
          first_scheduler_(sm.scheduler) {}

    // Cycles of the core begin in this one of the clock that all cores share.
    void begin_in(uint64_t cycle) { first_ = cycle; }

    // Cycles of the core: its schedulers' first turn is in 0.
    uint64_t now() const { return now_; }
    uint64_t fetches_at() const { return now_ + lead_; }
    uint64_t running() const { return running_; }
    bool is_idle() const { return live_.empty() && arrivals_.empty(); }
    uint64_t mispredictions() const { return mispredictions_; }
    const Accesses& accesses() const { return accesses_; }
    bool has_learned() const { return changed_ || sm_.predictor.history != history_; }

    // The last warp's end.
    uint64_t end() const { return end_; }

    void begin(const CtaWarps& cta);

    // A CTA takes the place of one that ends in cycle `at`.
    void begin_at(uint64_t at, const CtaWarps& cta) { arrivals_.push_back({at, cta}); }

    // The schedulers' next turn. Returns the cycles in which CTAs end whose last instruction was issued.
    const std::vector<uint64_t>& issue_turn();

    // The fetches behind it.
    void fetch_turn();

    // Leaves turns to the next launch as they are behind the last warp's end; in the cycle in which the launch ends the
    // schedulers come behind the next one's beginning.
    void stop(bool is_last);

private:
    void happen(uint64_t until, bool is_end);
    void arrive();
    void end(uint32_t warp);
    void reach_barrier(uint32_t number);
    uint32_t scheduler_at(uint64_t cycle) const;
    void issue_all();
    void issue(uint32_t scheduler);

    // A bank of shared memory serves one access in each turn.
    bool finds_bank(const WarpInstruction& instruction);
    uint64_t ready_at(const InFlight& entry) const;
    void execute(const InFlight& entry);

    // The oldest instruction of the warp in the window may issue once its sources are ready.
    void make_oldest_ready(uint32_t number);
    uint64_t latency_of(const WarpInstruction& instruction);
    // True if the last level has the line. A miss is counted, also of a line that is on its way from DRAM.
    bool finds_in_last_level(uint64_t line, uint64_t now);
    void retire(Resident& warp, uint64_t at);
    void resolve(Resident& warp, const InFlight& entry);
    void fill_window();

    // One instruction in each cycle until the schedulers' next turn.
    void fill_queue();
    void fetch_all();
    void pass_turns(uint64_t turns);

    void fetch(uint32_t number);

    // True if the warp waits for the line that it fetches from.
    bool misses(Resident& warp);
    void predict(Resident& warp, InFlight& entry);

    // The schedulers' next turn in which something can move, or before whose fetches.
    uint64_t next_time() const;

    const LaunchCode& code_;
    SmState& sm_;
    LastLevel& last_level_;
    LinesOnTheirWay on_their_way_;  // to the L1
    uint64_t first_ = 0;
    const uint32_t history_;  // of the predictor before the launch
    uint64_t lead_;           // cycles from the schedulers' turn to the next fetches
    uint64_t fetches_from_ = 0;

    uint64_t now_ = 0;     // a turn of the schedulers
    uint64_t queued_ = 0;  // the last instruction came into the queue
    uint64_t end_ = 0;
    uint32_t banks_used_ = 0;  // of shared memory, in this turn
    uint32_t fetching_ = 0;    // warps that have something to fetch
    std::vector<uint64_t> ends_;
    std::vector<Arrival> arrivals_;
    std::vector<Resident> warps_;
    std::vector<Registers> registers_;
    std::vector<uint32_t> unused_;  // of registers_
    std::vector<uint32_t> live_;    // warps that have not ended, in their order
    RoundRobin to_fetch_;           // warps that have something to fetch and wait at no barrier
    std::vector<RunningCta> ctas_;
    std::deque<InFlight> front_, queue_;
    std::vector<Waiting> window_;
    std::vector<Event> events_;
    std::vector<std::pair<uint64_t, uint64_t>> arriving_;  // instruction lines, and when they are there
    uint32_t turn_ = 0;                                    // the next warp to fetch, or the next after it that can
    uint64_t running_ = 0, mispredictions_ = 0;
    Accesses accesses_;
    const uint32_t first_scheduler_;  // of the first turn
    bool moved_ = false, changed_ = false;
};

}  // namespace kernelpoint::replay::macsim
