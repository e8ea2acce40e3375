// The rows of DRAM that earlier launches leave open.
#ifndef KERNELPOINT_ACCELSIM_DRAM_ROWS_H
#define KERNELPOINT_ACCELSIM_DRAM_ROWS_H

#include <stdint.h>

#include "abi.h"
#include "members.h"
#include "statistics_reader.h"

namespace kernelpoint {

// Model: a bank keeps the row of the last read that the L2 did not have open; writes back are not known, nor, where the
// launches before fill the L2, what was read before the last touch of each sector. Where banks are not numbered by the
// address alone (-dram_bnk_indexing_policy), rows stay closed.
class DramRows {
public:
    explicit DramRows(gpgpu_sim* sim) : m_sim(sim), m_memory(sim->getMemoryConfig()) {}

    void close() {
        for (unsigned i = 0; i < m_memory->m_n_mem; ++i)
            for (unsigned j = 0; j < m_memory->nbk; ++j) {
                bank_t* bank = banks(i)[j];
                bank->state = BANK_IDLE;
                bank->curr_row = 0;
                bank->rw = 0;
            }
    }

    // `sectors` of a line, one bit each, come from DRAM.
    void read(uint64_t line, unsigned sectors) {
        if (m_memory->dram_bnk_indexing_policy != LINEAR_BK_INDEX) return;
        for (unsigned sector = 0; sectors >> sector != 0; ++sector) {
            if ((sectors >> sector & 1) == 0) continue;
            addrdec_t place;
            m_memory->m_address_mapping.addrdec_tlx(line + sector * KP_SECTOR_BYTES, &place);
            bank_t* bank = banks(place.chip)[place.bk];
            bank->state = BANK_ACTIVE;
            bank->curr_row = place.row;
        }
    }

private:
    bank_t** banks(unsigned channel) {
        dram_t* dram = Inside::channel(m_sim, channel)->*reach(Dram());
        return dram->*reach(Banks());
    }

    gpgpu_sim* m_sim;
    const memory_config* m_memory;
};

}  // namespace kernelpoint
#endif
