// A record of a warp's trace, as the tracer writes it, for the miniature simulator.
#pragma once
#include <stdint.h>

enum { PIN_NOT_CF, PIN_CF_BR, PIN_CF_CBR };
enum { NVBIT_ST = 77, NVBIT_STG, NVBIT_STL };

struct trace_info_nvbit_small_s {
    uint8_t m_opcode;
    uint8_t m_is_fp, m_is_load;
    uint8_t m_cf_type, m_num_read_regs, m_num_dest_regs;
    uint16_t m_src[4], m_dst[4];
    uint8_t m_size;
    uint32_t m_active_mask, m_br_taken_mask;
    uint64_t m_inst_addr, m_br_target_addr, m_mem_addr;
    uint8_t rest[8];
};
