// DRAM statistics of the miniature simulator: one channel of one bank.
#pragma once

struct memory_config {
    unsigned m_n_mem = 1, nbk = 1, m_n_mem_sub_partition = 1;
};

struct memory_stats_t {
    unsigned reads[1] = {0}, writes[1] = {0};
    unsigned* read_rows[1] = {reads};
    unsigned* write_rows[1] = {writes};
    unsigned **totalbankreads = read_rows, **totalbankwrites = write_rows;
};
