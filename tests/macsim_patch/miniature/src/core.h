// A core of the miniature simulator: holds warps, an instruction cache and a branch predictor, counts GPU cycles.
#pragma once
#include <list>
#include <string>

#include "bp.h"
#include "cache.h"
#include "frontend.h"
#include "readonly_cache.h"
#include "schedule_smc.h"

using namespace std;

struct process_s;
struct thread_s;

class core_c {
public:
    core_c(int places, int history, const Counter* now)
        : m_icache(cache_c::of<bool>(4, 2, 64, now)),
          m_bp_data(new bp_data_c(history)),
          m_const_cache(new readonly_cache_c(now)),
          places_(places) {}
    string get_core_type() { return "nvbit"; }
    unsigned long long get_cycle_count() { return clock_; }
    void inc_core_cycle_count() { ++clock_; }
    frontend_c* get_frontend() { return m_frontend; }
    readonly_cache_c* get_const_cache() { return m_const_cache; }
    int get_max_threads_per_core() { return places_; }
    void init() { clock_ = 0; }
    void add_application(int, process_s* process) { owner = process; }

    // Each application has addresses of its own.
    Addr address_of(Addr pc, Addr space) { return pc + m_icache->base_cache_line(space); }

    // True if the line was there; it is now.
    bool fetch(Addr pc) {
        Addr line, evicted;
        if (m_icache->access_cache(pc, &line, true, 0) != NULL) return true;
        m_icache->insert_cache(pc, &line, &evicted, 0, true);
        return false;
    }

    // Predicts and resolves a branch; whether it was predicted.
    bool branch(macsim_c* whole, Addr pc, bool taken, bool conditional) {
        uop_c branch(whole);
        branch.m_pc = pc;
        branch.m_dir = taken;
        const bool right = m_bp_data->m_bp->pred(&branch) == taken;
        if (conditional) m_bp_data->m_bp->update(&branch);
        if (!right) m_bp_data->m_bp->recover(&branch.m_recovery_info);
        return right;
    }

    // Cycles that the next warp waits for its turns.
    int wait() {
        const int number = m_unique_scheduled_thread_num++;
        m_last_terminated_tid = m_unique_scheduled_thread_num;
        return m_frontend->wait(number) + m_schedule->wait() + number % 2 + (m_const_cache->use(0) ? 0 : 5);
    }

    int m_unique_scheduled_thread_num = 0;
    list<thread_s*> warps;
    process_s* owner = NULL;

private:
    cache_c* m_icache;
    bp_data_c* m_bp_data;
    readonly_cache_c* m_const_cache;
    frontend_c* m_frontend = new frontend_c;
    schedule_c* m_schedule = new schedule_smc_c;
    int m_last_terminated_tid = 0;
    unsigned long long clock_ = 0;
    int places_;
};
