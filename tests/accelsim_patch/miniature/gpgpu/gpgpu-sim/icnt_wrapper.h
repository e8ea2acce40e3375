// The network as the miniature simulator calls it: through a pointer, as the real one.
#pragma once
#include "gpgpu-sim/local_interconnect.h"

extern LocalInterconnect* g_localicnt_interface;

inline void LocalInterconnect_transfer() {
    g_localicnt_interface->Advance();
}

typedef void (*icnt_transfer_p)();
extern icnt_transfer_p icnt_transfer;
