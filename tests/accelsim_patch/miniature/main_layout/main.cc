// The loop over the list inside main(), as in trees before 2024.
#include <vector>

#include "gpgpu-sim/gpu-sim.h"
#include "gpgpu_context.h"
#include "trace_driven.h"

LocalInterconnect* g_localicnt_interface = new LocalInterconnect;
icnt_transfer_p icnt_transfer = &LocalInterconnect_transfer;
static trace_config config;
static gpgpu_sim* gpu = new gpgpu_sim;

static void read_options(int argc, const char** argv) {
    option_parser_t parser = new OptionParser;
    gpu->reg_options(parser);
    config.reg_options(parser);
    option_parser_cmdline(parser, argc, argv);
    option_parser_print(parser, stdout);
}

int main(int argc, const char** argv) {
    gpgpu_context* context = new gpgpu_context;
    read_options(argc, argv);
    trace_parser reader(config.get_traces_filename());
    std::vector<trace_command> commands = reader.parse_commandlist_file();

    for (unsigned i = 0; i < commands.size(); ++i) {
        trace_kernel_info_t* kernel = NULL;
        if (commands[i].m_type == cpu_gpu_mem_copy) {
            size_t address, bytes;
            reader.parse_memcpy_info(commands[i].command_string, address, bytes);
            printf("launching memcpy command : %s\n", commands[i].command_string.c_str());
            gpu->perf_memcpy_to_gpu(address, bytes);
            continue;
        }
        kernel_trace_t* trace = reader.parse_kernel_info(commands[i].command_string);
        kernel = new trace_kernel_info_t(context->kernel_info_m_next_uid++, trace);
        printf("launching kernel name: %s uid: %u\n", kernel->name().c_str(), kernel->get_uid());
        gpu->launch(kernel);
        while (gpu->active()) {
            gpu->cycle();
        }
        reader.kernel_finalizer(trace);
        delete kernel;
        gpu->print_stats();
        gpu->close_kernel();
        context->print_simulation_time();
    }
    puts("GPGPU-Sim: *** exit detected ***");
    return 0;
}
