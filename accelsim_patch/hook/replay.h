// State that does not depend on what was simulated: before a launch all of it is emptied or set, and what the launches
// before it left in the L2 is put back. Functional warming (SMARTS, Wunderlich et al., ISCA 2003, section 3).
#ifndef KERNELPOINT_ACCELSIM_REPLAY_H
#define KERNELPOINT_ACCELSIM_REPLAY_H

#include "client.hpp"
#include "dram_rows.h"
#include "kept_state.h"
#include "l2_contents.h"

namespace kernelpoint {

class Replay {
public:
    explicit Replay(gpgpu_sim* sim) : m_sim(sim), m_l2(sim), m_rows(sim), m_kept(sim) {}

    // The state that is kept between launches, and what runs at a time: it decides the order of touches.
    void describe(Host* host) const {
        const shader_core_config* cores = m_sim->getShaderCoreConfig();
        host->flags |= KP_HOST_COUNTS_CTAS | KP_HOST_KEEPS_ROWS;
        if (m_sim->getMemoryConfig()->m_perf_sim_memcpy) host->flags |= KP_HOST_COPIES_FILL;
        host->state_lines = 2 * m_l2.lines();  // sets fill unevenly
        host->sms = m_sim->get_config().num_shader();
        host->ctas_per_sm = cores->max_cta_per_core;
        host->warps_per_sm = cores->max_warps_per_shader;
        host->registers_per_sm = cores->gpgpu_shader_registers;
        host->shared_memory_per_sm = cores->gpgpu_shmem_size;
    }

    void drain() { m_kept.drain(); }

    void apply(uint64_t launch, const kp_replay& before) {
        m_kept.set(launch, before);
        m_l2.empty();
        m_rows.close();
        for (uint64_t i = 0; i < before.touch_count; ++i)
            m_rows.read(before.touches[i].line, m_l2.take(before.touches[i]));
    }

private:
    gpgpu_sim* m_sim;
    L2Contents m_l2;
    DramRows m_rows;
    KeptState m_kept;
};

}  // namespace kernelpoint
#endif
