// Cores and kernels of the miniature simulator.
#pragma once
#include <list>
#include <string>
#include <vector>

#include "gpgpu-sim/gpu-cache.h"
#include "gpgpu-sim/held.h"

struct dim3 {
    unsigned x, y, z;
};

struct shader_core_config {
    bool gpgpu_concurrent_kernel_sm = false;
    unsigned max_cta_per_core = 8, max_warps_per_shader = 16, gpgpu_shader_registers = 1024, gpgpu_shmem_size = 1024;
    bool sub_core_model = true;
    int simt_core_sim_order = 1;
    int gpgpu_operand_collector_num_units_gen = 2;
    unsigned reg_file_port_throughput = 2;
};

struct shader_core_stats {
    unsigned* m_num_sim_winsn = new unsigned[4]();
    float* m_pipeline_duty_cycle = new float[4]{0.1f, 0.2f, 0, 0.3f};
    unsigned gpgpu_n_shmem_bkconflict = 0, gpgpu_n_l1cache_bkconflict = 0;
};

// Everything below takes turns, and whose turn it is costs cycles: a pointer that is not reset shows.
struct shd_warp_t {};

class scheduler_unit {
public:
    virtual ~scheduler_unit() {}
    virtual void done_adding_supervised_warps() { m_last_supervised_issued = m_supervised_warps.end(); }
    // The warp behind the one that was issued last.
    unsigned turn() {
        if (m_last_supervised_issued != m_supervised_warps.end()) ++m_last_supervised_issued;
        if (m_last_supervised_issued == m_supervised_warps.end()) m_last_supervised_issued = m_supervised_warps.begin();
        return static_cast<unsigned>(m_last_supervised_issued - m_supervised_warps.begin());
    }

protected:
    std::vector<shd_warp_t*> m_supervised_warps = std::vector<shd_warp_t*>(16);
    std::vector<shd_warp_t*>::const_iterator m_last_supervised_issued = m_supervised_warps.end();
};

class opndcoll_rfu_t : public opndcoll_base_t {
public:
    unsigned turn() { return m_arbiter.turn() + m_dispatch_units[0].turn(); }

private:
    class arbiter_t {
    public:
        unsigned turn() { return m_last_cu = (m_last_cu + 1) % m_num_collectors; }

    private:
        unsigned m_num_collectors = 3;
        unsigned m_last_cu = 0;
    };
    class dispatch_unit_t {
    public:
        unsigned turn() { return m_last_cu = (m_last_cu + 1) % m_num_collectors; }

    private:
        unsigned m_num_collectors = 2;
        unsigned m_last_cu = 0;
    };
    arbiter_t m_arbiter;
    std::vector<dispatch_unit_t> m_dispatch_units = std::vector<dispatch_unit_t>(1);
};

class ldst_unit {
public:
    unsigned turn() {
        m_writeback_arb = (m_writeback_arb + 1) % m_num_writeback_clients;
        return m_writeback_arb + m_L1C->turn();
    }

protected:
    read_only_cache* m_L1C = new read_only_cache;
    unsigned m_num_writeback_clients = 5;
    unsigned m_writeback_arb = 0;
};

class shader_core_ctx {
public:
    unsigned turn() {
        Issue_Prio = (Issue_Prio + 1) % 4;
        m_last_warp_fetched = (m_last_warp_fetched + 1) % 3;
        return Issue_Prio + m_last_warp_fetched + schedulers[0]->turn() + Collector::of(m_operand_collector).turn() +
               m_ldst_unit->turn() + m_L1I->turn();
    }

protected:
    typedef One<opndcoll_rfu_t> Collector;
    read_only_cache* m_L1I = new read_only_cache;
    unsigned Issue_Prio = 0;
    int m_last_warp_fetched = 0;
    std::vector<scheduler_unit*> schedulers = {new scheduler_unit};
    Collector::Type m_operand_collector = Collector::make();
    ldst_unit* m_ldst_unit = new ldst_unit;
};

class simt_core_cluster {
public:
    unsigned turn() {
        m_cta_issue_next_core = (m_cta_issue_next_core + 1) % 2;
        m_core_sim_order.splice(m_core_sim_order.end(), m_core_sim_order, m_core_sim_order.begin());
        return m_core[m_cta_issue_next_core]->turn() + m_core_sim_order.front();
    }
    void cache_invalidate() {}
    void core_cycle() { m_core_sim_order.splice(m_core_sim_order.end(), m_core_sim_order, m_core_sim_order.begin()); }
    unsigned get_not_completed() const { return 0; }
    unsigned get_n_active_sms() const { return 0; }
    void print() const { printf(" first core %u", m_core_sim_order.front()); }

    cache_stats l1;
    void get_L1D_sub_stats(cache_sub_stats& sum) const {
        sum.accesses = l1.hits + l1.misses;
        sum.misses = l1.misses;
    }
    void get_cache_stats(cache_stats& sum) const {
        sum.hits += l1.hits;
        sum.misses += l1.misses;
    }

private:
    shader_core_ctx m_own[2];
    shader_core_ctx* m_list[2] = {&m_own[0], &m_own[1]};
    shader_core_ctx** m_core = m_list;
    unsigned m_cta_issue_next_core = 1;
    std::list<unsigned> m_core_sim_order = {0, 1};
    std::list<mem_fetch*> m_response_fifo;
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
    unsigned m_kernel_TB_latency = 0;

private:
    unsigned m_uid, m_next = 0;
    std::string m_name;
    dim3 m_grid, m_block;
};
