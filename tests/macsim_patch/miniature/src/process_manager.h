// Applications, their kernels and warps, for the miniature simulator.
#pragma once
#include <list>
#include <map>
#include <queue>
#include <string>
#include <vector>

#include "macsim.h"

struct thread_start_info_s {
    unsigned number;
};

struct process_s {
    process_s(unsigned number, const string& config, queue<int>* pool)
        : m_process_id(number), m_kernel_config_name(config), m_core_pool(pool) {}

    const unsigned m_process_id;
    const string m_kernel_config_name;
    queue<int>* const m_core_pool;
    bool m_acc = false;
    vector<string> m_applications;
    unsigned m_current_vector_index = 0;  // of the kernel to set up next
    vector<int> m_kernel_block_start_count;
    map<int, bool> m_core_list, m_block_list;
    thread_start_info_s* m_thread_start_info = NULL;
    thread_s** m_thread_trace_info = NULL;
    unsigned m_no_of_threads_created = 0, m_no_of_threads_terminated = 0;
};

struct thread_s {
    process_s* m_process;
    unsigned long long left;  // GPU cycles until it ends
};

class process_manager_c {
public:
    explicit process_manager_c(macsim_c* whole) : m_simBase(whole) {}
    void add(const string& config);
    void setup_process(process_s* owner);
    void terminate_process(process_s* owner);
    void end_warp(int core, thread_s* warp);
    void fill_cores();
    void sim_thread_schedule(bool) { fill_cores(); }

private:
    void take_cores(process_s* owner);
    int kept(core_c& core, bool missed, uns64 address);
    int stalls(process_s* owner, const string& trace, unsigned warp);
    void count_access(bool hit);

    macsim_c* const m_simBase;
    map<process_s*, list<thread_s*>> waiting_;
};
