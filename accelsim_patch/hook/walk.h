// The walk over the list of commands: hands the simulator's own loop one launch at a time, with the copies before it.
//
// The loop runs over a short list (copies in their order, then one launch) instead of the whole one, as often as there
// is a launch to simulate, pass after pass. A skipped launch therefore costs one question to the plugin: no trace is
// opened, no kernel object made. Copies to the GPU are handed over once, in the first pass.
#ifndef KERNELPOINT_ACCELSIM_WALK_H
#define KERNELPOINT_ACCELSIM_WALK_H

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "counters.h"
#include "hook.h"
#include "output.h"
#include "plugin.h"
#include "trace_file.h"

namespace kernelpoint {

class Walk {
public:
    Walk(gpgpu_sim* sim, gpgpu_context* context, const char* list_path)
        : m_sim(sim),
          m_context(context),
          m_list_path(list_path),
          m_counters(sim),
          m_begun(false),
          m_copied(0),
          m_launch(KP_BEFORE_FIRST),
          m_in_flight(false) {}

    // Whether the loop behind has to run, over `list` from its start. Without the option: once, over the list as it is.
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

    // For loops that hold their own index.
    bool next(std::vector<trace_command>& list) {
        unsigned ignored = 0;
        return next(list, ignored);
    }

private:
    void begin(const std::vector<trace_command>& list) {
        m_begun = true;
        m_commands = list;
        for (size_t i = 0; i < list.size(); ++i)
            if (list[i].m_type == kernel_launch) m_launches.push_back(i);
        if (m_sim->getShaderCoreConfig()->gpgpu_concurrent_kernel_sm)
            stop_run(
                "-gpgpu_concurrent_kernel_sm: got 1; allowed with -kernel_sampling: 0. Launches are sampled one after "
                "another, and most source trees drop queued kernels when they overlap (accel-sim-framework issue 542)");
        m_simulated.assign(m_launches.size(), false);
        m_plugin.open(hook().config, hook().config_hash, m_list_path, m_launches.size());
        m_before = m_counters.read(0);
    }

    // Finds the next launch to simulate and puts it into the list; false at the end of the run.
    bool advance(std::vector<trace_command>& list) {
        uint64_t next = 0;
        while (m_plugin.next(m_launch, &next)) {
            m_launch = next < m_launches.size() ? next : KP_END_OF_LIST;
            if (m_launch == KP_END_OF_LIST) continue;
            const std::string& trace = m_commands[m_launches[next]].command_string;
            const kp_decision decision = m_plugin.decide(next, trace.c_str());
            if (decision.action == KP_SKIP) continue;
            hand_over(list, decision);
            return true;
        }
        finish();
        return false;
    }

    void hand_over(std::vector<trace_command>& list, const kp_decision& decision) {
        const trace_command& command = m_commands[m_launches[m_launch]];
        const std::string problem = trace_problem(command.command_string);
        if (!problem.empty()) fail(problem);
        const size_t copies_until = decision.pass > 0 ? m_commands.size() : m_launches[m_launch];
        list.clear();
        for (; m_copied < copies_until; ++m_copied)
            if (m_commands[m_copied].m_type != kernel_launch) list.push_back(m_commands[m_copied]);
        list.push_back(command);
        m_context->kernel_info_m_next_uid = static_cast<unsigned>(m_launch + 1);
        m_cycles = m_sim->gpu_tot_sim_cycle;
        m_instructions = m_sim->gpu_tot_sim_insn;
        m_in_flight = true;
        hook().expect(m_sim, &m_plugin, m_launch, decision.progress_interval);
    }

    // Reports the launch that the loop has run; false when the simulator's own limits end the run.
    bool complete() {
        m_in_flight = false;
        if (m_sim->cycle_insn_cta_max_hit()) {
            m_plugin.abort(m_launch, "the simulator's limit of cycles, instructions or CTAs was reached");
            finish();
            return false;
        }
        const uint64_t cycles = m_sim->gpu_tot_sim_cycle - m_cycles;
        if (!hook().launched || cycles == 0)
            fail(m_commands[m_launches[m_launch]].command_string + ": was not simulated");
        const std::vector<Amount> after = m_counters.read(static_cast<double>(cycles));
        std::vector<kp_counter> counters;
        for (size_t i = 0; i < after.size(); ++i) {
            double amount = after[i].value - (i < m_before.size() ? m_before[i].value : 0);
            if (amount < 0) amount += 4294967296.0;  // the simulator's 32-bit counters wrap
            const kp_counter counter = {after[i].name, amount};
            counters.push_back(counter);
        }
        m_before = after;
        const unsigned long long instructions = m_sim->gpu_tot_sim_insn - m_instructions;
        m_plugin.complete(m_launch, hook().stopped, cycles, instructions, counters);
        if (hook().stopped) {
            const Totals part = {static_cast<double>(cycles), static_cast<double>(instructions)};
            m_stopped[m_launch] = part;
        }
        m_simulated[m_launch] = true;
        return true;
    }

