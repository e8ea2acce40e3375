// The built-in crossbar (-network_mode 2) while it holds no packet.
#ifndef KERNELPOINT_ACCELSIM_EMPTY_CROSSBAR_H
#define KERNELPOINT_ACCELSIM_EMPTY_CROSSBAR_H

#include <stddef.h>

#include <vector>

#include "gpgpu-sim/icnt_wrapper.h"
#include "members.h"

extern LocalInterconnect* g_localicnt_interface;

namespace kernelpoint {

// Model: exact. A router without packets counts its cycles. iSLIP moves its turns with packets only, the naive arbiter
// with each cycle; conflicts and the sums of buffers' lengths get zeros.
inline void advance_empty(xbar_router& router, unsigned long long ticks) {
    router.cycles += ticks;
    if (router.*reach(Arbiter()) != NAIVE_RR) return;
    unsigned& next = router.*reach(NextInput());
    next = static_cast<unsigned>((next + ticks) % (router.*reach(NextInputs())).size());
}

// A cycle of the network: the simulator's own for routers that hold a packet. Theirs looks at each pair of an input and
// an output, whether or not there is a packet.
inline void transfer_packets() {
    std::vector<xbar_router*>& routers = g_localicnt_interface->*reach(Routers());
    for (size_t i = 0; i < routers.size(); ++i)
        if (routers[i]->Busy())
            routers[i]->Advance();
        else
            advance_empty(*routers[i], 1);
}

// Lets the simulator call transfer_packets() where it calls its network, or its own function again.
class EmptyCrossbar {
public:
    EmptyCrossbar() : m_native(NULL) {}

    void skip(bool skips) {
        if (m_native == NULL) m_native = icnt_transfer;
        icnt_transfer = skips ? &transfer_packets : m_native;
    }

private:
    void (*m_native)();
};

}  // namespace kernelpoint
#endif
