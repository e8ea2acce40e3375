#include "simulators/macsim/cores/core_model.h"

#include <algorithm>
#include <array>
#include <deque>
#include <queue>
#include <unordered_map>

namespace kernelpoint::replay::macsim {
namespace {

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
    uint32_t moved = 4;                 // instructions that fill the window at a time
    uint64_t compute = 25;              // cycles from issue to result
    uint64_t shared = 2, constant = 4;  // of accesses to these memories
    uint64_t restart = 3;               // cycles to the next fetches where fetching had stopped
};

// Cycles by where a line is found: in the L1, in the last level, in DRAM; of an instruction line in the latter two.
struct MemoryTiming {
    static constexpr uint64_t kNetwork = 100, kDram = 120;
    explicit MemoryTiming(const CacheInfo& caches)
        : load{caches.l1_latency + 10, caches.last_level_latency + kNetwork, caches.last_level_latency + kNetwork + kDram},
          store{caches.l1_latency, load[1] + 1, load[2] + 1},
          fetch_miss{caches.last_level_latency, caches.last_level_latency + kDram} {}

    uint64_t load[3], store[3];  // from issue to a result, to a store's end
    uint64_t fetch_miss[2];
};

constexpr CoreTiming kTiming;
constexpr uint64_t kLineBytes = 128;
constexpr uint64_t kFirstFetch = 3;  // cycles from a launch's beginning to the first fetches

// Cycle in which each register of a warp is ready.
using Registers = std::array<uint64_t, 256>;

// A warp; those of an SM are numbered in the order in which they begin.
struct Resident {
    const WarpCode* code = nullptr;
    uint32_t cta = 0;        // index into Core::ctas_
    uint32_t registers = 0;  // index into Core::registers_
    uint32_t fetched = 0, issued = 0;
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

// A set of warps that gives the next one in turn.
class RoundRobin {
public:
    static constexpr uint32_t kNone = UINT32_MAX;

    void add(uint32_t number) { numbers_.insert(std::lower_bound(numbers_.begin(), numbers_.end(), number), number); }
    void remove(uint32_t number) { numbers_.erase(std::lower_bound(numbers_.begin(), numbers_.end(), number)); }

    // Smallest number that is at least `from`, else the smallest of all; kNone if the set is empty.
    uint32_t next(uint32_t from) const {
        if (numbers_.empty()) return kNone;
        const auto found = std::lower_bound(numbers_.begin(), numbers_.end(), from);
        return found != numbers_.end() ? *found : numbers_.front();
    }

private:
    std::vector<uint32_t> numbers_;  // ascending
};

// Lines on their way to a cache. Until a line arrives, an access to it is a miss that waits for the same line.
class LinesOnTheirWay {
public:
    void add(uint64_t line, uint64_t there_at) { there_at_[line] = there_at; }
    // Cycle in which a line will be there; 0 if it is not on its way.
    uint64_t arrival(uint64_t line, uint64_t now) const {
        const auto found = there_at_.find(line);
        return found != there_at_.end() && found->second > now ? found->second : 0;
    }

private:
    std::unordered_map<uint64_t, uint64_t> there_at_;
};

// Something that happens to a warp's CTA later.
struct Event {
    uint64_t at;
    uint32_t warp;
    bool is_end;  // else it has come to a barrier
};

// The cache that all cores share, in a launch.
struct LastLevel {
    const MemoryTiming timing;
    LineSet& lines;
};

// One of MacSim's cores, as far as the order of branches depends on it: fetched, predicted, executed, resolved.
class Core {
public:
    Core(const LaunchCode& code, SmState& sm, LastLevel& last_level)
        : code_(code),
          sm_(sm),
          last_level_(last_level),
          timing_(last_level.timing),
          history_(sm.predictor.history),
          lead_(sm.phase),
          first_scheduler_(sm.scheduler) {}

    // Cycles of the core: its schedulers' first turn is in 0.
    uint64_t now() const { return now_; }
    uint64_t fetches_at() const { return now_ + lead_; }
    uint64_t running() const { return running_; }
    bool is_idle() const { return live_ == 0 && arrivals_.empty(); }
    const Counts& counts() const { return counts_; }
    bool has_learned() const { return changed_ || sm_.predictor.history != history_; }

