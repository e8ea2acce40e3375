// A core of the miniature simulator: holds warps, an instruction cache and a branch predictor, counts GPU cycles.
#pragma once
#include <list>
#include <string>

#include "bp.h"
#include "cache.h"

using namespace std;

struct process_s;
struct thread_s;

class core_c {
public:
    core_c(int places, int history, const Counter* now)
        : m_icache(cache_c::of<bool>(4, 2, 64, now)), m_bp_data(new bp_data_c(history)), places_(places) {}
    string get_core_type() { return "nvbit"; }
    unsigned long long get_cycle_count() { return clock_; }
    void pulse() { ++clock_; }
    int get_max_threads_per_core() { return places_; }
    void init() {}
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

    list<thread_s*> warps;
    process_s* owner = NULL;

private:
    cache_c* m_icache;
    bp_data_c* m_bp_data;
    unsigned long long clock_ = 0;
    int places_;
};
