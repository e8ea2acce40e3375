// The loop over the list of commands: hands the simulator's own loop one launch at a time, with the copies before it.
//
// The loop runs over a short list (copies in their order, then one launch) instead of the whole one, as often as there
// is a launch to simulate, pass after pass. A skipped launch therefore costs little here: the plugin names the next
// launch to simulate, no trace is opened, no kernel object made. At the end the plugin is asked for the cost of every
// launch. Copies to the GPU are handed over once, in the first pass, or come with the state that is replayed.
#ifndef KERNELPOINT_ACCELSIM_LAUNCH_LOOP_H
#define KERNELPOINT_ACCELSIM_LAUNCH_LOOP_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmath>
#include <iostream>
#include <string>
#include <vector>

#include "architectures.h"
#include "client.hpp"
#include "file_names.hpp"
#include "hook.h"
#include "options.h"
#include "output.h"
#include "power_report.h"
#include "replay.h"
#include "statistics_reader.h"

namespace kernelpoint {

// Kernel name from the header of an uncompressed trace; otherwise the file's own name.
inline std::string kernel_name_of(const std::string& path) {
    struct stat status;
    const char key[] = "-kernel name = ";
    const size_t slash = path.rfind('/');
    std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
    const bool is_file = stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);  // opening a FIFO would wait
    FILE* file = is_file ? fopen(path.c_str(), "rb") : NULL;
    if (file == NULL) return name;
    char line[4096];
    for (int i = 0; i < 4 && fgets(line, sizeof(line), file) != NULL; ++i)
        if (strncmp(line, key, sizeof(key) - 1) == 0)
            name.assign(line + sizeof(key) - 1, strcspn(line + sizeof(key) - 1, "\r\n"));
    fclose(file);
    return name;
}

// Hides the output of launches that are no part of the sample, because scripts would add their rows to the total.
// Standard output is discarded between begin and end; standard error stays. If redirecting fails, the output is shown.
class HiddenOutput {
public:
    void begin(uint64_t launch) {
        printf("kernelpoint: launch %llu is simulated for validation or to warm up; its output is left out\n",
               static_cast<unsigned long long>(launch));
        flush();
        const int nowhere = open("/dev/null", O_WRONLY);
        if (nowhere < 0) return;
        m_shown = dup(STDOUT_FILENO);
        if (m_shown >= 0) dup2(nowhere, STDOUT_FILENO);
        close(nowhere);
    }

    void end() {
        if (m_shown < 0) return;
        flush();
        dup2(m_shown, STDOUT_FILENO);
        close(m_shown);
        m_shown = -1;
    }

private:
    static void flush() {
        fflush(stdout);
        std::cout.flush();
    }

    int m_shown = -1;  // where standard output goes otherwise; -1: it is not hidden
};

class LaunchLoop {
public:
    LaunchLoop(gpgpu_sim* sim, gpgpu_context* context, const char* list_path)
        : m_sim(sim),
          m_context(context),
          m_list_path(list_path),
          m_statistics(sim),
          m_client(&stop_run),
          m_replay(sim),
          m_started(time(NULL)) {}

    // True if the simulator's loop must run over `list` from its start. Without the option: once, over the list as it
    // is.
    template <typename Index>
    bool next(std::vector<trace_command>& list, Index& index) {
        if (!hook().sampling()) {
            const bool first = !m_begun;
            m_begun = true;
            return first;
        }
        if (!m_begun) begin(list);
        if (m_in_flight && !complete()) return false;
        if (!advance(list)) return false;
        index = 0;
        return true;
    }

    // Moves to the next launch, for loops that keep their own index.
    bool next(std::vector<trace_command>& list) {
        unsigned ignored = 0;
        return next(list, ignored);
    }

private:
    void begin(const std::vector<trace_command>& list) {
        m_begun = true;
        m_commands = list;
        for (size_t i = 0; i < list.size(); ++i) {
            if (list[i].m_type != kernel_launch) {
                require_copy(list[i].command_string);
                continue;
            }
            m_commands[i].command_string = path_of(list[i].command_string);
            m_launches.push_back(i);
        }
        if (m_launches.empty())
            stop_run(std::string(m_list_path) + ": names no launch that the simulator reads (kernel-N.traceg)");
        if (m_sim->getShaderCoreConfig()->gpgpu_concurrent_kernel_sm)
            stop_run(
                "-gpgpu_concurrent_kernel_sm: got 1; allowed with -kernel_sampling: 0. Launches are sampled one after "
                "another, and most source trees drop queued kernels when they overlap (accel-sim-framework issue 542)");
        m_simulated.assign(m_launches.size(), false);
        Host host;
        host.simulator = "accelsim";
        host.version = "hook 3";
        host.config_hash = hash_of(hook().configuration);
        host.configuration = hook().configuration;
        host.architectures = known_architectures();
        host.flags = KP_HOST_CAN_STOP | KP_HOST_NEEDS_WHOLE_TRACES;
        m_counters_before = m_statistics.read(0, false);
        for (size_t i = 0; i < m_counters_before.size(); ++i) host.counter_names.push_back(m_counters_before[i].name);
        m_replay.describe(&host);
        const std::string others = not_replayed(hook().configuration);
        host.kept.not_replayed = others.empty() ? NULL : others.c_str();
        const Process process = {m_list_path, m_launches.size()};
        host.processes.push_back(process);
        host.log = &print_line;
        m_client.open(hook().config, host);
        signal(SIGABRT, &assertion_failed);
    }

