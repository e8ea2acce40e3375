// AccelWattch's samples and report: reads the energy of each launch from it, and adds that of the whole run to its end.
#ifndef KERNELPOINT_ACCELSIM_POWER_REPORT_H
#define KERNELPOINT_ACCELSIM_POWER_REPORT_H

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "client.hpp"
#include "members.h"

#if defined(__has_include)
#if __has_include("accelwattch/gpgpu_sim_wrapper.h")
#define KERNELPOINT_ACCELWATTCH
#include "accelwattch/gpgpu_sim_wrapper.h"

// Entry point of the power model; null if the simulator was built without it.
__attribute__((weak)) void mcpat_cycle(const gpgpu_sim_config&, const shader_core_config*, gpgpu_sim_wrapper*, power_stat_t*,
                                       unsigned, unsigned, unsigned, unsigned, unsigned, bool);
__attribute__((weak)) void mcpat_reset_perf_count(gpgpu_sim_wrapper*);
#endif
#endif

namespace kernelpoint {

// The report's names of the parts' mean powers.
const char* const kPowerParts[] = {
    "IBP,",     "ICP,",        "DCP,",        "TCP,",        "CCP,",      "SHRDP,",   "RFP,",     "INTP,",     "FPUP,",
    "DPUP,",    "INT_MUL24P,", "INT_MUL32P,", "INT_MULP,",   "INT_DIVP,", "FP_MULP,", "FP_DIVP,", "FP_SQRTP,", "FP_LGP,",
    "FP_SINP,", "FP_EXP,",     "DP_MULP,",    "DP_DIVP,",    "TENSORP,",  "TEXP,",    "SCHEDP,",  "L2CP,",     "MCP,",
    "NOCP,",    "DRAMP,",      "PIPEP,",      "IDLE_COREP,", "CONSTP",    "STATICP"};
const size_t kPowerPartCount = sizeof(kPowerParts) / sizeof(kPowerParts[0]);

inline std::string power_label(size_t part) {
    const std::string label = kPowerParts[part];
    return label.substr(0, label.find(','));
}

// Name of the energy counter of a GPU part: the part's name in lower case.
inline const char* energy_counter(size_t part) {
    static std::vector<std::string> names;
    while (names.size() < kPowerPartCount) {
        std::string name = "energy_" + power_label(names.size());
        for (size_t i = 0; i < name.size(); ++i) name[i] = static_cast<char>(tolower(name[i]));
        names.push_back(name);
    }
    return names[part].c_str();
}

// Energy in joules since the beginning, of the GPU and of each part. AccelWattch resets its numbers before the hook
// runs, so the mean power of a launch is read from its report: the mean of samples, one each -gpgpu_runtime_stat
// cycles.
class PowerReport {
public:
    PowerReport() : m_energy(1 + kPowerPartCount, 0.0) {}
    PowerReport(const PowerReport&) = delete;
    PowerReport& operator=(const PowerReport&) = delete;
    ~PowerReport() {
        if (m_report != NULL) fclose(m_report);
    }

    // Takes over the report after the simulator has opened it. Workers of `kernelpoint run` share a folder, so each
    // report becomes a file of its own that ends with the process.
    void attach(const char* path) {
        m_path = path;
        const int descriptor = getenv("KERNELPOINT_WORKER") != NULL ? open_descriptor(path) : -1;
        if (descriptor < 0 || (m_report = tmpfile()) == NULL) return;
        fcntl(fileno(m_report), F_SETFL, O_APPEND);  // both read and write through one offset
        dup2(fileno(m_report), descriptor);
    }

    // Reads the mean powers in watts of the launch reported last, of the GPU and of each part; 0 without a sample.
    std::vector<double> read() {
        std::vector<double> watts(m_energy.size(), 0.0);
        if (m_report == NULL) m_report = fopen(m_path.c_str(), "r");
        if (m_report == NULL) return watts;
        fseek(m_report, m_read, SEEK_SET);
        char line[4096], name[64];
        double value;
        while (fgets(line, sizeof(line), m_report) != NULL) {
            if (sscanf(line, "kernel_avg_power = %lf", &value) == 1)
                watts[0] = known(value);
            else if (sscanf(line, "gpu_avg_%63s = %lf", name, &value) == 2)
                set(&watts, name, known(value));
        }
        m_read = ftell(m_report);
        return watts;
    }

