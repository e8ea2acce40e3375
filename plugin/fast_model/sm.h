// A streaming multiprocessor: the CTAs that fit on it, their warps, and what issuing an instruction does.
#pragma once

#include <memory>
#include <vector>

#include "fast_model/memory_system.h"
#include "fast_model/program.h"
#include "fast_model/scheduler.h"
#include "fast_model/warp.h"

namespace kernelpoint::fast_model {

// Resources of an SM that one CTA of the running launch takes, in the SM's allocation units.
struct CtaDemand {
    CtaDemand() = default;
    CtaDemand(const GpuConfig& config, const LaunchHeader& header);
    // Name of the resource that is too small on every SM; empty if a CTA fits.
    std::string excess(const GpuConfig& config) const;
    // Number of CTAs that fit on an SM.
    uint64_t residency(const GpuConfig& config) const;

    uint64_t warps = 0, registers = 0, shared_memory = 0;
};

class Sm {
public:
    Sm(const GpuConfig& config, uint32_t id, const Program& program, MemorySystem& memory, Counters& counters);

    void start_launch(uint64_t residency);
    bool fits() const { return ctas_.size() < residency_; }
    bool empty() const { return ctas_.empty(); }
    // Places a CTA; its warps may issue from `start` on. A CTA without instructions ends at `start`.
    void place(std::unique_ptr<ResidentCta> cta, Cycles start);
    // Removes the CTAs that have ended at `now`.
    void retire(Cycles now, std::vector<std::unique_ptr<ResidentCta>>& retired);
    // Lets every scheduler that can issue at `now` issue an instruction.
    void issue(Cycles now);
    void clear();

    // Earliest cycle at which an instruction can issue or a CTA can retire.
    Cycles next_event() const { return std::min(next_issue_, next_retirement_); }
    Cycles next_retirement() const { return next_retirement_; }
    uint64_t instructions() const { return instructions_; }  // of threads, since construction
    // Adds the waiting cycles of the running launch.
    void add_waited(WaitCycles& sums) const;
    // A CTA with a warp that waits at a barrier; null if there is none.
    const ResidentCta* waiting_cta() const;

private:
    void execute(Scheduler& scheduler, Scheduler::Slot& slot, Cycles now);
    void prefetch(const Warp& warp, const Step& step) const;
    Cycles act(const Operation& operation, Warp& warp, const Step& step, Cycles now);
    Cycles access_memory(const Operation& operation, const Warp& warp, const Step& step, Cycles now);
    Cycles access_shared(const BankPasses& banks, Cycles now);
    void occupy_load_store_unit(Cycles now, uint64_t passes);
    void end_warp(Warp& warp, bool exited);
    void pass_barrier(ResidentCta& cta, Cycles now);
    Scheduler& scheduler_for_next_warp();
    void update_next_issue();

    const GpuConfig& config_;
    const Program& program_;
    MemorySystem& memory_;
    Counters& counters_;
    const uint32_t id_;
    uint64_t residency_ = 0;  // CTAs of the running launch that fit
    std::vector<std::unique_ptr<ResidentCta>> ctas_;
    std::vector<Scheduler> schedulers_;
    std::vector<Warp> warps_;
    std::vector<Warp*> free_warps_;
    uint64_t instructions_ = 0;
    Cycles next_issue_ = kNever, next_retirement_ = kNever;
};

}  // namespace kernelpoint::fast_model