    // The last warp's end.
    uint64_t end() const { return end_; }

    void begin(const CtaWarps& cta) {
        RunningCta made;
        made.first = static_cast<uint32_t>(warps_.size());
        for (uint32_t i = 0; i < cta.count; ++i) {
            const WarpCode& code = code_.warps[cta.first + i];
            if (code.count == 0) continue;
            if (unused_.empty()) {
                unused_.push_back(static_cast<uint32_t>(registers_.size()));
                registers_.emplace_back();
            }
            const auto number = static_cast<uint32_t>(warps_.size());
            Resident& warp = warps_.emplace_back();
            warp.code = &code;
            warp.cta = static_cast<uint32_t>(ctas_.size());
            warp.registers = unused_.back();
            unused_.pop_back();
            registers_[warp.registers].fill(0);
            warp.line = code_.instructions[code.first].pc / kFetchBytes;
            ++live_;
            to_fetch_.add(number);
            ++fetching_;
            ++made.warps;
        }
        ctas_.push_back(made);
        running_ += made.warps != 0;
    }

    // A CTA takes the place of one that ends in cycle `at`.
    void begin_at(uint64_t at, const CtaWarps& cta) { arrivals_.push_back({at, cta}); }

    // The schedulers' next turn. Returns the cycles in which CTAs end whose last instruction was issued.
    const std::vector<uint64_t>& issue_turn() {
        ends_.clear();
        issue_all();
        fill_window();
        fill_queue();
        return ends_;
    }

    // The fetches behind it.
    void fetch_turn() {
        happen(fetches_at(), true);
        arrive();
        if (fetches_at() >= fetches_from_) fetch_all();
        happen(fetches_at(), false);
        now_ += kTiming.period;
    }

    // Leaves turns to the next launch as they are behind the last warp's end; in the cycle in which the launch ends the
    // schedulers come behind the next one's beginning.
    void stop(bool is_last) {
        if (warps_.empty()) return;
        sm_.phase = static_cast<uint32_t>((end_ + (is_last ? kTiming.period - 1 : 0)) % kTiming.period);
        sm_.scheduler = static_cast<uint32_t>((scheduler_at(end_ + kTiming.period) + warps_.size()) % kTiming.fetches);
    }

private:
    void happen(uint64_t until, bool is_end) {
        for (size_t i = 0; i < events_.size();) {
            if (events_[i].at > until || events_[i].is_end != is_end) {
                ++i;
                continue;
            }
            const Event event = events_[i];
            events_.erase(events_.begin() + static_cast<std::ptrdiff_t>(i));
            event.is_end ? end(event.warp) : reach_barrier(warps_[event.warp].cta);
        }
    }

    // Begins the CTAs that have come. Fetching stops at its turn where no warp is left to fetch, and goes on from
    // there.
    void arrive() {
        for (size_t i = 0; i < arrivals_.size();) {
            const Arrival arrival = arrivals_[i];
            if (arrival.at > fetches_at()) {
                ++i;
                continue;
            }
            arrivals_.erase(arrivals_.begin() + static_cast<std::ptrdiff_t>(i));
            if (fetching_ == 0) {
                fetches_from_ = arrival.at + kTiming.restart;
                lead_ = fetches_from_ % kTiming.period;
            }
            begin(arrival.cta);
        }
    }

    void end(uint32_t warp) {
        --live_;
        unused_.push_back(warps_[warp].registers);
        RunningCta& cta = ctas_[warps_[warp].cta];
        if (++cta.ended == cta.warps) --running_;
    }

    void reach_barrier(uint32_t number) {
        RunningCta& cta = ctas_[number];
        if (++cta.at_barrier < cta.warps) return;
        cta.at_barrier = 0;
        for (uint32_t warp = cta.first; warp < cta.first + cta.warps; ++warp)
            if (warps_[warp].fetched < warps_[warp].code->count) to_fetch_.add(warp);
    }

    // Schedulers take turns in being the first.
    uint32_t scheduler_at(uint64_t cycle) const {
        return static_cast<uint32_t>((first_scheduler_ + cycle / kTiming.period) % kTiming.fetches);
    }