    // Adds powers that lasted this number of seconds.
    void add(const std::vector<double>& watts, double seconds) {
        for (size_t i = 0; i < m_energy.size() && i < watts.size(); ++i) m_energy[i] += watts[i] * seconds;
    }

    double energy() const { return m_energy[0]; }
    double energy_of(size_t part) const { return m_energy[1 + part]; }

private:
    // Descriptor under which this process has a file open; -1 if it has not.
    static int open_descriptor(const char* path) {
        struct stat file, each;
        if (stat(path, &file) != 0) return -1;
        for (int descriptor = STDERR_FILENO + 1; descriptor < MOST_DESCRIPTORS; ++descriptor)
            if (fstat(descriptor, &each) == 0 && each.st_ino == file.st_ino && each.st_dev == file.st_dev) return descriptor;
        return -1;
    }
    enum { MOST_DESCRIPTORS = 1024 };

    static double known(double watts) { return watts == watts ? watts : 0.0; }

    static void set(std::vector<double>* watts, const char* label, double value) {
        for (size_t i = 0; i < kPowerPartCount; ++i)
            if (strcmp(kPowerParts[i], label) == 0) (*watts)[1 + i] = value;
    }

    std::string m_path;
    FILE* m_report = NULL;
    long m_read = 0;
    std::vector<double> m_energy;
};

// Energy, mean power and energy-delay product of the whole run, each with its half-width; `nan` if too uncertain. A part
// that is 0 in each simulated launch is 0, with its upper limit.
class WholeEnergy {
public:
    WholeEnergy(const kp_summary& summary, const std::vector<kp_estimate>& estimates, double hertz)
        : m_summary(summary), m_estimates(estimates), m_hertz(hertz) {}

    // Prints these values. The report (`native`) also gets mean powers under AccelWattch's own names.
    void print(FILE* file, bool native) const {
        const kp_estimate* cycles = find_estimate(m_estimates, "cycles");
        const kp_estimate* energy = find_estimate(m_estimates, "energy");
        if (cycles == NULL || energy == NULL || !(cycles->estimate > 0)) return;
        const double seconds = cycles->estimate / m_hertz, late = cycles->half_width / m_hertz;
        const bool is_stated = is_known_amount(*energy);
        const double joules = is_stated ? energy->estimate : NAN, off = energy->half_width;
        line(file, "kernelpoint_energy_delay_product", joules * seconds, joules * late + off * (seconds + late));
        const kp_estimate* per_cycle = find_estimate(m_estimates, "energy_per_cycle");
        const double power = is_stated ? energy->estimate / seconds : NAN;
        const double power_off = per_cycle != NULL ? per_cycle->half_width * m_hertz : off / seconds + power * late / seconds;
        line(file, "kernelpoint_average_power", power, power_off);
        if (!native) return;
        fprintf(file, "kernelpoint_energy = %.10g\nkernelpoint_energy_half_width = %.10g\n", joules, off);
        fprintf(file, "gpu_tot_avg_power = %.6g\nkernel_avg_power = %.6g\n", power, power);
        std::string wide, zero;
        for (size_t i = 0; i < kPowerPartCount; ++i) {
            const kp_estimate* part = find_estimate(m_estimates, energy_counter(i));
            if (part == NULL) continue;
            const std::string label = power_label(i);
            const double watts = part->estimate / seconds;
            const bool is_known = is_known_amount(*part);
            if (!is_known) (part->simulated > 0 ? wide : zero) += " " + label;
            fprintf(file, "gpu_avg_%s = %.6g\n", kPowerParts[i], is_known ? watts : NAN);
            const double least_seconds = seconds - late;
            if (is_limited(*part) && least_seconds > 0)
                fprintf(file, "kernelpoint_avg_%s_at_most = %.6g\n", label.c_str(), part->at_most / least_seconds);
            if (is_limited(*part) && !std::isfinite(part->half_width)) continue;
            fprintf(file, "kernelpoint_avg_%s_half_width = %.6g\n", label.c_str(),
                    (part->half_width + std::fabs(watts) * late) / seconds);
        }
        if (!wide.empty()) fprintf(file, "kernelpoint: nan, half-width above 25 %%:%s\n", wide.c_str());
        if (!zero.empty()) fprintf(file, "kernelpoint: nan, 0 in each simulated launch:%s\n", zero.c_str());
    }

private:
    static void line(FILE* file, const char* name, double value, double half_width) {
        fprintf(file, "%s = %.10g\n%s_half_width = %.10g\n", name, value, name, half_width);
    }

