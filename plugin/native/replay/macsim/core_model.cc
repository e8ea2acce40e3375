#include "native/replay/macsim/core_model.h"

#include <algorithm>
#include <deque>

namespace kernelpoint::replay::macsim {
namespace {

constexpr CoreTiming kTiming;
constexpr uint64_t kLineBytes = 128;
constexpr uint64_t kNever = UINT64_MAX;

struct Resident {
    const WarpCode* code = nullptr;
    uint32_t cta = 0;     // index into Core::ctas_
    uint32_t number = 0;  // of the SM's warps so far
    uint32_t fetched = 0, issued = 0;
    bool mispredicted = false, at_barrier = false;
    uint64_t waits_until = 0;  // for an instruction line, or for the end of a recovery
    uint64_t line = 0;         // it fetches from
    uint64_t tried = kNever;   // the scheduler's last look at it
    uint64_t ready[256] = {};  // cycle in which a register is
};

struct InFlight {
    uint32_t warp = 0;
    const WarpInstruction* instruction = nullptr;
    uint64_t moves_at = 0;
    bool mispredicted = false;
    uint32_t history = 0, recovered = 0;  // of the predictor
};

struct RunningCta {
    uint32_t warps = 0, ended = 0, at_barrier = 0;
};

// Something that happens to a warp's CTA later.
struct Event {
    uint64_t at;
    uint32_t warp;
    bool is_end;  // else it has come to a barrier
};

class Core {
public:
    Core(const LaunchCode& code, SmState& sm, LineSet& last_level, uint64_t lead)
        : code_(code), sm_(sm), last_level_(last_level), lead_(lead), history_(sm.predictor.history) {}

    uint64_t now() const { return now_; }
    uint64_t running() const { return running_; }
    bool is_idle() const { return live_.empty(); }
    bool has_learned() const { return changed_ || sm_.predictor.history != history_; }

    void begin(const CtaWarps& cta) {
        RunningCta made;
        for (uint32_t i = 0; i < cta.count; ++i) {
            const WarpCode& code = code_.warps[cta.first + i];
            if (code.count == 0) continue;
            Resident& warp = warps_.emplace_back();
            warp.code = &code;
            warp.cta = static_cast<uint32_t>(ctas_.size());
            warp.number = static_cast<uint32_t>(warps_.size() - 1);
            warp.line = code_.instructions[code.first].pc / kFetchBytes;
            live_.push_back(warp.number);
            ++made.warps;
        }
        ctas_.push_back(made);
        running_ += made.warps != 0;
    }

    // The schedulers' next turn, and the fetches that follow it.
    void step() {
        moved_ = false;
        happen();
        issue_all();
        fill_window();
        fill_queue();
        fetch_all();
        now_ = moved_ ? now_ + kTiming.period : next_time();
    }

private:
    void happen() {
        for (size_t i = 0; i < events_.size();) {
            if (events_[i].at > now_) {
                ++i;
                continue;
            }
            const Event event = events_[i];
            events_.erase(events_.begin() + static_cast<std::ptrdiff_t>(i));
            moved_ = true;
            event.is_end ? end(event.warp) : reach_barrier(warps_[event.warp].cta);
        }
    }

    void end(uint32_t warp) {
        live_.erase(std::find(live_.begin(), live_.end(), warp));
        RunningCta& cta = ctas_[warps_[warp].cta];
        if (++cta.ended == cta.warps) --running_;
    }

    void reach_barrier(uint32_t number) {
        RunningCta& cta = ctas_[number];
        if (++cta.at_barrier < cta.warps) return;
        cta.at_barrier = 0;
        for (const uint32_t warp : live_)
            if (warps_[warp].cta == number) warps_[warp].at_barrier = false;
    }

    void issue_all() {
        for (uint32_t i = 0; i < kTiming.fetches; ++i) issue((first_scheduler_ + i) % kTiming.fetches);
        first_scheduler_ = (first_scheduler_ + 1) % kTiming.fetches;
    }

