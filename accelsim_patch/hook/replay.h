// State that does not depend on what was simulated: before a launch all of it is emptied or set, and what the launches
// before it left in the L2 is put back. Functional warming (SMARTS, Wunderlich et al., ISCA 2003, section 3).
#ifndef KERNELPOINT_ACCELSIM_REPLAY_H
#define KERNELPOINT_ACCELSIM_REPLAY_H

#include <stdint.h>

#include <bitset>
#include <cstddef>

#include "client.hpp"
#include "kept_state.h"
#include "members.h"
#include "statistics_reader.h"

namespace kernelpoint {

// Contents of the L2 that earlier launches leave.
//
// Model: touches come in their order and each is the newest use of its line. A loaded sector is valid; a stored one is
// modified, and readable once it was loaded or stored as a whole (the simulator reads it from DRAM once more
// otherwise); a copied one is clean.
class L2Contents {
public:
    explicit L2Contents(gpgpu_sim* sim) : m_sim(sim), m_memory(sim->getMemoryConfig()) {}

    uint64_t lines() const {
        return static_cast<uint64_t>(m_memory->m_L2_config.get_num_lines()) * m_memory->m_n_mem_sub_partition;
    }

    void empty() {
        for (unsigned i = 0; i < m_memory->m_n_mem_sub_partition; ++i) {
            tags(i)->*reach(IsUsed()) = true;  // the simulator skips a cache that it has not accessed itself
            Inside::l2(m_sim, i)->invalidateL2();
        }
    }

    // Applies an access; returns a mask of the sectors that were loaded and not valid before.
    unsigned take(const kp_touch& touch) {
        // The simulator cuts the addresses of copies to 32 bits (gpgpu_sim::perf_memcpy_to_gpu).
        const uint64_t block = touch.copied ? touch.line & UINT32_MAX : touch.line;
        addrdec_t place;
        m_memory->m_address_mapping.addrdec_tlx(block, &place);
        const unsigned time = now(place.sub_partition);
        unsigned read = 0;
        for (unsigned sector = 0; sector < SECTOR_CHUNCK_SIZE; ++sector)
            if (touch.touched >> sector & 1 && !use(place.sub_partition, block, sector, touch, time)) read |= 1u << sector;
        return touch.copied ? 0 : read & ~touch.written;
    }

private:
    // Uses a sector; false if it was not valid before.
    bool use(unsigned partition, uint64_t block, unsigned sector, const kp_touch& touch, unsigned time) {
        const mem_access_sector_mask_t mask = mem_access_sector_mask_t().set(sector);
        cache_block_t* line = touch.copied ? NULL : find(partition, block, mask);
        const bool was_readable = line != NULL && line->is_readable(mask);
        if (line == NULL) {
            cache(partition)->force_tag_access(block, time, mask);
            line = find(partition, block, mask);
        }
        if (line == NULL) return was_readable;
        line->set_last_access_time(time, mask);
        const bool readable = was_readable || touch.copied || (touch.filled >> sector & 1) != 0;
        if (touch.written >> sector & 1) {
            if (!line->is_modified_line()) count_dirty(tags(partition), 0);
            line->set_status(MODIFIED, mask);
        }
        line->set_m_readable(readable, mask);
        return was_readable;
    }

    l2_cache* cache(unsigned partition) { return Inside::l2(m_sim, partition)->*reach(L2Cache()); }
    tag_array* tags(unsigned partition) { return static_cast<baseline_cache*>(cache(partition))->*reach(Tags()); }

    // Clock for what enters the L2 between launches; every later access is later than it.
    unsigned now(unsigned partition) {
        unsigned& offset = Inside::l2(m_sim, partition)->*reach(CopyOffset());
        return static_cast<unsigned>(m_sim->gpu_sim_cycle + m_sim->gpu_tot_sim_cycle) + offset++;
    }