    bool is_known_amount(const kp_estimate& e) const {
        return is_known(e, m_summary.simulated == m_summary.launches) && e.estimate >= 0;
    }

    const kp_summary& m_summary;
    const std::vector<kp_estimate>& m_estimates;
    const double m_hertz;
};

// Marks the power report: its first line says that it contains the simulated launches only, and its last lines have
// the whole run.
inline void mark_power_report(const char* path, const kp_summary& summary, const WholeEnergy& whole) {
    std::ostringstream simulated;
    simulated << std::ifstream(path).rdbuf();
    FILE* report = fopen(path, "w");
    if (report == NULL) return;
    const unsigned long long some = summary.simulated, all = summary.launches;
    fprintf(report, "kernelpoint: a sample: %llu of %llu launches count; the whole run is estimated at the end\n", some, all);
    fputs(simulated.str().c_str(), report);
    fprintf(report, "kernelpoint: everything above is of simulated launches: %llu of the %llu of the run count\n", some, all);
    fprintf(report, "kernelpoint: the whole run, estimated; powers are means over its time, in watts\n");
    whole.print(report, true);
    fclose(report);
}

// Sums of power samples in watts, of the GPU and of each part in AccelWattch's order, and their number.
//
// AccelWattch samples power every -gpgpu_runtime_stat cycles of the run. So the power of a launch after its last sample
// is in the first sample of the launch simulated next, which in a sampled run is another one than in a full run. These
// are the samples that no launch's report contains.
struct PowerSums {
    double samples;
    std::vector<double> watts;
};

#ifdef KERNELPOINT_ACCELWATTCH
KERNELPOINT_REACH(PowerSum, gpgpu_sim_wrapper, double, kernel_tot_power)
KERNELPOINT_REACH(PartSums, gpgpu_sim_wrapper, std::vector<avg_max_min_counters<double> >, kernel_cmp_pwr)
KERNELPOINT_REACH(SampleCount, gpgpu_sim_wrapper, int, kernel_sample_count)
KERNELPOINT_REACH(RunPower, gpgpu_sim_wrapper, avg_max_min_counters<double>, gpu_tot_power)
KERNELPOINT_REACH(RunSampleCount, gpgpu_sim_wrapper, int, total_sample_count)

// Takes the next power sample now: activity since the last one counts as always, cycles that are missing are idle
// ones. Gives the samples since the last report; false where AccelWattch does not sample. The run's mean power stays
// as it is.
inline bool take_power_samples(gpgpu_sim* sim, PowerSums* sums) {
    struct Power : public gpgpu_sim {
        static gpgpu_sim_wrapper* wrapper(gpgpu_sim* sim) { return sim->*(&Power::m_gpgpusim_wrapper); }
        static power_stat_t* statistics(gpgpu_sim* sim) { return sim->*(&Power::m_power_stats); }
    };
    const gpgpu_sim_config& config = sim->get_config();
    if (mcpat_cycle == NULL || config.g_power_simulation_mode != 0) return false;
    gpgpu_sim_wrapper& wrapper = *Power::wrapper(sim);
    const avg_max_min_counters<double> power = wrapper.*reach(RunPower());
    const int samples = wrapper.*reach(RunSampleCount());
    mcpat_cycle(config, sim->getShaderCoreConfig(), &wrapper, Power::statistics(sim), config.*reach(SampleInterval()), 0, 0, 0,
                0, config.g_dvfs_enabled);
    sums->samples = wrapper.*reach(SampleCount());
    sums->watts.assign(1, wrapper.*reach(PowerSum()));
    const std::vector<avg_max_min_counters<double> >& parts = wrapper.*reach(PartSums());
    for (size_t i = 0; i < parts.size(); ++i) sums->watts.push_back(parts[i].avg);
    mcpat_reset_perf_count(&wrapper);
    wrapper.*reach(RunPower()) = power;
    wrapper.*reach(RunSampleCount()) = samples;
    return true;
}
#else
inline bool take_power_samples(gpgpu_sim*, PowerSums*) {
    return false;
}
#endif

}  // namespace kernelpoint
#endif