    // Path of a trace. The simulator opens it through a shell. What the list's text adds to the folder that the user
    // named is a stranger's, and is refused before that. Of a list whose path has no slash it takes the list itself
    // for the folder: that is mended, or the plugin would read another file.
    std::string path_of(const std::string& path) const {
        const std::string list = m_list_path;
        const size_t slash = list.rfind('/');
        const std::string folder = slash == std::string::npos ? list + "/" : list.substr(0, slash + 1);
        const bool is_below = path.compare(0, folder.size(), folder) == 0;
        const std::string problem = name_problem(is_below ? path.substr(folder.size()) : path);
        if (!problem.empty()) stop_run(list + ": " + problem);
        return is_below && slash == std::string::npos ? path.substr(folder.size()) : path;
    }

    // Refuses a copy of 4 GiB or more: the simulator cuts its addresses to 32 bits and would loop forever.
    void require_copy(const std::string& text) const {
        if (text.compare(0, 10, "MemcpyHtoD") != 0) return;
        const std::string bytes = text.substr(text.rfind(',') + 1);
        const bool is_number = !bytes.empty() && bytes.find_first_not_of("0123456789\r") == std::string::npos;
        if (is_number && bytes.size() < 12 && strtoull(bytes.c_str(), NULL, 10) >> 32 == 0) return;
        stop_run(std::string(m_list_path) + ": copy \"" + text.substr(0, 200) +
                 "\": the bytes behind the last comma are a number below 4,294,967,296, since the simulator never ends a "
                 "larger copy; write it as several copies");
    }

    // Finds the next launch to simulate and puts it into the list; false at the end of the run. A launch whose trace
    // cannot be read to its end is not asked for: the plugin has looked (KP_HOST_NEEDS_WHOLE_TRACES).
    bool advance(std::vector<trace_command>& list) {
        const kp_status status = m_client.next_to_simulate(&m_at);
        if (status == KP_PENDING) stop_run("the plugin waits for a launch that does not run here; please report it");
        if (status == KP_OK)
            hand_over(list);
        else
            finish();
        return status == KP_OK;
    }

    void hand_over(std::vector<trace_command>& list) {
        const trace_command& command = m_commands[m_launches[m_at.launch]];
        list.clear();
        if (m_at.restores())
            replay_before();
        else
            hand_over_copies(list, m_at.order.pass > 0 && !m_replays ? m_commands.size() : m_launches[m_at.launch]);
        list.push_back(command);
        m_context->kernel_info_m_next_uid = static_cast<unsigned>(m_at.launch + 1);
        m_cycles_before = m_sim->gpu_tot_sim_cycle;
        m_instructions_before = m_sim->gpu_tot_sim_insn;
        m_in_flight = true;
        if (!m_at.is_counted()) m_hidden.begin(m_at.launch);
        hook().expect(m_sim, &m_client, m_at);
    }

    void hand_over_copies(std::vector<trace_command>& list, size_t until) {
        for (; m_copied < until; ++m_copied)
            if (m_commands[m_copied].m_type != kernel_launch) list.push_back(m_commands[m_copied]);
    }

    // Restores the cache state that earlier launches and copies leave, whatever was simulated so far.
    void replay_before() {
        if (!m_replays) m_statistics.drop_power();
        m_replay.apply(m_at.launch, m_client.replay_before(m_at));
        m_copied = m_launches[m_at.launch];  // a launch that goes on from this one finds the copies between them
        m_replays = true;
    }

    // Reports the result of the launch that the loop has run; false if the simulator's own limits end the run.
    bool complete() {
        m_in_flight = hook().in_flight = false;
        m_hidden.end();
        if (m_sim->cycle_insn_cta_max_hit()) {
            m_client.abort(m_at, "the simulator's limit of cycles, instructions or CTAs was reached");
            finish();
            return false;
        }
        if (m_at.restores()) m_replay.drain();
        const uint64_t cycles = m_sim->gpu_tot_sim_cycle - m_cycles_before;
        if (!hook().launched || cycles == 0) fail(m_commands[m_launches[m_at.launch]].command_string + ": was not simulated");
        const std::vector<Amount> after = m_statistics.read(static_cast<double>(cycles), m_replays);
        std::vector<double> counters;
        for (size_t i = 0; i < after.size(); ++i) {
            double amount = after[i].value - (i < m_counters_before.size() ? m_counters_before[i].value : 0);
            if (amount < 0) amount += 4294967296.0;  // the simulator's 32-bit counters wrap
            counters.push_back(amount);
        }
        m_counters_before = after;
        const unsigned long long instructions = m_sim->gpu_tot_sim_insn - m_instructions_before;
        m_client.complete(m_at, cycles, instructions, counters, hook().stopped ? KP_RESULT_STOPPED : 0);
        count(static_cast<double>(cycles), static_cast<double>(instructions), counters);
        return true;
    }

