#include "accel-sim.h"

#include <stdexcept>

accel_sim_framework::accel_sim_framework(int argc, const char** argv)
    : m_context(new gpgpu_context), reader(""), m_gpu(NULL), has_cycles(false), overlaps(false), m_width(1), m_position(0) {
    m_gpu = make_model(argc, argv, &settings);
    reader = trace_parser(settings.get_traces_filename());
    m_commands = reader.parse_commandlist_file();
}

void accel_sim_framework::simulation_loop() {
    while (m_position < m_commands.size() || !m_window.empty() || m_gpu->active()) {
        fill_window();
        for (auto& next : m_window) {
            trace_kernel_info_t* kernel = next.kernel;
            if (next.runs || !m_gpu->can_start_kernel()) continue;
            printf("launching kernel name: %s uid: %u\n", kernel->name().c_str(), kernel->get_uid());
            m_gpu->launch(kernel);
            next.runs = true;
        }
        const unsigned ended = run_to_an_end();
        if (ended != 0 || (!overlaps && !m_gpu->active())) retire(ended);
        if (!has_cycles) continue;
        m_gpu->close_kernel();
        m_context->print_simulation_time();
    }
}

void accel_sim_framework::fill_window() {
    for (; m_window.size() < m_width && m_position < m_commands.size(); ++m_position) {
        const trace_command& command = m_commands[m_position];
        switch (command.m_type) {
            case command_type::cpu_gpu_mem_copy: {
                size_t address, bytes;
                reader.parse_memcpy_info(command.command_string, address, bytes);
                printf("launching memcpy command : %s\n", command.command_string.c_str());
                m_gpu->perf_memcpy_to_gpu(address, bytes);
                break;
            }
            case command_type::kernel_launch: {
                kernel_trace_t* trace = reader.parse_kernel_info(m_commands[m_position].command_string);
                m_window.push_back({new trace_kernel_info_t(m_context->kernel_info_m_next_uid++, trace), false});
                break;
            }
            default:
                throw std::logic_error("a command of no known type");
        }
    }
}

// A list that ends in a copy comes here with nothing that ran.
void accel_sim_framework::retire(unsigned uid) {
    bool any = false;
    for (size_t i = 0; i < m_window.size(); ++i) {
        if (m_window[i].kernel->get_uid() != uid && m_gpu->active()) continue;
        reader.kernel_finalizer(m_window[i].kernel->trace);
        delete m_window[i].kernel;
        m_window.erase(m_window.begin() + i--);
        any = true;
    }
    if (any) m_gpu->print_stats();
}

unsigned accel_sim_framework::run_to_an_end() {
    unsigned uid = 0;
    do {
        if (!m_gpu->active()) break;
        m_gpu->cycle();
        has_cycles = true;
        uid = m_gpu->finished_kernel();
    } while (m_gpu->active() && !uid);
    return uid;
}

gpgpu_sim* accel_sim_framework::make_model(int argc, const char** argv, trace_config* of_traces) {
    gpgpu_sim* made = new gpgpu_sim;
    option_parser_t parser = new OptionParser;
    made->reg_options(parser);
    of_traces->reg_options(parser);
    option_parser_cmdline(parser, argc, argv);
    option_parser_print(parser, stdout);
    return made;
}
