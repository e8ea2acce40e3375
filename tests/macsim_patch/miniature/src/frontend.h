// Whose turn it is to fetch in a core of the miniature simulator; it goes on from launch to launch.
#pragma once

class frontend_c {
public:
    // Cycles that a warp with this number waits for its turn.
    int wait(int warp) {
        m_fetch_modulo = (m_fetch_modulo + 1) % 4;
        const int turns = (warp - m_fetch_arbiter) % 3;
        m_fetch_arbiter = warp - warp % 2;
        return turns + m_fetch_modulo;
    }

protected:
    int m_fetch_modulo = 0, m_fetch_arbiter = 0;
};
