// Rows of memory that the miniature simulator keeps open.
#pragma once
#include <stdint.h>

struct dram_c {
    virtual ~dram_c() {}
};

class dram_ctrl_c : public dram_c {
public:
    // True if the row was open; it is now.
    bool use(uint64_t address) {
        uint64_t& row = m_current_rid[address / 512 % m_num_bank];
        const bool was_open = row == address / 2048;
        row = address / 2048;
        return was_open;
    }

protected:
    int m_num_bank = 4;
    uint64_t* m_current_rid = new uint64_t[4]{~0ull, ~0ull, ~0ull, ~0ull};
};
