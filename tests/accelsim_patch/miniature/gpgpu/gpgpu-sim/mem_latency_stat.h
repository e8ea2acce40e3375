// Layout of memory in the miniature simulator, and DRAM statistics: one channel of two banks.
#pragma once
#include "gpgpu-sim/dram.h"

struct linear_to_raw_address_translation {
    void addrdec_tlx(new_addr_type address, addrdec_t* place) const {
        place->bk = address / 128 % 2;
        place->row = static_cast<unsigned>(address / 1024);
        place->sub_partition = address / 128 % 2;
    }
};

struct memory_config {
    unsigned m_n_mem = 1, nbk = 2, nbkgrp = 1, m_n_mem_sub_partition = 2, m_n_sub_partition_per_memory_channel = 2;
    unsigned write_high_watermark = 2;
    unsigned dram_bnk_indexing_policy = LINEAR_BK_INDEX;
    bool m_perf_sim_memcpy = true;
    linear_to_raw_address_translation m_address_mapping;
    l2_cache_config m_L2_config;
};

struct memory_stats_t {
    unsigned reads[2] = {0}, writes[2] = {0};
    unsigned* read_rows[1] = {reads};
    unsigned* write_rows[1] = {writes};
    unsigned **totalbankreads = read_rows, **totalbankwrites = write_rows;
};
