// Whose turn it is to issue in a core of the miniature simulator.
#pragma once

struct schedule_c {
    virtual ~schedule_c() {}
    virtual int wait() = 0;
};

class schedule_smc_c : public schedule_c {
public:
    int wait() override {
        m_schedule_modulo = (m_schedule_modulo + 3) % 4;
        m_next_sched_id = 1 - m_next_sched_id;
        return m_schedule_modulo + 2 * m_next_sched_id;
    }

private:
    int m_schedule_modulo = 0, m_next_sched_id = 0;
};