    void fail(const std::string& problem) {
        m_plugin.abort(m_launch, problem);
        stop_run("launch " + std::to_string(m_launch) + " cannot be simulated: " + problem);
    }

    void finish() {
        const kp_summary summary = m_plugin.finish();
        Totals totals = {static_cast<double>(m_sim->gpu_tot_sim_cycle), static_cast<double>(m_sim->gpu_tot_sim_insn)};
        const Totals whole_run = {estimate_of(summary, "cycles", totals.cycles),
                                  estimate_of(summary, "instructions", totals.instructions)};
        printf("kernelpoint: launches that this process did not simulate, estimated\n");
        print_others(totals, whole_run);
        printf("kernelpoint: the whole run, estimated\n");
        printf("kernel_name = kernelpoint_total\n");
        print_totals(whole_run);
        for (size_t i = 0; i < m_before.size(); ++i)
            if (m_before[i].native != NULL)
                printf("%s = %lld\n", m_before[i].native,
                       whole(estimate_of(summary, m_before[i].name, m_before[i].value)));
        print_summary(summary);
        fflush(stdout);
    }

    static double estimate_of(const kp_summary& summary, const char* name, double otherwise) {
        const kp_estimate* found = find_estimate(summary, name);
        return found != NULL && std::isfinite(found->estimate) ? found->estimate : otherwise;
    }

    // Blocks in program order. What they hold is scaled so that, with the launches simulated here, they add up to the
    // estimate of the whole run: a prediction alone leaves out the residuals that the estimate spreads over its
    // stratum. What a launch stopped inside had left to do belongs to that launch, not to the ones skipped.
    void print_others(Totals totals, const Totals& whole_run) {
        for (std::map<uint64_t, Totals>::const_iterator part = m_stopped.begin(); part != m_stopped.end(); ++part) {
            const Totals whole = prediction(part->first);
            if (whole.cycles > 0) totals.cycles += whole.cycles - part->second.cycles;
            if (whole.instructions > 0) totals.instructions += whole.instructions - part->second.instructions;
        }
        std::vector<Totals> own(m_launches.size());
        Totals sum = {0, 0};
        for (size_t i = 0; i < own.size(); ++i) {
            if (m_simulated[i]) continue;
            own[i] = prediction(i);
            sum.cycles += own[i].cycles;
            sum.instructions += own[i].instructions;
        }
        const double cycle_scale = sum.cycles > 0 ? (whole_run.cycles - totals.cycles) / sum.cycles : 1;
        const double insn_scale =
            sum.instructions > 0 ? (whole_run.instructions - totals.instructions) / sum.instructions : 1;
        for (size_t i = 0; i < own.size(); ++i) {
            if (m_simulated[i]) continue;
            own[i].cycles *= cycle_scale;
            own[i].instructions *= insn_scale;
            totals.cycles += own[i].cycles;
            totals.instructions += own[i].instructions;
            print_launch(name_of(i), i, own[i], totals);
        }
    }

    // What the plugin says of one launch; zeros where it says nothing.
    Totals prediction(uint64_t launch) {
        Totals found = {0, 0};
        m_plugin.estimate(launch, &found.cycles, &found.instructions);
        if (!std::isfinite(found.cycles) || !std::isfinite(found.instructions)) found.cycles = found.instructions = 0;
        return found;
    }

    std::string name_of(uint64_t launch) {
        const std::string known = m_plugin.name(launch);
        return known.empty() ? kernel_name_of(m_commands[m_launches[launch]].command_string) : known;
    }

    gpgpu_sim* m_sim;
    gpgpu_context* m_context;
    const char* m_list_path;
    Counters m_counters;
    Plugin m_plugin;
    std::vector<trace_command> m_commands;  // the whole list
    std::vector<size_t> m_launches;         // launch index -> position in m_commands
    std::vector<bool> m_simulated;          // by this process
    std::map<uint64_t, Totals> m_stopped;   // launch index -> what was simulated of it before it was stopped inside
    std::vector<Amount> m_before;           // the counters when the launch in flight began
    bool m_begun;
    size_t m_copied;    // commands before this position were handed over, unless they are launches
    uint64_t m_launch;  // in flight, or asked about last
    bool m_in_flight;
    unsigned long long m_cycles;  // totals when the launch in flight began
    unsigned long long m_instructions;
};

}  // namespace kernelpoint
#endif