    void issue_all() {
        banks_used_ = 0;
        const uint32_t first = scheduler_at(now_);
        for (uint32_t i = 0; i < kTiming.fetches; ++i) issue((first + i) % kTiming.fetches);
    }

    void issue(uint32_t scheduler) {
        for (auto at = window_.begin(); at != window_.end(); ++at) {
            const auto is_of_warp = [warp = at->warp](const InFlight& other) { return other.warp == warp; };
            if (at->warp % kTiming.fetches != scheduler || std::any_of(window_.begin(), at, is_of_warp) ||
                ready_at(*at) > now_ || !finds_bank(*at->instruction))
                continue;
            const InFlight entry = *at;
            window_.erase(at);
            execute(entry);
            return;
        }
    }

    // A bank of shared memory serves one access in each turn.
    bool finds_bank(const WarpInstruction& instruction) {
        if (instruction.action != Action::shared) return true;
        const uint32_t bank = uint32_t{1} << instruction.bank;
        if ((banks_used_ & bank) != 0) return false;
        banks_used_ |= bank;
        return true;
    }

    uint64_t ready_at(const InFlight& entry) const {
        const Registers& registers = registers_[warps_[entry.warp].registers];
        uint64_t at = 0;
        for (uint8_t i = 0; i < entry.instruction->source_count; ++i)
            at = std::max(at, registers[entry.instruction->sources[i]]);
        return at;
    }

    void execute(const InFlight& entry) {
        Resident& warp = warps_[entry.warp];
        const WarpInstruction& instruction = *entry.instruction;
        const uint64_t latency = latency_of(instruction);
        if (instruction.destination != WarpInstruction::kNoRegister)
            registers_[warp.registers][instruction.destination] =
                now_ + (instruction.line_count == 0 || instruction.action == Action::load ? latency : kTiming.compute);
        if (instruction.action == Action::branch || instruction.action == Action::jump) resolve(warp, entry);
        retire(warp, now_ + latency);
        if (instruction.action == Action::barrier) events_.push_back({warp.retired, entry.warp, false});
        if (++warp.issued < warp.code->count) return;
        events_.push_back({warp.retired, entry.warp, true});
        RunningCta& cta = ctas_[warp.cta];
        cta.retired = std::max(cta.retired, warp.retired);
        end_ = std::max(end_, cta.retired);
        if (++cta.issued == cta.warps) ends_.push_back(cta.retired);
    }

    uint64_t latency_of(const WarpInstruction& instruction) {
        if (instruction.action == Action::shared) return kTiming.shared;
        counts_[kConstant] += instruction.action == Action::constant;
        if (instruction.action == Action::constant) return kTiming.constant;
        if (instruction.line_count == 0) return kTiming.compute;
        const uint64_t line = code_.lines[instruction.first_line + instruction.line_count - 1] / kLineBytes;
        const int level = sm_.l1.use(line) ? 0 : last_level_.lines.use(line) ? 1 : 2;
        const bool meets_another = level == 0 && on_their_way_.arrival(line, now_) != 0;
        if (level > 0) on_their_way_.add(line, now_ + timing_.load[level]);
        counts_[kL1] += instruction.line_count;
        counts_[kL1Misses] += level > 0 || meets_another;
        counts_[kMerged] += meets_another;
        counts_[kLastLevelMisses] += level == 2;
        return instruction.action == Action::load ? timing_.load[level] : timing_.store[level];
    }

    void retire(Resident& warp, uint64_t at) { warp.retired = std::max(warp.retired + 1, at); }

    void resolve(Resident& warp, const InFlight& entry) {
        const WarpInstruction& branch = *entry.instruction;
        if (branch.action == Action::branch && sm_.predictor.learns()) {
            uint8_t& counter = sm_.predictor.counter(entry.history, branch.pc);
            const uint8_t before = counter;
            if (branch.taken && counter < sm_.predictor.most) ++counter;
            if (!branch.taken && counter > 0) --counter;
            changed_ = changed_ || counter != before;
        }
        if (!entry.mispredicted) return;
        sm_.predictor.history = entry.recovered;
        warp.mispredicted = false;
        warp.waits_until = now_ + 1;
    }

    void fill_window() {
        for (uint32_t i = 0; i < kTiming.moved; ++i) {
            if (queue_.empty() || window_.size() >= kTiming.window || queue_.front().moves_at > now_) return;
            window_.push_back(queue_.front());
            queue_.pop_front();
        }
    }