    void issue(uint32_t scheduler) {
        for (auto at = window_.begin(); at != window_.end(); ++at) {
            Resident& warp = warps_[at->warp];
            if (warp.number % kTiming.fetches != scheduler || warp.tried == now_) continue;
            warp.tried = now_;
            if (!is_ready(warp, *at->instruction)) continue;
            execute(warp, *at);
            window_.erase(at);
            moved_ = true;
            return;
        }
    }

    bool is_ready(const Resident& warp, const WarpInstruction& instruction) const {
        for (uint8_t i = 0; i < instruction.source_count; ++i)
            if (warp.ready[instruction.sources[i]] > now_) return false;
        return true;
    }

    void execute(Resident& warp, const InFlight& entry) {
        const WarpInstruction& instruction = *entry.instruction;
        const uint64_t latency = latency_of(instruction);
        if (instruction.destination != WarpInstruction::kNoRegister)
            warp.ready[instruction.destination] = now_ + latency;
        if (instruction.action == Action::branch || instruction.action == Action::jump) resolve(warp, entry);
        if (instruction.action == Action::barrier) events_.push_back({now_ + kTiming.end, entry.warp, false});
        if (++warp.issued == warp.code->count) events_.push_back({now_ + kTiming.end, entry.warp, true});
    }

    uint64_t latency_of(const WarpInstruction& instruction) {
        if (instruction.line_count == 0) return kTiming.compute;
        const uint64_t line = code_.lines[instruction.first_line + instruction.line_count - 1] / kLineBytes;
        const int level = sm_.l1.use(line) ? 0 : last_level_.use(line) ? 1 : 2;
        return instruction.action == Action::load ? kTiming.load[level] : kTiming.compute;
    }

    void resolve(Resident& warp, const InFlight& entry) {
        const WarpInstruction& branch = *entry.instruction;
        if (branch.action == Action::branch) {
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
            moved_ = true;
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
            moved_ = true;
        }
    }

    void fetch_all() {
        uint32_t first = UINT32_MAX;
        for (uint32_t i = 0; i < kTiming.fetches; ++i) {
            const size_t place = next_to_fetch();
            if (place == live_.size() || live_[place] == first) return;
            first = live_[place];
            if (front_.size() >= kTiming.fetched) return;
            turn_ = first + 1;
            fetch(first);
        }
    }

    // The next warp in turn that has something to fetch.
    size_t next_to_fetch() const {
        const auto turn = std::lower_bound(live_.begin(), live_.end(), turn_);
        const auto first = static_cast<size_t>(turn - live_.begin());
        for (size_t i = 0; i < live_.size(); ++i) {
            const size_t place = (first + i) % live_.size();
            const Resident& warp = warps_[live_[place]];
            if (warp.fetched < warp.code->count && !warp.at_barrier) return place;
        }
        return live_.size();
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
        warp.at_barrier = action == Action::barrier;
        front_.push_back(entry);
        moved_ = true;
    }

    // True if the warp waits for the line that it fetches from.
    bool misses(Resident& warp) {
        for (size_t i = 0; i < arriving_.size(); ++i) {
            if (arriving_[i].first != warp.line) continue;
            if (arriving_[i].second > now_ + lead_) return warp.waits_until = arriving_[i].second, true;
            arriving_.erase(arriving_.begin() + static_cast<std::ptrdiff_t>(i));
            break;
        }
        if (sm_.instructions.use(warp.line)) return false;
        const bool is_near = last_level_.use(code_line(warp.line * kFetchBytes));
        warp.waits_until = now_ + lead_ + kTiming.fetch_miss[is_near ? 0 : 1];
        arriving_.emplace_back(warp.line, warp.waits_until);
        return true;
    }

