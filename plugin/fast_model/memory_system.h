// The memory behind the SMs: an L1 per SM, a shared L2 in banks, DRAM in channels. Times are computed when an access is
// made: each resource remembers when it is next free, which is all the queueing there is.
//
// Model: L1 is write-through without allocation; stores and atomics are served by L2. L2 is write-back, a written
// sector is allocated without being read from DRAM. Tags persist between launches; L1 is invalidated at a launch when
// the configuration says so (hardware does: L1s are not coherent).
#pragma once

#include <cstdint>
#include <vector>

#include "fast_model/cache.h"
#include "fast_model/coalescer.h"
#include "fast_model/config.h"
#include "fast_model/counters.h"

namespace kernelpoint::fast_model {

class MemorySystem {
public:
    MemorySystem(const GpuConfig& config, Counters& counters);

    // Asks the processor to load what an access to this line will read first.
    void prefetch(uint32_t sm, uint64_t line) const {
        l1_[sm].prefetch(line);
        l2_.prefetch(line);
    }

    // Cycle at which the data of an access has arrived (load, atomic) or the write is done (store).
    Cycles load(uint32_t sm, Cycles now, LineAccess access);
    Cycles store(uint32_t sm, Cycles now, LineAccess access);
    Cycles atomic(uint32_t sm, Cycles now, LineAccess access);

    // Applies a copy from the host. Model: a copy from the host leaves its sectors in L2, clean, as if they had been
    // written through to DRAM: the first launch that reads them hits. Only the last part that fits into L2 is
    // installed. L1s lose everything. The copy costs no cycles and no counter, it belongs to no launch.
    void copy_from_host(uint64_t address, uint64_t bytes);
    // Prepares for a launch, which takes `shared_memory` bytes on each SM. Model: launches do not overlap, and all
    // queues of ports, banks and channels are empty at its start.
    void start_launch(uint64_t shared_memory);

    // Changes of caches between launches that take no simulated time: empty them, or repeat for one line what a launch
    // did.
    void empty();
    void touch(LineAccess touched, uint8_t written);

    // True if only the L2 keeps its contents between launches, because L1 is invalidated at each launch.
    bool keeps_l2_only() const { return config_.l1_invalidate_at_launch != 0; }
    Cache& l2() { return l2_; }

private:
    uint64_t l1_bytes(uint64_t shared_memory) const;
    Cycles pass_port(uint32_t sm, Cycles now, uint32_t sectors);
    Cycles pass_bank(Cycles now, LineAccess access);
    Cycles read_l2(Cycles now, LineAccess access);
    Cycles write_l2(Cycles now, LineAccess access);
    Cycles use_dram(Cycles now, uint64_t line, uint32_t sectors);
    void write_back(Cycles now, uint64_t line, uint32_t sectors);

    const GpuConfig& config_;
    Counters& counters_;
    std::vector<Cache> l1_;
    Cache l2_;
    // Cycles at which each is next free; DRAM channels in 1/4096 cycle, since a sector need not take whole cycles.
    std::vector<Cycles> port_free_, bank_free_, channel_free_;
    const Modulo banks_, channels_;
    const uint64_t dram_sector_time_;
};

}  // namespace kernelpoint::fast_model
