// Bytes that this hook and KernelPoint exchange on the state of MacSim's cores, in kp_kept.bytes, kp_touch.opaque and
// kp_replay.bytes: python/kernelpoint/simulators/macsim/kept_state.py has the same in Python.
#ifndef KERNELPOINT_MACSIM_KEPT_BYTES_H
#define KERNELPOINT_MACSIM_KEPT_BYTES_H

#include <stdint.h>
#include <string.h>

#include "state.h"

namespace kernelpoint {

// Layout of kp_kept.bytes: the branch predictor of each core, gshare with 2^history_bits counters of counter_bits
// each; 0 bits: none that learns.
struct StatedPredictors {
    uint32_t history_bits, counter_bits;
};

// Layout of kp_touch.opaque: core of an access (the CTA's number modulo kp_kept.sms), and its path to what all cores
// share.
enum Path {
    kPathData = 0,   // through the core's L1
    kPathFetch = 1,  // of instructions, through the core's instruction cache
    kPathAround = 2  // around both: code; or a store to generic or local memory, which some L1s take after all
};
inline uint32_t core_of(const kp_touch& touch) {
    return touch.opaque & 0xffff;
}
inline uint32_t path_of(const kp_touch& touch) {
    return touch.opaque >> 16;
}

// Layout of kp_replay.bytes: numbers of cores and of counters of each, the histories of all cores, the counters of
// all.
class ReplayedPredictors {
public:
    explicit ReplayedPredictors(const kp_replay& before) : m_bytes(static_cast<const uint8_t*>(before.bytes)) {
        if (before.byte_count >= 2 * sizeof(uint32_t)) memcpy(m_counts, m_bytes, sizeof(m_counts));
    }

    uint32_t cores() const { return m_counts[0]; }
    uint32_t counters_of_core() const { return m_counts[1]; }
    // Branch history of a core: the last branch in the highest bit, as predicted; taken: 1.
    uint32_t history(uint32_t core) const {
        uint32_t history;
        memcpy(&history, m_bytes + sizeof(m_counts) + core * sizeof(history), sizeof(history));
        return history;
    }
    // Counters of a core, indexed by the highest history bits XOR the branch's address / 4.
    const uint8_t* counters(uint32_t core) const {
        return m_bytes + sizeof(m_counts) + cores() * sizeof(uint32_t) + uint64_t(core) * counters_of_core();
    }

private:
    const uint8_t* m_bytes;
    uint32_t m_counts[2] = {0, 0};
};

}  // namespace kernelpoint
#endif