    void predict(Resident& warp, InFlight& entry) {
        const WarpInstruction& branch = *entry.instruction;
        Gshare& predictor = sm_.predictor;
        constexpr uint32_t last = uint32_t{1} << 31;
        entry.history = predictor.history;
        const bool taken = (predictor.counter(predictor.history, branch.pc) >> 1 & 1) != 0;
        entry.recovered = predictor.history >> 1 | (branch.taken ? last : 0);
        predictor.history = predictor.history >> 1 | (taken ? last : 0);
        entry.mispredicted = warp.mispredicted = taken != branch.taken;
    }

    // The schedulers' next turn in which something can move, or before whose fetches.
    uint64_t next_time() const {
        uint64_t next = kNever;
        const auto at = [&next, this](uint64_t time) {
            if (time > now_) next = std::min(next, time);
        };
        for (const Event& event : events_) at(event.at);
        if (!queue_.empty()) at(queue_.front().moves_at);
        if (!front_.empty()) at(front_.front().moves_at);
        for (const uint32_t warp : live_)
            if (warps_[warp].waits_until > now_ + lead_) at(warps_[warp].waits_until - lead_);
        for (const InFlight& entry : window_)
            for (uint8_t i = 0; i < entry.instruction->source_count; ++i)
                at(warps_[entry.warp].ready[entry.instruction->sources[i]]);
        if (next == kNever) return now_ + kTiming.period;
        return now_ + (next - now_ + kTiming.period - 1) / kTiming.period * kTiming.period;
    }

    const LaunchCode& code_;
    SmState& sm_;
    LineSet& last_level_;
    const uint64_t lead_;     // cycles from the schedulers' turn to the next fetches
    const uint32_t history_;  // of the predictor before the launch

    uint64_t now_ = 0;     // a turn of the schedulers
    uint64_t queued_ = 0;  // the last instruction came into the queue
    std::deque<Resident> warps_;
    std::vector<uint32_t> live_;  // warps that have not ended, in their order
    std::vector<RunningCta> ctas_;
    std::deque<InFlight> front_, queue_, window_;
    std::vector<Event> events_;
    std::vector<std::pair<uint64_t, uint64_t>> arriving_;  // instruction lines, and when they are there
    uint32_t turn_ = 0;                                    // the next warp to fetch, or the next after it that can
    uint64_t running_ = 0;
    uint32_t first_scheduler_ = 0;
    bool moved_ = false, changed_ = false;
};

// CTA n begins on core n modulo their number where that has room; the others wait for room on any core.
class Cores {
public:
    Cores(const LaunchCode& code, uint64_t at_once, std::vector<SmState>& sms, LineSet& last_level, Draws& draws)
        : at_once_(at_once) {
        for (SmState& sm : sms) cores_.emplace_back(code, sm, last_level, schedule_phase(draws));
    }

    void run(const std::vector<CtaWarps>& ctas) {
        for (size_t i = 0; i < ctas.size(); ++i) {
            Core& own = cores_[i % cores_.size()];
            own.running() < at_once_ ? own.begin(ctas[i]) : waiting_.push_back(ctas[i]);
        }
        while (!waiting_.empty()) {
            Core& next = earliest();
            if (next.running() < at_once_) {
                next.begin(waiting_.front());
                waiting_.pop_front();
            } else {
                next.step();
            }
        }
        for (Core& core : cores_)
            while (!core.is_idle()) core.step();
    }

    std::vector<bool> learned() const {
        std::vector<bool> all;
        for (const Core& core : cores_) all.push_back(core.has_learned());
        return all;
    }

private:
    Core& earliest() {
        return *std::min_element(cores_.begin(), cores_.end(),
                                 [](const Core& a, const Core& b) { return a.now() < b.now(); });
    }

    const uint64_t at_once_;
    std::deque<Core> cores_;
    std::deque<CtaWarps> waiting_;
};

}  // namespace

std::vector<bool> run_ctas(const LaunchCode& code, const std::vector<CtaWarps>& ctas, uint64_t at_once,
                           std::vector<SmState>& sms, LineSet& last_level, Draws& draws) {
    Cores cores(code, at_once, sms, last_level, draws);
    cores.run(ctas);
    return cores.learned();
}

}  // namespace kernelpoint::replay::macsim
