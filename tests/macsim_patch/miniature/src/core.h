// A core of the miniature simulator: holds warps and counts GPU cycles.
#pragma once
#include <list>
#include <string>

using namespace std;

struct process_s;
struct thread_s;

class core_c {
public:
    explicit core_c(int most) : m_most(most) {}
    string get_core_type() { return "nvbit"; }
    unsigned long long get_cycle_count() { return m_cycles; }
    void inc_core_cycle_count() { ++m_cycles; }
    int get_max_threads_per_core() { return m_most; }
    void init() {}
    void add_application(int, process_s* process) { m_process = process; }

    list<thread_s*> warps;
    process_s* m_process = NULL;

private:
    unsigned long long m_cycles = 0;
    int m_most;
};
