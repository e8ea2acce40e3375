#include "accel-sim.h"

int main(int argc, const char** argv) {
    accel_sim_framework framework(argc, argv);
    framework.simulation_loop();
    puts("GPGPU-Sim: *** exit detected ***");
    return 0;
}