    // Adds the simulated launch to the sums, unless it is no part of the sample.
    void count(double cycles, double instructions, const std::vector<double>& counters) {
        if (!m_at.is_counted() || m_at.restores()) m_counted.differ();
        if (!m_at.is_counted()) return;
        m_simulated[m_at.launch] = true;
        m_counted.add(m_at.launch, cycles, instructions, counters);
        m_counted.print(m_counters_before);
    }

    void fail(const std::string& problem) {
        m_client.abort(m_at, problem);
        stop_run("launch " + std::to_string(m_at.launch) + " cannot be simulated: " + problem);
    }

    // Prints the totals of the run. The name comes twice, because the simulator's script takes differences to the
    // block of the name before, and the first holds no totals: so the row of this name is the whole run's, not what it
    // has beyond the rows.
    void finish() {
        const kp_summary summary = m_client.finish();
        const std::vector<kp_estimate> estimates = m_client.estimates();
        print_others();
        printf("kernelpoint: the whole run, estimated\n");
        printf("kernel_name = kernelpoint_total\n");
        printf("kernel_name = kernelpoint_total\n");
        const Totals whole_run = {estimate_of(estimates, "cycles"), estimate_of(estimates, "instructions")};
        print_totals(whole_run);
        print_counters(m_counters_before, estimates, summary.simulated == summary.launches);
        if (!m_counted.are_the_simulators_own() || m_counted.rows() < m_launches.size())
            print_no_totals(m_launches.size(), static_cast<uint64_t>(time(NULL) - m_started));
        print_summary(summary, estimates);
        const gpgpu_sim_config& config = m_sim->get_config();
        if (config.g_power_simulation_enabled) {
            const WholeEnergy whole(summary, estimates, config.get_core_freq());
            whole.print(stdout, false);
            if (summary.simulated < summary.launches) mark_power_report(config.g_power_filename, summary, whole);
        }
        fflush(stdout);
    }

    // Prints blocks of the launches that earlier processes of this run simulated, in program order, and on demand of
    // those that are estimated. The running totals go on from what the launches simulated here cost, and end at the
    // estimate of the whole run where each launch has a block. What a launch stopped inside had left to do is its own.
    void print_others() {
        Totals totals = {0, 0};
        for (size_t i = 0; i < m_launches.size(); ++i)
            if (m_simulated[i]) add(&totals, m_client.cost(0, i));
        printf("kernelpoint: launches that this process did not simulate%s\n",
               hook().estimated_rows ? "" : "; -kernel_sampling_rows 1 adds the estimated ones");
        uint64_t row = m_counted.rows();
        std::vector<double> counters = m_counted.counters();  // of all simulated launches so far
        counters.resize(m_counters_before.size());
        for (size_t i = 0; i < m_launches.size(); ++i) {
            if (m_simulated[i]) continue;
            // A worker may have simulated it, or a process that this one resumes.
            const kp_cost cost = m_client.cost(0, i);
            const bool is_simulated = (cost.flags & KP_COST_SIMULATED) != 0;
            if (!is_simulated && (!hook().estimated_rows || !is_known(cost) || cost.cycles == 0)) continue;
            const bool has_counters = is_simulated && cost.counter_count == counters.size();
            std::vector<Amount> native = m_counters_before;
            for (size_t j = 0; j < counters.size(); ++j) native[j].value = has_counters ? counters[j] += cost.counters[j] : NAN;
            const Totals so_far = totals;
            add(&totals, cost);
            const std::string name =
                cost.kernel != NULL ? cost.kernel : kernel_name_of(m_commands[m_launches[i]].command_string);
            print_launch(name, i, !is_simulated, so_far, totals, native, ++row);
        }
    }

    static bool is_known(const kp_cost& cost) { return std::isfinite(cost.cycles) && std::isfinite(cost.instructions); }

    static void add(Totals* totals, const kp_cost& cost) {
        if (!is_known(cost)) return;
        totals->cycles += cost.cycles;
        totals->instructions += cost.instructions;
    }

    gpgpu_sim* m_sim;
    gpgpu_context* m_context;
    const char* m_list_path;
    StatisticsReader m_statistics;
    Client m_client;
    Replay m_replay;
    std::vector<trace_command> m_commands;  // the whole list
    std::vector<size_t> m_launches;         // launch index -> position in m_commands
    std::vector<bool> m_simulated;          // by this process, and counted
    RunningTotals m_counted;                // of these
    HiddenOutput m_hidden;
    std::vector<Amount> m_counters_before;  // the counters when the launch in flight began
    const time_t m_started;
    bool m_begun = false;
    bool m_replays = false;  // some launch began with replayed state
    size_t m_copied = 0;     // commands before this position were handed over, unless they are launches
    Position m_at;           // the launch in flight
    bool m_in_flight = false;
    unsigned long long m_cycles_before;  // totals when the launch in flight began
    unsigned long long m_instructions_before;
};

}  // namespace kernelpoint
#endif
