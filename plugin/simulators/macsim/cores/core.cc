#include "simulators/macsim/cores/core.h"

#include <algorithm>

namespace kernelpoint::replay::macsim {
namespace {

constexpr CoreTiming kTiming;
constexpr uint64_t kLineBytes = 128;

}  // namespace

void Core::begin(const CtaWarps& cta) {
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
        live_.push_back(number);
        to_fetch_.add(number);
        ++fetching_;
        ++made.warps;
    }
    ctas_.push_back(made);
    running_ += made.warps != 0;
}

const std::vector<uint64_t>& Core::issue_turn() {
    moved_ = false;
    ends_.clear();
    issue_all();
    fill_window();
    fill_queue();
    return ends_;
}

void Core::fetch_turn() {
    happen(fetches_at(), true);
    arrive();
    if (fetches_at() >= fetches_from_) fetch_all();
    happen(fetches_at(), false);
    const uint64_t last = now_;
    now_ = moved_ ? now_ + kTiming.period : next_time();
    pass_turns((now_ - last) / kTiming.period - 1);
}

// Warps that wait take their turns to fetch.
void Core::pass_turns(uint64_t turns) {
    if (to_fetch_.count() == 0) return;
    for (uint64_t passed = turns * kTiming.fetches % to_fetch_.count(); passed > 0; --passed)
        turn_ = to_fetch_.next(turn_) + 1;
}

void Core::stop(bool is_last) {
    if (warps_.empty()) return;
    sm_.phase = static_cast<uint32_t>((end_ + (is_last ? kTiming.period - 1 : 0)) % kTiming.period);
    sm_.scheduler = static_cast<uint32_t>((scheduler_at(end_ + kTiming.period) + warps_.size()) % kTiming.fetches);
}

void Core::happen(uint64_t until, bool is_end) {
    for (size_t i = 0; i < events_.size();) {
        if (events_[i].at > until || events_[i].is_end != is_end) {
            ++i;
            continue;
        }
        const Event event = events_[i];
        events_.erase(events_.begin() + static_cast<std::ptrdiff_t>(i));
        moved_ = true;
        event.is_end ? end(event.warp) : reach_barrier(warps_[event.warp].cta);
    }
}

// Begins the CTAs that have come. Fetching stops at its turn where no warp is left to fetch, and goes on from there.
void Core::arrive() {
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
        moved_ = true;
    }
}

void Core::end(uint32_t warp) {
    live_.erase(std::lower_bound(live_.begin(), live_.end(), warp));
    unused_.push_back(warps_[warp].registers);
    RunningCta& cta = ctas_[warps_[warp].cta];
    if (++cta.ended == cta.warps) --running_;
}

void Core::reach_barrier(uint32_t number) {
    RunningCta& cta = ctas_[number];
    if (++cta.at_barrier < cta.warps) return;
    cta.at_barrier = 0;
    for (uint32_t warp = cta.first; warp < cta.first + cta.warps; ++warp)
        if (warps_[warp].fetched < warps_[warp].code->count) to_fetch_.add(warp);
}

// Schedulers take turns in being the first.
uint32_t Core::scheduler_at(uint64_t cycle) const {
    return static_cast<uint32_t>((first_scheduler_ + cycle / kTiming.period) % kTiming.fetches);
}

void Core::issue_all() {
    banks_used_ = 0;
    const uint32_t first = scheduler_at(now_);
    for (uint32_t i = 0; i < kTiming.fetches; ++i) issue((first + i) % kTiming.fetches);
}

void Core::issue(uint32_t scheduler) {
    for (auto at = window_.begin(); at != window_.end(); ++at) {
        if (at->ready_at > now_ || at->entry.warp % kTiming.fetches != scheduler) continue;
        const InFlight entry = at->entry;
        if (!finds_bank(*entry.instruction)) continue;
        window_.erase(at);
        execute(entry);
        moved_ = true;
        return;
    }
}

bool Core::finds_bank(const WarpInstruction& instruction) {
    if (instruction.action != Action::shared) return true;
    const uint32_t bank = uint32_t{1} << instruction.bank;
    if ((banks_used_ & bank) != 0) return false;
    banks_used_ |= bank;
    return true;
}

uint64_t Core::ready_at(const InFlight& entry) const {
    const Registers& registers = registers_[warps_[entry.warp].registers];
    uint64_t at = 0;
    for (uint8_t i = 0; i < entry.instruction->source_count; ++i)
        at = std::max(at, registers[entry.instruction->sources[i]]);
    return at;
}

