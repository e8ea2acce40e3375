// The loop over the list as a class, as in trees since 2024.
#pragma once
#include <vector>

#include "gpgpu-sim/gpu-sim.h"
#include "gpgpu_context.h"
#include "trace_driven.h"

class accel_sim_framework {
public:
    accel_sim_framework(int argc, const char** argv);
    void simulation_loop();

private:
    void fetch();
    void tidy(unsigned uid);
    unsigned simulate();

    gpgpu_context* m_context;
    gpgpu_sim* m_gpu;
    trace_config m_config;
    std::vector<trace_command> m_commands;
    unsigned m_position = 0;
    trace_parser* m_reader;
    std::vector<trace_kernel_info_t*> m_kernels;
};
