// State that the miniature simulator's parts share.
#pragma once
#include <stdio.h>

struct gpgpu_context {
    unsigned kernel_info_m_next_uid = 1;
    void print_simulation_time() { printf("gpgpu_simulation_time = 0 sec\n"); }
};