void Core::execute(const InFlight& entry) {
    Resident& warp = warps_[entry.warp];
    const WarpInstruction& instruction = *entry.instruction;
    const uint64_t latency = latency_of(instruction);
    if (instruction.destination != WarpInstruction::kNoRegister)
        registers_[warp.registers][instruction.destination] =
            now_ + (instruction.line_count == 0 || instruction.action == Action::load ? latency : kTiming.compute);
    if (--warp.in_window != 0) make_oldest_ready(entry.warp);
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

void Core::retire(Resident& warp, uint64_t at) {
    warp.retired = std::max(warp.retired + 1, at);
}

void Core::make_oldest_ready(uint32_t number) {
    const auto oldest = std::find_if(window_.begin(), window_.end(),
                                     [number](const Waiting& waiting) { return waiting.entry.warp == number; });
    oldest->ready_at = ready_at(oldest->entry);
}

uint64_t Core::latency_of(const WarpInstruction& instruction) {
    if (instruction.action == Action::shared) return kTiming.shared;
    if (instruction.action == Action::constant) return kTiming.constant;
    if (instruction.line_count == 0) return kTiming.compute;
    const uint64_t line = code_.lines[instruction.first_line + instruction.line_count - 1] / kLineBytes;
    const int level = sm_.l1.use(line) ? 0 : finds_in_last_level(line, now_) ? 1 : 2;
    const bool meets_another = level == 0 && on_their_way_.holds(line, now_);
    if (level > 0) on_their_way_.add(line, now_ + kTiming.load[level]);
    accesses_.l1 += instruction.line_count;
    accesses_.l1_misses += level > 0 || meets_another;
    accesses_.merged += meets_another;
    return instruction.action == Action::load ? kTiming.load[level] : kTiming.store[level];
}

bool Core::finds_in_last_level(uint64_t line, uint64_t now) {
    const bool found = last_level_.lines.use(line);
    if (!found) last_level_.on_their_way.add(line, first_ + now + kTiming.load[2] - kTiming.load[1]);
    accesses_.last_level_fills += !found;
    accesses_.last_level_misses += last_level_.on_their_way.holds(line, first_ + now);
    return found;
}

void Core::resolve(Resident& warp, const InFlight& entry) {
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

void Core::fill_window() {
    for (uint32_t i = 0; i < kTiming.moved; ++i) {
        if (queue_.empty() || window_.size() >= kTiming.window || queue_.front().moves_at > now_) return;
        const InFlight& entry = queue_.front();
        const bool is_oldest = warps_[entry.warp].in_window++ == 0;
        window_.push_back({entry, is_oldest ? ready_at(entry) : kNever});
        queue_.pop_front();
        moved_ = true;
    }
}

void Core::fill_queue() {
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

void Core::fetch_all() {
    uint32_t first = RoundRobin::kNone;
    for (uint32_t i = 0; i < kTiming.fetches; ++i) {
        const uint32_t warp = to_fetch_.next(turn_);
        if (warp == RoundRobin::kNone || warp == first || front_.size() >= kTiming.fetched) return;
        first = warp;
        turn_ = first + 1;
        fetch(first);
    }
}

void Core::fetch(uint32_t number) {
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
    moved_ = true;
}

bool Core::misses(Resident& warp) {
    for (size_t i = 0; i < arriving_.size(); ++i) {
        if (arriving_[i].first != warp.line) continue;
        if (arriving_[i].second > now_ + lead_) {
            ++accesses_.fetch_misses;
            ++accesses_.merged;
            return warp.waits_until = arriving_[i].second, true;
        }
        arriving_.erase(arriving_.begin() + static_cast<std::ptrdiff_t>(i));
        break;
    }
    if (sm_.instructions.use(warp.line)) return false;
    const uint64_t line = code_line(warp.line * kFetchBytes);
    const bool is_near = finds_in_last_level(line, now_ + lead_);
    ++accesses_.fetch_misses;
    accesses_.merged += std::any_of(arriving_.begin(), arriving_.end(), [&](const auto& other) {
        return other.second > now_ + lead_ && code_line(other.first * kFetchBytes) == line;
    });
    warp.waits_until = now_ + lead_ + kTiming.fetch_miss[is_near ? 0 : 1];
    arriving_.emplace_back(warp.line, warp.waits_until);
    return true;
}

void Core::predict(Resident& warp, InFlight& entry) {
    const WarpInstruction& branch = *entry.instruction;
    Gshare& predictor = sm_.predictor;
    if (!predictor.learns()) return;
    constexpr uint32_t last = uint32_t{1} << 31;
    entry.history = predictor.history;
    const bool taken = (predictor.counter(predictor.history, branch.pc) >> 1 & 1) != 0;
    entry.recovered = predictor.history >> 1 | (branch.taken ? last : 0);
    predictor.history = predictor.history >> 1 | (taken ? last : 0);
    entry.mispredicted = warp.mispredicted = taken != branch.taken;
    mispredictions_ += entry.mispredicted;
}

uint64_t Core::next_time() const {
    uint64_t next = kNever;
    const auto at = [&next, this](uint64_t time) {
        if (time > now_) next = std::min(next, time);
    };
    for (const Event& event : events_) at(event.at - std::min(lead_, event.at));
    for (const Arrival& arrival : arrivals_) at(arrival.at - std::min(lead_, arrival.at));
    if (fetches_from_ > fetches_at()) at(fetches_from_ - lead_);
    if (!queue_.empty()) at(queue_.front().moves_at);
    if (!front_.empty()) at(front_.front().moves_at);
    for (const uint32_t warp : live_) {
        if (!to_fetch_.holds(warp) || warps_[warp].mispredicted) continue;
        at(std::max(warps_[warp].waits_until, now_ + lead_ + 1) - lead_);
    }
    for (const Waiting& waiting : window_)
        for (uint8_t i = 0; i < waiting.entry.instruction->source_count; ++i)
            at(registers_[warps_[waiting.entry.warp].registers][waiting.entry.instruction->sources[i]]);
    if (next == kNever) return now_ + kTiming.period;
    return now_ + (next - now_ + kTiming.period - 1) / kTiming.period * kTiming.period;
}

}  // namespace kernelpoint::replay::macsim
