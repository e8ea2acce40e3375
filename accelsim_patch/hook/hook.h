// The option, and the launch in flight as the loop sees it: the lines that the patch adds call these functions.
#ifndef KERNELPOINT_ACCELSIM_HOOK_H
#define KERNELPOINT_ACCELSIM_HOOK_H

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "client.hpp"
#include "launch_latency.h"
#include "option_parser.h"
#include "statistics_reader.h"

namespace kernelpoint {

struct Hook {
    bool sampling() const { return config != NULL && *config != '\0'; }

    // Keeps the options now, because the simulator later overwrites some of them.
    void keep_options() {
        char* text = NULL;
        size_t size = 0;
        FILE* memory = open_memstream(&text, &size);
        option_parser_print(options, memory);
        fclose(memory);
        for (const char* line = text; *line != '\0';) {
            const size_t length = strcspn(line, "\n") + (line[strcspn(line, "\n")] == '\n');
            const bool ours = strncmp(line, "-kernel_sampling", 16) == 0 || strncmp(line, "-trace ", 7) == 0;
            if (!ours) configuration.append(line, length);
            line += length;
        }
        free(text);
        needs_ticks = needs_every_tick(configuration);
    }

    // Prepares for a launch that the simulator's loop runs next.
    void expect(gpgpu_sim* simulator, Client* with, const Position& at) {
        if (sim == NULL) latency.reset(new LaunchLatency(simulator));
        sim = simulator;
        client = with;
        position = at;
        in_flight = true;
        const bool asked = (at.order.flags & KP_ORDER_SKIP_LATENCY) != 0;
        if (asked && !needs_ticks.empty() && !said_so)
            printf("kernelpoint: launch_latency: simulated cycle by cycle, since %s\n", needs_ticks.c_str());
        said_so = said_so || asked;
        skips_latency = asked && needs_ticks.empty();
        if (needs_ticks.empty()) crossbar.skip(skips_latency);
        due = at.order.progress_interval > 0 ? at.order.progress_interval : UINT64_MAX;
        kernel = NULL;
        launched = stopped = false;
    }

    void begin(kernel_info_t* started) {
        if (started->num_blocks() == 0 || started->threads_per_cta() == 0)
            stop_run("launch " + std::to_string(position.launch) + " has a broken trace: its header gives no grid or no block");
        kernel = started;
        launched = true;
    }

    // Called after each tick of the simulator.
    void ticked() {
        if (sim->gpu_sim_cycle >= due) progress();
        if (skips_latency && kernel != NULL) latency->skip(kernel, due);
    }

    // Reports the progress of the launch. If the plugin asks for a stop, no more CTAs are issued and the resident ones
    // end.
    void progress() {
        due = sim->gpu_sim_cycle + position.order.progress_interval;
        if (kernel == NULL || !kernel->running() || kernel->no_more_ctas_to_run()) return;
        kp_progress told = sized<kp_progress>();
        told.index = position.launch;
        told.cycles = sim->gpu_sim_cycle;
        told.instructions = sim->gpu_sim_insn;
        told.ctas_issued = kernel->get_next_cta_id_single();
        told.ctas_completed = Inside::completed_ctas(sim);
        told.ctas_total = kernel->num_blocks();
        if (!client->wants_stop(told)) return;
        while (!kernel->no_more_ctas_to_run()) kernel->increment_cta_id();
        stopped = true;
        due = UINT64_MAX;
    }

    char* config = NULL;          // the YAML file, or pack, named by -kernel_sampling
    bool estimated_rows = false;  // -kernel_sampling_rows: blocks of estimated launches too
    option_parser_t options = NULL;
    std::string configuration;  // all options but the list's path and our own, as the simulator prints them
    gpgpu_sim* sim = NULL;
    Client* client = NULL;
    kernel_info_t* kernel = NULL;
    uint64_t due = UINT64_MAX;  // cycles of the launch at which the plugin is told next
    Position position;          // of the launch in flight
    bool in_flight = false;
    bool launched = false;
    bool stopped = false;
    bool skips_latency = false;  // of the launch in flight
    bool said_so = false;        // that it is simulated nevertheless
    std::string needs_ticks;     // the options that latency is simulated for; empty where it can be skipped
    std::unique_ptr<LaunchLatency> latency;
    EmptyCrossbar crossbar;  // skipped together with latency
};

// Prints a message into the simulator's output. job_status.py takes a job that writes to standard error for a failed
// one.
inline void print_line(void*, const char* line) {
    printf("%s\n", line);
    fflush(stdout);
}

inline Hook& hook() {
    static Hook the_hook;
    return the_hook;
}

// Signal handler for a failed assertion of the simulator. It writes the failure to the journal before the process
// ends, so that the next process continues without the launch. `abort` holds no lock then; if the plugin does not
// return, an alarm ends the process.
inline void assertion_failed(int) {
    signal(SIGABRT, SIG_DFL);
    if (hook().in_flight) {
        hook().in_flight = false;
        signal(SIGALRM, SIG_DFL);
        alarm(60);
        hook().client->abort(hook().position, KP_ENDED_SIMULATOR ": an assertion failed");
        fprintf(stderr,
                "kernelpoint: an assertion of the simulator failed in launch %llu; the same command goes on "
                "without it\n",
                static_cast<unsigned long long>(hook().position.launch));
    }
    raise(SIGABRT);
}

inline void register_option(option_parser_t options) {
    hook().options = options;
    option_parser_register(options, "-kernel_sampling", OPT_CSTR, &hook().config,
                           "simulate a sample of the kernel launches, as this KernelPoint configuration says", NULL);
    option_parser_register(options, "-kernel_sampling_rows", OPT_BOOL, &hook().estimated_rows,
                           "print blocks of estimated launches too", "0");
}

// Unpacks a pack and uses its trace list in place of that of -trace.
inline void unpack_sample() {
    std::string config = hook().config, list;
    if (!unpack(&config, &list, "", &stop_run)) return;
    printf("kernelpoint: %s: its trace list is %s\n", hook().config, list.c_str());
    hook().config = strdup(config.c_str());
    const char* words[] = {"", "-trace", list.c_str()};
    option_parser_cmdline(hook().options, 3, words);
}

inline void options_are_read() {
    if (!hook().sampling()) return;
    kp_settle_streams();
    unpack_sample();
    hook().keep_options();
    const std::string model = value_of(hook().configuration, "-accelwattch_xml_file");
    if (value_of(hook().configuration, "-power_simulation_enabled") == "1" && access(model.c_str(), R_OK) != 0)
        stop_run("-accelwattch_xml_file: cannot read " + model +
                 "; give AccelWattch's file of this GPU, or -power_simulation_enabled 0");
}

inline void before_launch(kernel_info_t* kernel) {
    if (hook().sampling()) hook().begin(kernel);
}

inline void after_cycle() {
    if (hook().sim != NULL) hook().ticked();
}

}  // namespace kernelpoint
#endif
