// Cores and kernels of the miniature simulator.
#pragma once
#include <string>

#include "gpgpu-sim/gpu-cache.h"

struct dim3 {
    unsigned x, y, z;
};

struct shader_core_config {
    bool gpgpu_concurrent_kernel_sm = false;
};

struct shader_core_stats {
    unsigned* m_num_sim_winsn = new unsigned[1]();
    unsigned gpgpu_n_shmem_bkconflict = 0, gpgpu_n_l1cache_bkconflict = 0;
};

struct simt_core_cluster {
    cache_stats l1;
    void get_L1D_sub_stats(cache_sub_stats& sum) const {
        sum.accesses = l1.hits + l1.misses;
        sum.misses = l1.misses;
    }
    void get_cache_stats(cache_stats& sum) const {
        sum.hits += l1.hits;
        sum.misses += l1.misses;
    }
};

class kernel_info_t {
public:
    kernel_info_t(unsigned uid, const std::string& name, dim3 grid, dim3 block)
        : m_uid(uid), m_name(name), m_grid(grid), m_block(block) {}
    unsigned get_uid() const { return m_uid; }
    const std::string& name() const { return m_name; }
    size_t num_blocks() const { return size_t(m_grid.x) * m_grid.y * m_grid.z; }
    size_t threads_per_cta() const { return size_t(m_block.x) * m_block.y * m_block.z; }
    bool no_more_ctas_to_run() const { return m_next >= num_blocks(); }
    void increment_cta_id() { ++m_next; }
    unsigned get_next_cta_id_single() const { return m_next; }
    bool running() const { return resident > 0; }

    unsigned resident = 0;

private:
    unsigned m_uid, m_next = 0;
    std::string m_name;
    dim3 m_grid, m_block;
};
