// The loop over the list as a class, as in version 2.0: a window of launches, launches that are marked
// once they run, a command's type told apart by name, and an end that a list which ends in a copy may reach.
#pragma once
#include <vector>

#include "gpgpu-sim/gpu-sim.h"
#include "gpgpu_context.h"
#include "trace_driven.h"

class accel_sim_framework {
public:
    accel_sim_framework(int argc, const char** argv);
    void simulation_loop();
    void fill_window();
    void retire(unsigned uid);
    unsigned run_to_an_end();

private:
    struct Waiting {
        trace_kernel_info_t* kernel;
        bool runs;
    };

    gpgpu_sim* make_model(int argc, const char** argv, trace_config* settings);

    gpgpu_context* m_context;
    trace_config settings;
    trace_parser reader;
    gpgpu_sim* m_gpu;
    bool has_cycles, overlaps;
    unsigned m_width, m_position;
    std::vector<Waiting> m_window;
    std::vector<trace_command> m_commands;
};
