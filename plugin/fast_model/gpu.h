// The simulated GPU: takes one launch at a time, hands its CTAs to the SMs as slots free and moves time from event to
// event. Caches and time persist between launches. Deterministic: SMs act in order of time, then of number.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fast_model/sm.h"
#include "kernelpoint/state.h"

namespace kernelpoint::fast_model {

struct LaunchResult {
    std::string kernel_name;
    Cycles cycles = 0;          // launch latency included
    uint64_t instructions = 0;  // of threads
    Counters counters;
    WaitCycles waited{};
    bool stopped = false;  // CTAs were left out because of stop_issuing()
};

class Gpu {
public:
    explicit Gpu(const GpuConfig& config);
    const GpuConfig& config() const { return config_; }

    // Between launches: applies a copy from the host to the caches, or replaces their contents by that of earlier
    // accesses, oldest first.
    void copy_from_host(uint64_t address, uint64_t bytes) { memory_.copy_from_host(address, bytes); }
    void replay(const kp_touch* touches, uint64_t count);

    // Between launches: the state with which the next one begins. If keeps_l2_only(), it is the L2 alone.
    bool keeps_l2_only() const { return memory_.keeps_l2_only(); }
    Cache& l2() { return memory_.l2(); }

    // Simulates a launch. It may be interrupted. It throws TraceError for a damaged trace, a CTA that fits on no SM and
    // a deadlock. After either, the caches keep the lines that the launch has loaded. `at_interval` is called every
    // `interval` cycles, unless `interval` is 0.
    const LaunchResult& run(const std::string& trace_path, Cycles interval = 0, const std::function<void()>& at_interval = {});
    // Stops issuing CTAs of the running launch; CTAs on the SMs run to their end.
    void stop_issuing();
    // Result of the launch that has ended.
    const LaunchResult& result() const { return result_; }

    // Header of the running launch.
    const LaunchHeader& header() const { return reader_->header(); }
    Cycles cycles() const { return now_ - started_at_; }
    uint64_t instructions() const;
    uint64_t ctas_issued() const { return counters_.ctas; }
    uint64_t ctas_completed() const { return ctas_completed_; }

private:
    void start(const std::string& trace_path);
    bool advance(Cycles cycles);
    void abandon();
    Cycles step();
    void retire();
    void dispatch();
    bool read_cta();
    Sm* next_free_sm();
    void complete();
    void forget_launch();
    [[noreturn]] void report_deadlock() const;

    const GpuConfig config_;
    Counters counters_;
    MemorySystem memory_;
    Program program_;
    std::vector<Sm> sms_;
    std::vector<uint32_t> active_;     // SMs with CTAs, in order
    std::vector<Cycles> next_event_;   // of each SM
    Cycles next_retirement_ = kNever;  // of any SM
    Cycles now_ = 0, started_at_ = 0, dispatcher_free_ = 0;

    std::string trace_path_;
    std::unique_ptr<TraceReader> reader_;
    Cta trace_;  // the CTA read last
    std::unique_ptr<ResidentCta> read_ahead_;
    std::vector<std::unique_ptr<ResidentCta>> pool_;  // buffers of retired CTAs, to be used again
    CtaDemand demand_;
    size_t next_sm_ = 0;
    uint64_t ctas_completed_ = 0, instructions_before_ = 0;
    bool exhausted_ = false;  // the trace has no CTA left
    bool stopped_ = false;    // CTAs are left, but are not wanted
    LaunchResult result_;
};

}  // namespace kernelpoint::fast_model
