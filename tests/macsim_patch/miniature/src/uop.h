// Micro-operations as the branch predictors of the miniature simulator see them.
#pragma once

class macsim_c;

struct uop_c {
    explicit uop_c(macsim_c*) {}
    int m_core_id = 0;
    unsigned long long m_pc = 0;
    unsigned char m_dir = 0;
    struct {
        unsigned m_pred_global_hist = 0;
    } m_uop_info;
    struct recovery_info_c {
        unsigned m_global_hist = 0;
    } m_recovery_info;
};
