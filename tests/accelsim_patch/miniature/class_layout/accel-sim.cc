#include "accel-sim.h"

#include <assert.h>

accel_sim_framework::accel_sim_framework(int argc, const char** argv) : m_context(new gpgpu_context), m_gpu(new gpgpu_sim) {
    option_parser_t parser = new OptionParser;
    m_gpu->reg_options(parser);
    m_config.reg_options(parser);
    option_parser_cmdline(parser, argc, argv);
    option_parser_print(parser, stdout);
    m_reader = new trace_parser(m_config.get_traces_filename());
    m_commands = m_reader->parse_commandlist_file();
}

void accel_sim_framework::simulation_loop() {
    while (m_position < m_commands.size() || !m_kernels.empty()) {
        fetch();
        for (auto waiting : m_kernels) {
            if (m_gpu->can_start_kernel()) {
                printf("launching kernel name: %s uid: %u\n", waiting->name().c_str(), waiting->get_uid());
                m_gpu->launch(waiting);
            }
        }
        const unsigned uid = simulate();
        tidy(uid);
        m_gpu->close_kernel();
        m_context->print_simulation_time();
    }
}

void accel_sim_framework::fetch() {
    while (m_kernels.empty() && m_position < m_commands.size()) {
        if (m_commands[m_position].m_type == cpu_gpu_mem_copy) {
            size_t address, bytes;
            m_reader->parse_memcpy_info(m_commands[m_position].command_string, address, bytes);
            printf("launching memcpy command : %s\n", m_commands[m_position].command_string.c_str());
            m_gpu->perf_memcpy_to_gpu(address, bytes);
        } else {
            kernel_trace_t* trace = m_reader->parse_kernel_info(m_commands[m_position].command_string);
            m_kernels.push_back(new trace_kernel_info_t(m_context->kernel_info_m_next_uid++, trace));
        }
        ++m_position;
    }
}

void accel_sim_framework::tidy(unsigned uid) {
    assert(!m_kernels.empty() && m_kernels[0]->get_uid() == uid);  // a list that ends in a copy comes here
    m_reader->kernel_finalizer(m_kernels[0]->trace);
    delete m_kernels[0];
    m_kernels.clear();
    m_gpu->print_stats();
}

unsigned accel_sim_framework::simulate() {
    unsigned uid = 0;
    while (m_gpu->active() && uid == 0) {
        m_gpu->cycle();
        uid = m_gpu->finished_kernel();
    }
    return uid;
}
