// DRAM of the miniature simulator: banks with one open row each.
#pragma once
#include <stdio.h>

#include "gpgpu-sim/delayqueue.h"
#include "gpgpu-sim/dram_sched.h"
#include "gpgpu-sim/gpu-cache.h"

#define READ 'R'
#define BANK_IDLE 'I'
#define BANK_ACTIVE 'A'
#define SAMPLELOG 222
enum bank_index_function { LINEAR_BK_INDEX = 0 };

struct addrdec_t {
    unsigned chip = 0, bk = 0, row = 0, sub_partition = 0;
};

struct dram_req_t {};

struct bankgrp_t {
    unsigned CCDLc = 0, RTPLc = 0;
};

struct bank_t {
    unsigned RCDc = 0, RCDWRc = 0, RASc = 0, RPc = 0, RCc = 0, WTPc = 0, RTPc = 0;
    unsigned char rw = 0, state = BANK_IDLE;
    unsigned curr_row = 0, n_idle = 0;
    dram_req_t* mrq = NULL;
};

class dram_t {
public:
    // A row that is open already is the cheapest, another one that has to be closed the dearest.
    unsigned cost(const addrdec_t& place) {
        bank_t* bank = bk[place.bk];
        const unsigned cycles = bank->state == BANK_IDLE ? 10 : bank->curr_row == place.row ? 5 : 15;
        bank->state = BANK_ACTIVE;
        bank->curr_row = place.row;
        bank->RASc = 3;  // the row may not be closed for so many ticks
        prio = (prio + 1) % 2;
        rw = rw == READ ? 'W' : READ;
        return cycles + prio + (rw == READ);
    }

    // A tick of the channel's clock without a request.
    void cycle() {
        ++n_cmd, ++n_nop, ++n_cmd_partial, ++n_nop_partial, ++idle_bw;
        for (bank_t* bank : m_list) {
            ++bank->n_idle;
            bank->RASc -= bank->RASc > 0;
        }
        dram_log(SAMPLELOG);
    }
    void dram_log(int task) { m_samples += task == SAMPLELOG; }
    mem_fetch* return_queue_top() const { return NULL; }
    void print() const {
        printf(" dram %llu %llu %u %u %llu %llu %u %u", n_cmd, n_nop, n_cmd_partial, n_nop_partial, idle_bw, m_samples,
               m_banks[0].n_idle + m_banks[1].n_idle, m_banks[0].RASc + m_banks[1].RASc);
    }

private:
    bankgrp_t m_group;
    bankgrp_t* m_groups[1] = {&m_group};
    bankgrp_t** bkgrp = m_groups;
    fifo_pipeline<dram_req_t>*rwq = new fifo_pipeline<dram_req_t>, *mrqq = new fifo_pipeline<dram_req_t>;
    frfcfs_scheduler* m_frfcfs_scheduler = new frfcfs_scheduler;
    unsigned RRDc = 0, CCDc = 0, RTWc = 0, WTRc = 0, n_cmd_partial = 0, n_nop_partial = 0;
    unsigned long long n_cmd = 0, n_nop = 0, idle_bw = 0, m_samples = 0;
    bank_t m_banks[2];
    bank_t* m_list[2] = {&m_banks[0], &m_banks[1]};
    bank_t** bk = m_list;
    unsigned prio = 0;
    unsigned char rw = READ;
};
