// DRAM of the miniature simulator: banks with one open row each.
#pragma once
#include "gpgpu-sim/gpu-cache.h"

#define READ 'R'
#define BANK_IDLE 'I'
#define BANK_ACTIVE 'A'
enum bank_index_function { LINEAR_BK_INDEX = 0 };

struct addrdec_t {
    unsigned chip = 0, bk = 0, row = 0, sub_partition = 0;
};

struct bank_t {
    unsigned char rw = 0, state = BANK_IDLE;
    unsigned curr_row = 0;
};

class dram_t {
public:
    // A row that is open already is the cheapest, another one that has to be closed the dearest.
    unsigned cost(const addrdec_t& place) {
        bank_t* bank = bk[place.bk];
        const unsigned cycles = bank->state == BANK_IDLE ? 10 : bank->curr_row == place.row ? 5 : 15;
        bank->state = BANK_ACTIVE;
        bank->curr_row = place.row;
        prio = (prio + 1) % 2;
        rw = rw == READ ? 'W' : READ;
        return cycles + prio + (rw == READ);
    }

private:
    bank_t m_banks[2];
    bank_t* m_list[2] = {&m_banks[0], &m_banks[1]};
    bank_t** bk = m_list;
    unsigned prio = 0;
    unsigned char rw = READ;
};
