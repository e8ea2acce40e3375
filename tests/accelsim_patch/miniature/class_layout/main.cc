#include "accel-sim.h"

int main(int argc, const char** argv) {
    accel_sim_framework framework(argc, argv);
    framework.simulation_loop();
    printf("GPGPU-Sim: *** exit detected ***\n");
    return 0;
}
