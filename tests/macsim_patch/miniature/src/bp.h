// The branch predictor of a core of the miniature simulator: counters by address and by the last branches' directions.
#pragma once
#include "uop.h"

typedef unsigned char uns8;
typedef unsigned uns32;

class bp_dir_base_c {
public:
    explicit bp_dir_base_c(int bits) : m_pht(new uns8[1 << bits]), bits_(bits), entries_(1 << bits) {
        for (unsigned i = 0; i < entries_; ++i) m_pht[i] = 3;
    }
    virtual ~bp_dir_base_c() {}

    virtual uns8 pred(uop_c* branch) {
        const uns8 taken = m_pht[index(branch->m_pc, m_global_hist)] / 2;
        branch->m_uop_info.m_pred_global_hist = m_global_hist;
        branch->m_recovery_info.m_global_hist = m_global_hist / 2 + (branch->m_dir ? 1u << 31 : 0);
        m_global_hist = m_global_hist / 2 + (taken ? 1u << 31 : 0);
        return taken;
    }
    virtual void update(uop_c* branch) {
        uns8& counter = m_pht[index(branch->m_pc, branch->m_uop_info.m_pred_global_hist)];
        if (branch->m_dir && counter < 3) ++counter;
        if (!branch->m_dir && counter > 0) --counter;
    }
    virtual void recover(uop_c::recovery_info_c* at) { m_global_hist = at->m_global_hist; }

    uns8* m_pht;
    uns32 m_global_hist = 0;

private:
    unsigned index(unsigned long long pc, uns32 history) const {
        return unsigned((pc / 4) ^ (history >> (32 - bits_))) % entries_;
    }

    const int bits_;
    const unsigned entries_;
};

struct bp_data_c {
    explicit bp_data_c(int bits) : m_bp(new bp_dir_base_c(bits)) {}
    bp_dir_base_c* m_bp;
};