    cache_block_t* find(unsigned partition, uint64_t block, const mem_access_sector_mask_t& mask) {
        const l2_cache_config& config = m_memory->m_L2_config;
        const unsigned ways = config.get_num_lines() / config.get_nset();
        const unsigned first = config.set_index(block) * ways;
        tag_array* all = tags(partition);
        for (unsigned way = 0; way < ways; ++way) {
            cache_block_t* line = all->get_block(first + way);
            if (line->m_tag == config.tag(block) && line->get_status(mask) != INVALID) return line;
        }
        return NULL;
    }

    // Counts dirty lines; trees before 2022 have no such count.
    template <typename All>
    static auto count_dirty(All* all, int) -> decltype(all->inc_dirty()) {
        all->inc_dirty();
    }
    template <typename All>
    static void count_dirty(All*, long) {}

    gpgpu_sim* m_sim;
    const memory_config* m_memory;
};

// DRAM rows that earlier launches leave open.
//
// Model: a bank keeps the row of the last read that the L2 did not have open; writes back are not known, nor, where the
// launches before fill the L2, what was read before the last touch of each sector. Where banks are not numbered by the
// address alone (-dram_bnk_indexing_policy), rows stay closed.
class DramRows {
public:
    explicit DramRows(gpgpu_sim* sim) : m_sim(sim), m_memory(sim->getMemoryConfig()) {}

    void close() {
        for (unsigned i = 0; i < m_memory->m_n_mem; ++i)
            for (unsigned j = 0; j < m_memory->nbk; ++j) {
                bank_t* bank = banks(i)[j];
                bank->state = BANK_IDLE;
                bank->curr_row = 0;
                bank->rw = 0;
            }
    }

    // Reads sectors (one bit each) of a line from DRAM.
    void read(uint64_t line, unsigned sectors) {
        if (m_memory->dram_bnk_indexing_policy != LINEAR_BK_INDEX) return;
        for (unsigned sector = 0; sectors >> sector != 0; ++sector) {
            if ((sectors >> sector & 1) == 0) continue;
            addrdec_t place;
            m_memory->m_address_mapping.addrdec_tlx(line + sector * KP_SECTOR_BYTES, &place);
            bank_t* bank = banks(place.chip)[place.bk];
            bank->state = BANK_ACTIVE;
            bank->curr_row = place.row;
        }
    }

private:
    bank_t** banks(unsigned channel) {
        dram_t* dram = Inside::channel(m_sim, channel)->*reach(Dram());
        return dram->*reach(Banks());
    }

    gpgpu_sim* m_sim;
    const memory_config* m_memory;
};

class Replay {
public:
    explicit Replay(gpgpu_sim* sim) : m_sim(sim), m_l2(sim), m_rows(sim), m_kept(sim) {}

    // Describes the state kept between launches, and the CTAs that run at the same time, which determine the order of
    // accesses.
    void describe(Host* host) const {
        const shader_core_config* cores = m_sim->getShaderCoreConfig();
        host->kept.flags = KP_KEPT_COUNTS_CTAS | KP_KEPT_ROWS;
        if (m_sim->getMemoryConfig()->m_perf_sim_memcpy) host->kept.flags |= KP_KEPT_COPIES_FILL;
        host->kept.lines = 2 * m_l2.lines();  // sets fill unevenly
        host->kept.sms = m_sim->get_config().num_shader();
        host->kept.ctas_per_sm = cores->max_cta_per_core;
        host->kept.warps_per_sm = cores->max_warps_per_shader;
        host->kept.registers_per_sm = cores->gpgpu_shader_registers;
        host->kept.shared_memory_per_sm = cores->gpgpu_shmem_size;
    }

    void drain() { m_kept.drain(); }

    void apply(uint64_t launch, const kp_replay& before) {
        m_kept.set(launch, before);
        m_l2.empty();
        m_rows.close();
        for (uint64_t i = 0; i < before.touch_count; ++i) m_rows.read(before.touches[i].line, m_l2.take(before.touches[i]));
    }

private:
    gpgpu_sim* m_sim;
    L2Contents m_l2;
    DramRows m_rows;
    KeptState m_kept;
};

}  // namespace kernelpoint
#endif
