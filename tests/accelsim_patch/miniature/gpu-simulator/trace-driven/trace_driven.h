// A kernel that comes from a trace, and the options that concern traces, for the miniature simulator.
#pragma once
#include "../trace-parser/trace_parser.h"
#include "gpgpu-sim/shader.h"
#include "option_parser.h"

class trace_kernel_info_t : public kernel_info_t {
public:
    trace_kernel_info_t(unsigned uid, kernel_trace_t* trace)
        : kernel_info_t(uid, trace->kernel_name, {trace->grid[0], trace->grid[1], trace->grid[2]},
                        {trace->block[0], trace->block[1], trace->block[2]}),
          trace(trace) {}
    kernel_trace_t* trace;
};

class trace_config {
public:
    void reg_options(option_parser_t opp) {
        option_parser_register(opp, "-trace", OPT_CSTR, &m_path, "the list of commands", "kernelslist.g");
    }
    char* get_traces_filename() { return m_path; }

private:
    char* m_path;
};
