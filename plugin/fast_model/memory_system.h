// The memory behind the SMs: an L1 per SM, a shared L2 in banks, DRAM in channels. Times are computed when an access is
// made: each resource remembers when it is next free, which is all the queueing there is.
//
// Model: L1 is write-through without allocation; stores and atomics are served by L2. L2 is write-back, a written
// sector is allocated without being read from DRAM. Tags persist between launches; L1 is invalidated at a launch when
// the configuration says so (hardware does: L1s are not coherent).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "fast_model/cache.h"
#include "fast_model/config.h"
#include "fast_model/launch_counters.h"
#include "fast_model/program.h"

namespace kernelpoint::fast_model {

constexpr uint64_t kTicks = 4096;  // per cycle, for DRAM channels

// Spreads lines over banks and channels so that no power-of-two stride meets only one of them.
inline uint64_t spread(uint64_t line) {
    return line ^ (line >> 5) ^ (line >> 11) ^ (line >> 17);
}

class MemorySystem {
public:
    MemorySystem(const GpuConfig& config, Counters& counters)
        : config_(config),
          counters_(counters),
          l1_(config.sms, Cache(std::max(config.l1_size, config.l1_unified_size), config.l1_ways)),
          l2_(config.l2_size, config.l2_ways),
          port_free_(config.sms, 0),
          bank_free_(config.l2_banks, 0),
          channel_free_(config.dram_channels, 0),
          banks_(config.l2_banks),
          channels_(config.dram_channels),
          dram_sector_time_(kTicks * kSectorBytes / config.dram_bytes_per_cycle) {}

    // Asks the processor to load what an access to this line will read first.
    void prefetch(uint32_t sm, uint64_t line) const {
        l1_[sm].prefetch(line);
        l2_.prefetch(line);
    }

    // Cycle at which the data of an access has arrived (load, atomic) or the write is done (store).
    Cycles load(uint32_t sm, Cycles now, LineAccess access) {
        uint32_t no_dirty = 0;
        CacheLine& line = l1_[sm].find_or_replace(access.line, no_dirty);
        const uint64_t missing = access.sectors & ~line.valid & 0xf;
        counters_.l1_accesses += count_sectors(access.sectors);
        const Cycles hit_at = now + config_.l1_latency;
        if (line.fill_at > now) counters_.l1_merged += count_sectors(access.sectors & line.valid);
        if (!missing) return std::max(hit_at, Cycles{line.fill_at});
        counters_.l1_misses += count_sectors(missing);
        const Cycles arrives = pass_port(sm, hit_at, count_sectors(missing));
        const Cycles fill_at = std::max(Cycles{line.fill_at}, read_l2(arrives, {access.line, missing}));
        line.fill_at = fill_at;
        line.valid |= missing;
        return fill_at;
    }
    Cycles store(uint32_t sm, Cycles now, LineAccess access) {
        counters_.l1_writes += count_sectors(access.sectors);
        counters_.l1_write_hits += count_sectors(access.sectors & l1_[sm].valid_sectors(access.line));
        return write_l2(pass_port(sm, now + config_.l1_latency, count_sectors(access.sectors)), access);
    }
    Cycles atomic(uint32_t sm, Cycles now, LineAccess access) {
        const Cycles arrives = pass_port(sm, now + config_.l1_latency, count_sectors(access.sectors));
        const Cycles done = read_l2(arrives, access);
        l2_.find(access.line)->dirty |= access.sectors;
        return done;
    }

    // Applies a copy from the host. Model: a copy from the host leaves its sectors in L2, clean, as if they had been
    // written through to DRAM: the first launch that reads them hits. Only the last part that fits into L2 is
    // installed. L1s lose everything. The copy costs no cycles and no counter, it belongs to no launch.
    void copy_from_host(uint64_t address, uint64_t bytes) {
        for (Cache& l1 : l1_) l1.clear();
        if (bytes == 0) return;
        const uint64_t last = (address + (bytes - 1)) / kLineBytes;
        const uint64_t first = std::max(address / kLineBytes, last - std::min(last, l2_.lines() - 1));
        for (uint64_t line = first; line <= last; ++line) {
            uint32_t evicted_dirty = 0;
            CacheLine& installed = l2_.find_or_replace(line, evicted_dirty);
            installed.valid = 0xf;
            installed.dirty = 0;
        }
    }
    // Prepares for a launch, which takes `shared_memory` bytes on each SM. Model: launches do not overlap, and all
    // queues of ports, banks and channels are empty at its start.
    void start_launch(uint64_t shared_memory) {
        for (std::vector<Cycles>* free : {&port_free_, &bank_free_, &channel_free_}) std::fill(free->begin(), free->end(), 0);
        const uint64_t bytes = l1_bytes(shared_memory);
        const bool other_size = bytes / kLineBytes != l1_[0].lines();
        if (!config_.l1_invalidate_at_launch && !other_size) return;
        for (Cache& l1 : l1_) {
            l1.clear();
            if (other_size) l1.set_size(bytes);
        }
    }