    // One instruction in each cycle until the schedulers' next turn.
    void fill_queue() {
        while (!front_.empty() && queue_.size() < kTiming.queue) {
            const uint64_t at = std::max({front_.front().moves_at, queued_ + 1, now_});
            if (at >= now_ + kTiming.period) return;
            queued_ = at;
            queue_.push_back(front_.front());
            queue_.back().moves_at = at + kTiming.queued;
            front_.pop_front();
        }
    }

    void fetch_all() {
        uint32_t first = RoundRobin::kNone;
        for (uint32_t i = 0; i < kTiming.fetches; ++i) {
            const uint32_t warp = to_fetch_.next(turn_);
            if (warp == RoundRobin::kNone || warp == first || front_.size() >= kTiming.fetched) return;
            first = warp;
            turn_ = first + 1;
            fetch(first);
        }
    }

    void fetch(uint32_t number) {
        Resident& warp = warps_[number];
        if (warp.mispredicted || warp.waits_until > now_ + lead_ || misses(warp)) return;
        InFlight entry;
        entry.warp = number;
        entry.instruction = &code_.instructions[warp.code->first + warp.fetched++];
        entry.moves_at = now_ + lead_ + kTiming.front;
        const Action action = entry.instruction->action;
        if (action == Action::branch || action == Action::jump) predict(warp, entry);
        if (leads_elsewhere(action) && !entry.mispredicted && warp.fetched < warp.code->count)
            warp.line = code_.instructions[warp.code->first + warp.fetched].pc / kFetchBytes;
        fetching_ -= warp.fetched == warp.code->count;
        if (action == Action::barrier || warp.fetched == warp.code->count) to_fetch_.remove(number);
        front_.push_back(entry);
    }

    // True if the warp waits for the line that it fetches from.
    bool misses(Resident& warp) {
        const uint64_t arrives = arriving_.arrival(warp.line, fetches_at());
        if (arrives == 0 && sm_.instructions.use(warp.line)) return false;
        ++counts_[kFetchMisses];
        if (arrives != 0) {
            ++counts_[kMerged];
            warp.waits_until = arrives;
            return true;
        }
        const bool is_near = last_level_.lines.use(code_line(warp.line * kFetchBytes));
        counts_[kLastLevelMisses] += !is_near;
        const bool meets_half = arriving_.arrival(warp.line ^ 1, fetches_at()) != 0;  // of the last level's line
        counts_[kMerged] += meets_half;
        warp.waits_until = fetches_at() + timing_.fetch_miss[is_near ? 0 : 1];
        arriving_.add(warp.line, warp.waits_until);
        return true;
    }

    void predict(Resident& warp, InFlight& entry) {
        const WarpInstruction& branch = *entry.instruction;
        Gshare& predictor = sm_.predictor;
        if (!predictor.learns()) return;
        constexpr uint32_t last = uint32_t{1} << 31;
        entry.history = predictor.history;
        const bool taken = (predictor.counter(predictor.history, branch.pc) >> 1 & 1) != 0;
        entry.recovered = predictor.history >> 1 | (branch.taken ? last : 0);
        predictor.history = predictor.history >> 1 | (taken ? last : 0);
        entry.mispredicted = warp.mispredicted = taken != branch.taken;
        counts_[kMispredictions] += entry.mispredicted;
    }

