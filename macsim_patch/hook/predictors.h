// The branch predictors that GPU launches leave trained for those after them.
#ifndef KERNELPOINT_MACSIM_PREDICTORS_H
#define KERNELPOINT_MACSIM_PREDICTORS_H

#include <stdint.h>

#include <algorithm>

#include "abi.h"
#include "all_knobs.h"
#include "macsim.h"
#include "members.h"

namespace kernelpoint {

// MacSim's cores have one gshare predictor each, warps share its history, and what it learns lasts for the whole run:
// on a workload of 2,080 launches one and the same kernel takes 6,144 cycles early and 9,383 late.
class Predictors {
public:
    Predictors() : m_base(NULL) {}

    void attach(macsim_c* base) { m_base = base; }

    // True if they have an influence on cycles.
    bool learn() const { return !*m_base->m_knobs->KNOB_PERFECT_BP && *m_base->m_knobs->KNOB_USE_BRANCH_PREDICTION; }
    uint32_t history_bits() const { return static_cast<uint32_t>(*m_base->m_knobs->KNOB_BP_HIST_LENGTH); }
    uint32_t counter_bits() const { return static_cast<uint32_t>(*m_base->m_knobs->KNOB_PHT_CTR_BITS); }

    void set(int core, const kp_predictor& state) {
        bp_dir_base_c* predictor = (m_base->m_core_pointers[core]->*reach(BranchPredictor()))->m_bp;
        std::copy(state.counters, state.counters + state.counter_count, predictor->m_pht);
        predictor->m_global_hist = state.history;
    }

private:
    macsim_c* m_base;
};

}  // namespace kernelpoint
#endif
