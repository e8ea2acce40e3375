// Applications, their kernels and warps, for the miniature simulator.
#pragma once
#include <list>
#include <map>
#include <queue>
#include <set>
#include <string>
#include <vector>

#include "macsim.h"

struct thread_start_info_s {
    unsigned m_thread_id;
};

struct process_s {
    unsigned int m_process_id = 0;
    thread_start_info_s* m_thread_start_info = NULL;
    thread_s** m_thread_trace_info = NULL;
    unsigned int m_no_of_threads_created = 0, m_no_of_threads_terminated = 0;
    map<int, bool> m_core_list;
    queue<int>* m_core_pool = NULL;
    bool m_acc = false;
    vector<string> m_applications;
    vector<int> m_kernel_block_start_count;
    string m_kernel_config_name;
    unsigned int m_current_vector_index = 0;
    map<int, bool> m_block_list;
    int m_block_count = 0;
};

struct thread_s {
    process_s* m_process;
    unsigned long long left;  // GPU cycles until it ends
};

class process_manager_c {
public:
    explicit process_manager_c(macsim_c* base) : m_simBase(base) {}
    void create_process(const string& config);
    void setup_process(process_s* process);
    bool terminate_process(process_s* process);
    int terminate_thread(int core_id, thread_s* warp);
    void sim_thread_schedule();

private:
    macsim_c* m_simBase;
    map<process_s*, list<thread_s*>> m_waiting;
    set<string> m_warm;  // traces that were run: they hit in the L1
};
