// A core of the miniature simulator: holds warps and counts GPU cycles.
#pragma once
#include <list>
#include <string>

using namespace std;

struct process_s;
struct thread_s;

class core_c {
public:
    explicit core_c(int places) : places_(places) {}
    string get_core_type() { return "nvbit"; }
    unsigned long long get_cycle_count() { return clock_; }
    void pulse() { ++clock_; }
    int get_max_threads_per_core() { return places_; }
    void init() {}
    void add_application(int, process_s* process) { owner = process; }

    list<thread_s*> warps;
    process_s* owner = NULL;

private:
    unsigned long long clock_ = 0;
    int places_;
};
