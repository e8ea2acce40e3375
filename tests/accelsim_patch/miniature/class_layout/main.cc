#include "accel-sim.h"

LocalInterconnect* g_localicnt_interface = new LocalInterconnect;
icnt_transfer_p icnt_transfer = &LocalInterconnect_transfer;

int main(int argc, const char** argv) {
    accel_sim_framework framework(argc, argv);
    framework.simulation_loop();
    puts("GPGPU-Sim: *** exit detected ***");
    return 0;
}
