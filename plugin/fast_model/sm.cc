#include "fast_model/sm.h"

#include <algorithm>
#include <functional>

namespace kernelpoint::fast_model {
namespace {

uint64_t round_up(uint64_t value, uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}

}  // namespace

CtaDemand::CtaDemand(const GpuConfig& config, const LaunchHeader& header)
    : warps(header.warps_per_cta()),
      registers(round_up(uint64_t{header.registers} * kWarpSize, config.register_allocation_unit) * warps),
      shared_memory(round_up(header.shared_memory, config.shared_allocation_unit)) {}

std::string CtaDemand::excess(const GpuConfig& config) const {
    const auto more = [](const char* what, uint64_t needs, uint64_t has) {
        return std::string(what) + ": it needs " + std::to_string(needs) + ", an SM has " + std::to_string(has);
    };
    if (warps > config.max_warps_per_sm) return more("warps", warps, config.max_warps_per_sm);
    if (registers > config.registers_per_sm) return more("registers", registers, config.registers_per_sm);
    if (shared_memory > config.shared_memory_per_sm) {
        return more("bytes of shared memory", shared_memory, config.shared_memory_per_sm);
    }
    return "";
}

uint64_t CtaDemand::residency(const GpuConfig& config) const {
    uint64_t ctas = config.max_ctas_per_sm;
    const auto limit = [&](uint64_t has, uint64_t needs) {
        if (needs > 0) ctas = std::min(ctas, has / needs);
    };
    limit(config.max_warps_per_sm, warps);
    limit(config.registers_per_sm, registers);
    limit(config.shared_memory_per_sm, shared_memory);
    return ctas;
}

Sm::Sm(const GpuConfig& config, uint32_t id, const Program& program, MemorySystem& memory, Counters& counters)
    : config_(config),
      program_(program),
      memory_(memory),
      counters_(counters),
      id_(id),
      schedulers_(config.schedulers_per_sm, Scheduler(program)),
      warps_(config.max_warps_per_sm) {
    // Model: every warp slot has 16 MiB of local memory, far above global memory.
    for (uint64_t i = 0; i < warps_.size(); ++i) {
        const uint64_t slot = uint64_t{id} * config.max_warps_per_sm + i;
        warps_[i].local_line = ((uint64_t{1} << 60) + (slot << 24)) / kLineBytes;
    }
    clear();
}

// Warp slots are given out in their order again, whatever the launch before did: local memory lies by slot.
void Sm::start_launch(uint64_t residency) {
    residency_ = residency;
    std::sort(free_warps_.begin(), free_warps_.end(), std::greater<>());
    for (Scheduler& scheduler : schedulers_) scheduler.clear();
}

void Sm::place(std::unique_ptr<ResidentCta> cta, Cycles start) {
    cta->running = cta->waiting = cta->never_exit = 0;
    cta->done_at = start;
    cta->warps.clear();
    for (const DecodedCta::Warp& decoded : cta->decoded.warps) {
        if (decoded.steps->empty()) continue;
        Warp* warp = free_warps_.back();
        free_warps_.pop_back();
        cta->warps.push_back(warp);
        const Step* first = decoded.steps->data();
        warp->end = first + decoded.steps->size();
        warp->accesses = cta->decoded.accesses.data() + decoded.first_access;
        warp->cta = cta.get();
        warp->results_at = warp->fence_at = start;
        scheduler_for_next_warp().add(warp, first, start);
        ++cta->running;
    }
    if (cta->running == 0) next_retirement_ = std::min(next_retirement_, start);
    ctas_.push_back(std::move(cta));
    update_next_issue();
}

void Sm::retire(Cycles now, std::vector<std::unique_ptr<ResidentCta>>& retired) {
    next_retirement_ = kNever;
    size_t kept = 0;
    for (auto& cta : ctas_) {
        if (cta->running == 0 && cta->done_at <= now) {
            free_warps_.insert(free_warps_.end(), cta->warps.rbegin(), cta->warps.rend());
            retired.push_back(std::move(cta));
            continue;
        }
        if (cta->running == 0) next_retirement_ = std::min(next_retirement_, cta->done_at);
        ctas_[kept++] = std::move(cta);
    }
    ctas_.resize(kept);
}

void Sm::issue(Cycles now) {
    for (Scheduler& scheduler : schedulers_) {
        if (scheduler.next_event() > now) continue;
        if (Scheduler::Slot* slot = scheduler.pick(now)) execute(scheduler, *slot, now);
    }
    update_next_issue();
}

void Sm::clear() {
    ctas_.clear();
    free_warps_.clear();
    for (auto warp = warps_.rbegin(); warp != warps_.rend(); ++warp) {
        warp->scoreboard = Scoreboard{};
        free_warps_.push_back(&*warp);
    }
    for (Scheduler& scheduler : schedulers_) scheduler.clear();
    next_issue_ = next_retirement_ = kNever;
}

void Sm::add_waited(WaitCycles& sums) const {
    for (const Scheduler& scheduler : schedulers_) {
        for (size_t i = 0; i < kWaits; ++i) sums[i] += scheduler.waited()[i];
    }
}

const ResidentCta* Sm::waiting_cta() const {
    for (const auto& cta : ctas_) {
        if (cta->waiting > 0) return cta.get();
    }
    return nullptr;
}

void Sm::end_warp(Warp& warp, bool exited) {
    ResidentCta& cta = *warp.cta;
    --cta.running;
    if (!exited) ++cta.never_exit;
    cta.done_at = std::max(cta.done_at, warp.results_at);
    if (cta.running == 0) next_retirement_ = std::min(next_retirement_, cta.done_at);
}

// The barrier opens when every warp that has not exited waits at it. A warp whose instructions end without an EXIT
// never comes: the launch then cannot go on, and the GPU says so.
void Sm::pass_barrier(ResidentCta& cta, Cycles now) {
    if (cta.waiting == 0 || cta.waiting != cta.running || cta.never_exit > 0) return;
    cta.waiting = 0;
    for (Scheduler& scheduler : schedulers_) scheduler.release(&cta, now + config_.unit(Unit::barrier).latency);
}

Scheduler& Sm::scheduler_for_next_warp() {
    size_t fewest = 0;
    for (size_t i = 1; i < schedulers_.size(); ++i) {
        if (schedulers_[i].warps() < schedulers_[fewest].warps()) fewest = i;
    }
    return schedulers_[fewest];
}

void Sm::update_next_issue() {
    next_issue_ = kNever;
    for (const Scheduler& scheduler : schedulers_) next_issue_ = std::min(next_issue_, scheduler.next_event());
}

}  // namespace kernelpoint::fast_model