    const LaunchCode& code_;
    SmState& sm_;
    LastLevel& last_level_;
    const MemoryTiming& timing_;
    LinesOnTheirWay on_their_way_, arriving_;  // to the L1, to the instruction cache
    const uint32_t history_;                   // of the predictor before the launch
    uint64_t lead_;                            // cycles from the schedulers' turn to the next fetches
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
    uint32_t live_ = 0;             // warps that have not ended
    RoundRobin to_fetch_;           // warps that have something to fetch and wait at no barrier
    std::vector<RunningCta> ctas_;
    std::deque<InFlight> front_, queue_;
    std::vector<InFlight> window_;
    std::vector<Event> events_;
    uint32_t turn_ = 0;  // the next warp to fetch, or the next after it that can
    uint64_t running_ = 0;
    Counts counts_{};
    const uint32_t first_scheduler_;  // of the first turn
    bool changed_ = false;
};

// Room for a CTA on a core.
struct Room {
    uint64_t cycle;  // of the clock
    uint64_t order;  // of the core in this cycle
    uint32_t core;
    bool operator>(const Room& other) const { return cycle != other.cycle ? cycle > other.cycle : order > other.order; }
};

// CTA n begins on core n modulo their number where that has room; the others wait for room on any core. In each cycle
// cores take turns, beginning with the one behind the number of the cycle. A launch begins in the cycle in which the
// one before it ends: cores whose turn is over then begin a cycle later.
class Cores {
public:
    Cores(const LaunchCode& code, uint64_t at_once, const CacheInfo& caches, std::vector<SmState>& sms, LineSet& last_level,
          const Clock& clock)
        : at_once_(at_once), clock_(clock), last_level_{MemoryTiming(caches), last_level} {
        for (SmState& sm : sms) cores_.emplace_back(code, sm, last_level_);
        for (uint32_t i = 0; i < cores_.size(); ++i) {
            first_.push_back(clock.cycle + kFirstFetch - cores_[i].fetches_at() +
                             (order(i, clock.cycle) < order(clock.core, clock.cycle)));
        }
    }

    void run(const std::vector<CtaWarps>& ctas) {
        for (size_t i = 0; i < ctas.size(); ++i) {
            Core& own = cores_[i % cores_.size()];
            own.running() < at_once_ ? own.begin(ctas[i]) : waiting_.push_back(ctas[i]);
        }
        while (!waiting_.empty()) step(earliest());
        for (uint32_t i = 0; i < cores_.size(); ++i)
            while (!cores_[i].is_idle()) step(i);
    }

    CtasRun outcome(Clock& clock) {
        CtasRun all;
        uint32_t last = 0;
        for (uint32_t i = 0; i < cores_.size(); ++i) {
            Core& core = cores_[i];
            all.learned.push_back(core.has_learned());
            for (size_t count = 0; count < kCounts; ++count) all.counts[count] += core.counts()[count];
            if (end(i) > end(last)) last = i;
        }
        for (uint32_t i = 0; i < cores_.size(); ++i) cores_[i].stop(i == last);
        clock = {std::max(end(last), clock_.cycle), last};
        all.counts[kCycles] = clock.cycle - clock_.cycle;
        return all;
    }

private:
    uint64_t order(uint32_t core, uint64_t cycle) const {
        return (core + cores_.size() - (cycle + 1) % cores_.size()) % cores_.size();
    }

    uint64_t end(uint32_t core) const { return cores_[core].end() == 0 ? 0 : first_[core] + cores_[core].end(); }

    uint32_t earliest() const {
        uint32_t best = 0;
        for (uint32_t i = 1; i < cores_.size(); ++i)
            if (first_[i] + cores_[i].now() < first_[best] + cores_[best].now()) best = i;
        return best;
    }

    void step(uint32_t core) {
        for (const uint64_t at : cores_[core].issue_turn())
            rooms_.push({first_[core] + at, order(core, first_[core] + at), core});
        while (!waiting_.empty() && !rooms_.empty() && rooms_.top().cycle <= first_[core] + cores_[core].fetches_at()) {
            const Room room = rooms_.top();
            rooms_.pop();
            cores_[room.core].begin_at(room.cycle - first_[room.core], waiting_.front());
            waiting_.pop_front();
        }
        cores_[core].fetch_turn();
    }

    const uint64_t at_once_;
    const Clock clock_;
    LastLevel last_level_;
    std::deque<Core> cores_;
    std::vector<uint64_t> first_;  // cycle of the clock in which a core's cycles begin
    std::deque<CtaWarps> waiting_;
    std::priority_queue<Room, std::vector<Room>, std::greater<Room>> rooms_;
};

}  // namespace

CtasRun run_ctas(const LaunchCode& code, uint64_t at_once, const CacheInfo& caches, std::vector<SmState>& sms,
                 LineSet& last_level, Clock& clock) {
    Cores cores(code, at_once, caches, sms, last_level, clock);
    cores.run(code.ctas);
    return cores.outcome(clock);
}

}  // namespace kernelpoint::replay::macsim