    // Changes of caches between launches that take no simulated time: empty them, or repeat for one line what a launch
    // did.
    void empty() {
        for (Cache& l1 : l1_) l1.clear();
        l2_.clear();
    }
    void touch(LineAccess touched, uint8_t written) {
        uint32_t evicted_dirty = 0;
        CacheLine& line = l2_.find_or_replace(touched.line, evicted_dirty);
        line.valid |= touched.sectors;
        line.dirty |= written;
    }

    // True if only the L2 keeps its contents between launches, because L1 is invalidated at each launch.
    bool keeps_l2_only() const { return config_.l1_invalidate_at_launch != 0; }
    Cache& l2() { return l2_; }

private:
    // Model: where one memory serves both, shared memory gets the least power of two that holds the CTAs of an SM.
    uint64_t l1_bytes(uint64_t shared_memory) const {
        if (config_.l1_unified_size == 0) return config_.l1_size;
        uint64_t carveout = shared_memory == 0 ? 0 : 8192;
        while (carveout < shared_memory) carveout *= 2;
        carveout = std::min<uint64_t>(carveout, config_.shared_memory_per_sm);
        const uint64_t step = uint64_t{config_.l1_ways} * kLineBytes;
        const uint64_t left = config_.l1_unified_size - std::min<uint64_t>(carveout, config_.l1_unified_size);
        return std::max(left / step, uint64_t{1}) * step;
    }
    // The way from an SM to L2: a fixed number of cycles per sector.
    Cycles pass_port(uint32_t sm, Cycles now, uint32_t sectors) {
        const Cycles start = std::max(now, port_free_[sm]);
        port_free_[sm] = start + Cycles{sectors} * config_.l1_miss_interval;
        return start;
    }
    Cycles pass_bank(Cycles now, LineAccess access) {
        Cycles& free = bank_free_[banks_.remainder(spread(access.line))];
        const Cycles start = std::max(now, free);
        free = start + Cycles{count_sectors(access.sectors)} * config_.l2_interval;
        counters_.l2_accesses += count_sectors(access.sectors);
        return start;
    }
    Cycles read_l2(Cycles now, LineAccess access) {
        const Cycles start = pass_bank(now, access);
        uint32_t evicted_dirty = 0;
        CacheLine& line = l2_.find_or_replace(access.line, evicted_dirty);
        write_back(start, access.line, evicted_dirty);
        const uint64_t missing = access.sectors & ~line.valid & 0xf;
        const Cycles hit_at = start + config_.l2_latency;
        if (line.fill_at > start) counters_.l2_merged += count_sectors(access.sectors & line.valid);
        if (!missing) return std::max(hit_at, Cycles{line.fill_at});
        counters_.l2_misses += count_sectors(missing);
        counters_.dram_reads += count_sectors(missing);
        const Cycles fill_at = std::max(Cycles{line.fill_at}, use_dram(hit_at, access.line, count_sectors(missing)));
        line.fill_at = fill_at;
        line.valid |= missing;
        return fill_at;
    }
    Cycles write_l2(Cycles now, LineAccess access) {
        const Cycles start = pass_bank(now, access);
        uint32_t evicted_dirty = 0;
        CacheLine& line = l2_.find_or_replace(access.line, evicted_dirty);
        write_back(start, access.line, evicted_dirty);
        counters_.l2_writes += count_sectors(access.sectors);
        counters_.l2_write_hits += count_sectors(access.sectors & line.valid);
        line.valid |= access.sectors;
        line.dirty |= access.sectors;
        return start + config_.l2_latency;
    }
    Cycles use_dram(Cycles now, uint64_t line, uint32_t sectors) {
        uint64_t& free = channel_free_[channels_.remainder(spread(line))];
        free = std::max(now * kTicks, free) + sectors * dram_sector_time_;
        return free / kTicks + config_.dram_latency;
    }
    // Nobody waits for a write-back, but it takes its share of the bandwidth. Model: the replaced line is charged to
    // the channel of the line that replaces it.
    void write_back(Cycles now, uint64_t line, uint32_t sectors) {
        if (sectors == 0) return;
        counters_.dram_writes += sectors;
        use_dram(now, line, sectors);
    }

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
