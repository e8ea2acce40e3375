// A streaming multiprocessor: the CTAs that fit on it, their warps, and what issuing an instruction does.
#pragma once

#include <memory>
#include <vector>

#include "fast_model/memory_system.h"
#include "fast_model/opcode_timing.h"
#include "fast_model/scheduler.h"
#include "fast_model/warp.h"

namespace kernelpoint::fast_model {

// What a CTA of the running launch takes of an SM, in the units that the SM allocates.
struct CtaDemand {
    CtaDemand() = default;
    CtaDemand(const GpuConfig& config, const LaunchHeader& header);
    // What no SM has enough of, or an empty string.
    std::string excess(const GpuConfig& config) const;

    uint64_t warps = 0, registers = 0, shared_memory = 0;
    uint64_t shared_base = 0;  // generic addresses from here on are shared memory
};

class Sm {
public:
    Sm(const GpuConfig& config, uint32_t id, const OpcodeTimings& timings, MemorySystem& memory, Counters& counters);

    void start_launch(const CtaDemand& demand) { demand_ = demand; }
    bool fits() const;
    // The CTA's warps may issue from `start` on. An empty CTA is done at `start`.
    void place(std::unique_ptr<ResidentCta> cta, Cycles start);
    // Takes away the CTAs that are done at `now`.
    void retire(Cycles now, std::vector<std::unique_ptr<ResidentCta>>& retired);
    // Lets every scheduler that can issue at `now` do so.
    void issue(Cycles now);
    void clear();

    // Nothing happens before this: no issue, no retirement.
    Cycles next_event() const { return std::min(next_issue_, next_retirement_); }
    Cycles next_retirement() const { return next_retirement_; }
    uint64_t instructions() const { return instructions_; }  // of threads, since construction
    // A CTA of which a warp waits at a barrier, or null.
    const ResidentCta* waiting_cta() const;

private:
    void execute(Scheduler& scheduler, Scheduler::Slot& slot, Cycles now);
    Cycles act(const OpcodeTiming& timing, Warp& warp, const Instruction& instruction, Cycles now);
    Cycles access_memory(const OpcodeTiming& timing, Warp& warp, const Instruction& instruction, Cycles now);
    Cycles access_shared(const uint64_t* addresses, const Instruction& instruction, Cycles now);
    const uint64_t* translate(const OpcodeTiming& timing, const Warp& warp, const Instruction& instruction);
    bool is_shared(uint64_t generic_address) const;
    void occupy_load_store_unit(Cycles now, uint64_t passes);
    void end_warp(Warp& warp, bool exited);
    void pass_barrier(ResidentCta& cta, Cycles now);
    Scheduler& scheduler_for_next_warp();
    void update_next_issue();

    const GpuConfig& config_;
    const OpcodeTimings& timings_;
    MemorySystem& memory_;
    Counters& counters_;
    const uint32_t id_;
    CtaDemand demand_;
    std::vector<std::unique_ptr<ResidentCta>> ctas_;
    std::vector<Scheduler> schedulers_;
    std::vector<Warp> warps_;
    std::vector<Warp*> free_warps_;
    std::vector<LineAccess> lines_;
    uint64_t local_addresses_[kWarpSize];
    uint64_t instructions_ = 0;
    Cycles next_issue_ = kNever, next_retirement_ = kNever;
};

}  // namespace kernelpoint::fast_model
