// The branch predictors that GPU launches leave trained for those after them.
#ifndef KERNELPOINT_MACSIM_PREDICTORS_H
#define KERNELPOINT_MACSIM_PREDICTORS_H

#include <stdint.h>

#include <algorithm>
#include <vector>

#include "all_knobs.h"
#include "macsim.h"
#include "reach.h"
#include "uop.h"

namespace kernelpoint {

// MacSim's cores have one gshare predictor each, warps share its history, and what it learns lasts for the whole run:
// on a workload of 2,080 launches one and the same kernel takes 6,144 cycles early and 9,383 late.
class Predictors {
public:
    Predictors() : m_base(NULL), m_uop(NULL) {}

    // Before the first cycle: what the predictors begin with is kept.
    void attach(macsim_c* base) {
        m_base = base;
        m_uop = new uop_c(base);
        const size_t entries = size_t(1) << int(*base->m_knobs->KNOB_BP_HIST_LENGTH);
        for (int core = 0; core < int(*base->m_knobs->KNOB_NUM_SIM_CORES); ++core) {
            const bp_dir_base_c* predictor = predictor_of(core);
            const Beginning beginning = {std::vector<uns8>(predictor->m_pht, predictor->m_pht + entries),
                                         predictor->m_global_hist};
            m_beginnings.push_back(beginning);
        }
    }

    void forget(const std::vector<int>& cores) {
        for (size_t i = 0; i < cores.size(); ++i) {
            const Beginning& beginning = m_beginnings[cores[i]];
            bp_dir_base_c* predictor = predictor_of(cores[i]);
            std::copy(beginning.table.begin(), beginning.table.end(), predictor->m_pht);
            predictor->m_global_hist = beginning.history;
        }
    }

    // A warp's branch, predicted now and resolved later. Whether the prediction is right.
    bool predict(int core, uint64_t pc, bool taken, bool conditional) {
        if (*m_base->m_knobs->KNOB_PERFECT_BP || !*m_base->m_knobs->KNOB_USE_BRANCH_PREDICTION) return true;
        m_uop->m_core_id = core;
        m_uop->m_pc = pc;
        m_uop->m_dir = taken;
        const bool right = (predictor_of(core)->pred(m_uop) != 0) == taken;
        const Branch branch = {core,
                               pc,
                               taken,
                               conditional,
                               right,
                               m_uop->m_uop_info.m_pred_global_hist,
                               m_uop->m_recovery_info.m_global_hist};
        m_branches.push_back(branch);
        return right;
    }

    // Model: the branches of all warps are predicted before any of them is resolved, as those of warps that run side by
    // side mostly are: each prediction then sees the guesses of the others in the shared history.
    void resolve() {
        for (size_t i = 0; i < m_branches.size(); ++i) resolve(m_branches[i]);
        m_branches.clear();
    }

private:
    struct Beginning {
        std::vector<uns8> table;
        uns32 history;
    };
    struct Branch {
        int core;
        uint64_t pc;
        bool taken, conditional, right;
        uns32 history, recovery;
    };

    void resolve(const Branch& branch) {
        m_uop->m_core_id = branch.core;
        m_uop->m_pc = branch.pc;
        m_uop->m_dir = branch.taken;
        m_uop->m_uop_info.m_pred_global_hist = branch.history;
        m_uop->m_recovery_info.m_global_hist = branch.recovery;
        if (branch.conditional) predictor_of(branch.core)->update(m_uop);
        if (!branch.right) predictor_of(branch.core)->recover(&m_uop->m_recovery_info);
    }

    bp_dir_base_c* predictor_of(int core) const {
        return (m_base->m_core_pointers[core]->*reach(BranchPredictor()))->m_bp;
    }

    macsim_c* m_base;
    uop_c* m_uop;
    std::vector<Beginning> m_beginnings;  // of each core
    std::vector<Branch> m_branches;       // predicted and not yet resolved
};

}  // namespace kernelpoint
#endif
