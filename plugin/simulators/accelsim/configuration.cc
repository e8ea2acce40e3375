// Accel-Sim's options (gpgpu-sim 4) in terms of the model.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "fast_model/configuration/dialect.h"

namespace kernelpoint::fast_model {
namespace {

// Model: from issue to a dependent instruction's issue an instruction also passes the operand collector, the result bus
// and the scoreboard; loads pass the load-store unit's queues, and what misses crosses the interconnect twice.
constexpr double kPipeline = 6, kLoadPipeline = 10, kCrossing = 8;

// "latency,initiation interval" of a unit. Model: one unit of each kind for every scheduler, as in all tested
// configurations from Volta on.
void set_unit(Options& options, const std::string& key, UnitTiming& unit) {
    const auto found = options.numbers(key, 2);
    if (!found) return;
    unit.latency = whole((*found)[0] + kPipeline, 1, kMost);
    unit.interval = whole((*found)[1], 1, 1000);
}

void set_units(Options& options, GpuConfig& config) {
    set_unit(options, "-trace_opcode_latency_initiation_int", config.unit(Unit::integer));
    set_unit(options, "-trace_opcode_latency_initiation_int", config.unit(Unit::move));
    set_unit(options, "-trace_opcode_latency_initiation_int", config.unit(Unit::other));
    set_unit(options, "-trace_opcode_latency_initiation_sp", config.unit(Unit::single_precision));
    set_unit(options, "-trace_opcode_latency_initiation_dp", config.unit(Unit::double_precision));
    set_unit(options, "-trace_opcode_latency_initiation_sfu", config.unit(Unit::special_function));
    set_unit(options, "-trace_opcode_latency_initiation_tensor", config.unit(Unit::tensor));
    // Units that the configuration adds: the simulator prefers them.
    for (int i = 1; i <= 8; ++i) {
        const std::string unit = options.text("-specialized_unit_" + std::to_string(i)).value_or("0");
        const std::string key = "-trace_opcode_latency_initiation_spec_op_" + std::to_string(i);
        options.text(key);
        if (unit[0] != '1') continue;
        const std::string name = unit.substr(unit.rfind(',') + 1);
        if (name == "BRA") set_unit(options, key, config.unit(Unit::control));
        if (name == "TENSOR") set_unit(options, key, config.unit(Unit::tensor));
        if (name == "TEX") config.texture_latency = whole(options.number(key, 200) + kPipeline, 1, kMost);
    }
}

void set_sm(Options& options, GpuConfig& config) {
    const double clusters = options.number("-gpgpu_n_clusters", config.sms);
    if (clusters < 1) options.refuse("-gpgpu_n_clusters", "1 or more");
    config.sms = whole(clusters * options.number("-gpgpu_n_cores_per_cluster", 1), 1, 1024);
    config.schedulers_per_sm = whole(options.number("-gpgpu_num_sched_per_core", config.schedulers_per_sm), 1, 16);
    if (const auto pipeline = options.numbers("-gpgpu_shader_core_pipeline", 2))
        config.max_warps_per_sm = whole((*pipeline)[0] / std::max(1.0, (*pipeline)[1]), 1, 256);
    config.max_ctas_per_sm = whole(options.number("-gpgpu_shader_cta", config.max_ctas_per_sm), 1, 256);
    config.registers_per_sm = whole(options.number("-gpgpu_shader_registers", config.registers_per_sm), 1024, 1 << 20);
    config.register_allocation_unit = 4 * kWarpSize;  // registers of a thread are rounded up to four
    config.shared_memory_per_sm = whole(options.number("-gpgpu_shmem_size", config.shared_memory_per_sm), 0, 1 << 24);
    config.shared_allocation_unit = 1;
    config.launch_latency = whole(options.number("-gpgpu_kernel_launch_latency", 0), 0, 1000000);
    config.cta_dispatch_interval = 0;  // every SM takes one a cycle, whatever the others do
    config.shared_latency = whole(options.number("-gpgpu_smem_latency", config.shared_latency) + kLoadPipeline, 1, kMost);
}

// "S:sets:line:ways,..." of a cache. False where there is none.
bool read_cache(Options& options, const std::string& key, double& sets, double& line, double& ways) {
    auto text = options.text(key);
    if (!text || *text == "none") return false;
    const size_t begin = text->find_first_of("0123456789");
    if (begin == std::string::npos || std::sscanf(text->c_str() + begin, "%lf:%lf:%lf", &sets, &line, &ways) != 3)
        options.refuse(key, "kind:sets:line bytes:ways, and the rest, or none");
    if (std::min({sets, line, ways}) < 1) options.refuse(key, "sets, bytes of a line and ways above 0");
    return true;
}

void set_l1(Options& options, GpuConfig& config) {
    double sets = 0, line = 0, ways = 0;
    if (read_cache(options, "-gpgpu_cache:dl1", sets, line, ways)) set_cache(config.l1_size, config.l1_ways, sets, ways, line);
    if (options.number("-gpgpu_gmem_skip_L1D", 0) != 0) config.l1_size = kLineBytes * (config.l1_ways = 1);
    config.l1_latency = whole(options.number("-gpgpu_l1_latency", config.l1_latency) + kLoadPipeline, 1, kMost);
    config.l1_invalidate_at_launch = options.number("-gpgpu_flush_l1_cache", 0) != 0;
    config.l1_miss_interval = 1;
    // L1 is the part of the unified memory that shared memory leaves.
    const bool adaptive = options.number("-gpgpu_adaptive_cache_config", 0) != 0;
    options.text("-gpgpu_shmem_option");
    const double unified = 1024 * options.number("-gpgpu_unified_l1d_size", 0);
    if (adaptive && sets > 0) config.l1_unified_size = whole(unified, 0, 1 << 24);
}

void set_memory(Options& options, GpuConfig& config) {
    double core = 1, interconnect = 1, l2 = 1, dram = 1;
    if (const auto clocks = options.numbers("-gpgpu_clock_domains", 4)) {
        core = (*clocks)[0], interconnect = (*clocks)[1], l2 = (*clocks)[2], dram = (*clocks)[3];
        if (std::min({core, interconnect, l2, dram}) <= 0) options.refuse("-gpgpu_clock_domains", "clocks above 0");
    }
    const double channels = options.number("-gpgpu_n_mem", config.dram_channels);
    const double banks = channels * options.number("-gpgpu_n_sub_partition_per_mchannel", 1);
    config.l2_banks = whole(banks, 1, 1024);
    double sets = 0, line = 0, ways = 0;
    if (read_cache(options, "-gpgpu_cache:dl2", sets, line, ways))
        set_cache(config.l2_size, config.l2_ways, sets * banks, ways, line);
    config.l2_interval = whole(core / l2, 1, 1000);
    config.l2_latency = whole(
        options.number("-gpgpu_l2_rop_latency", config.l2_latency) * core / l2 + kCrossing * core / interconnect, 0, kMost);
    config.dram_channels = whole(channels, 1, 1024);
    double row = 0;  // from the command to the data: activate, then read
    if (auto timing = options.text("-gpgpu_dram_timing_opt")) {
        timing->erase(std::remove(timing->begin(), timing->end(), ' '), timing->end());
        for (const char* name : {"RCD=", "CL="}) {
            const size_t at = timing->find(std::string(":") + name);
            if (at != std::string::npos) row += std::atof(timing->c_str() + timing->find('=', at) + 1);
        }
    }
    config.dram_latency =
        whole(options.number("-dram_latency", config.dram_latency) * core / l2 + row * core / dram, 0, 100000);
    const double width = options.number("-gpgpu_dram_buswidth", 0) * options.number("-gpgpu_n_mem_per_ctrlr", 1);
    const double transfers = options.number("-dram_data_command_freq_ratio", 2);
    if (width > 0) config.dram_bytes_per_cycle = whole(width * transfers * dram / core, 1, 4096);
}

// Read here only to be said: cycles depend on them, and the model has nothing alike unless they are at this value.
constexpr struct {
    const char *key, *neutral;
} kNotModelled[] = {
    {"-gpgpu_TB_launch_latency", "0"},
    {"-gpgpu_flush_l2_cache", "0"},
    {"-gpgpu_perf_sim_memcpy", "1"},
    {"-gpgpu_perfect_mem", "0"},
    {"-l2_ideal", "0"},
    {"-gpgpu_perfect_inst_const_cache", "1"},
    {"-gpgpu_simple_dram_model", "0"},
    {"-gpgpu_concurrent_kernel_sm", "0"},
    {"-gpgpu_ignore_resources_limitation", "0"},
};

// Prefixes of options that change no cycle of a trace-driven run, or whose effect is finer than the model's grain:
// instruction fetch and operand collection, arbitration of queues, banks and rows.
bool is_known(const std::string& key) {
    static const std::vector<std::string> beginnings = {
        // no effect on cycles
        "-trace", "-kernel_sampling", "-kernelpoint_", "-config", "-visualizer_", "-power_", "-accelwattch_", "-hw_perf_",
        "-dvfs_", "-aggregate_power", "-steady_", "-gpuwattch", "-enable_ptx", "-ptx_", "-gpgpu_ptx_", "-save_embedded_ptx",
        "-gpgpu_experimental_lib", "-gpgpu_memlatency_stat", "-gpgpu_runtime_stat", "-gpgpu_stack_", "-gpgpu_heap_",
        "-gpgpu_runtime_", "-gpgpu_compute_capability", "-gpgpu_occupancy_sm_number", "-gpgpu_max_", "-gpgpu_cflog",
        "-gpgpu_deadlock", "-gpgpu_clock_gated", "-gpgpu_stats", "-gpgpu_cdp_enabled", "-cdp_latency",
        "-gpgpu_registers_per_block", "-gpgpu_shmem_per_block", "-liveness", "-checkpoint", "-resume", "-inter_config_file",
        "-keep", "-gpgpu_option", "-gpgpu_simt_core_sim_order", "-gpgpu_local_mem_map", "-n_regfile", "-gpgpu_dirty",
        "-gpgpu_verify",
        // finer than the model
        "-gpgpu_operand_collector_", "-gpgpu_enable_specialized_operand", "-gpgpu_num_", "-gpgpu_reg_",
        "-gpgpu_pipeline_widths", "-gpgpu_tensor_core_avail", "-gpgpu_simd_model", "-gpgpu_sub_core_model", "-gpgpu_dual_issue",
        "-gpgpu_scheduler", "-gpgpu_warp", "-gpgpu_inst_fetch", "-gpgpu_cache:il1", "-gpgpu_cache:dl1Pref",
        "-gpgpu_cache:dl2_texture", "-gpgpu_tex_cache", "-gpgpu_const_cache", "-gpgpu_l1_", "-gpgpu_shmem_", "-gpgpu_mem_",
        "-gpgpu_coalesce", "-gpgpu_memory_partition", "-gpgpu_dram_", "-gpgpu_frfcfs", "-gpgpu_n_cluster_ejection",
        "-gpgpu_n_ldst", "-gpgpu_n_mem_per_ctrlr", "-dram_", "-icnt_", "-network_mode"};
    return begins_with_any(key, beginnings);
}

// Reads on until the quote that `line` opens is closed.
void join_quoted(std::string& line, std::istream& lines, uint64_t& number) {
    const auto open = [&] {
        size_t quotes = 0;
        for (const char c : line) quotes += c == '"';
        return quotes % 2 == 1;
    };
    for (std::string more; open() && std::getline(lines, more); ++number) line += trimmed(more);
}

std::string without_quotes(std::string text) {
    text = trimmed(text);
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
    return text;
}

class AccelsimDialect : public Dialect {
public:
    const char* name() const override { return "accelsim"; }
    const char* example() const override { return "Accel-Sim's `-key value`"; }
    bool matches(const std::string& line) const override { return line[0] == '-' && line.size() > 1 && line[1] != '-'; }

    // `-key value # comment`; a value in quotes may go on over several lines.
    Options read(const std::string& text, const std::string& where) const override {
        Options options;
        std::istringstream lines(text);
        std::string line;
        for (uint64_t number = 1; std::getline(lines, line); ++number) {
            const std::string place = where + ":" + std::to_string(number);
            line = trimmed(line);
            if (line.empty() || line[0] != '-') continue;  // comments, blank lines, what a print-out says around them
            join_quoted(line, lines, number);
            line = without_comment(line);
            const size_t end = line.find_first_of(" \t\r");
            options.set(line.substr(0, end), end == std::string::npos ? "" : without_quotes(line.substr(end)), place);
        }
        return options;
    }

    Derived derive(Options& options, const GpuConfig& base) const override {
        Derived derived{base, name(), {}, {}, {}, ""};
        set_sm(options, derived.config);
        set_units(options, derived.config);
        set_l1(options, derived.config);
        set_memory(options, derived.config);
        for (const auto& [key, neutral] : kNotModelled) {
            const auto value = options.text(key);
            if (value && *value != neutral) derived.not_modelled.push_back(std::string(key) + " " + *value);
        }
        derived.not_known = options.unknown(is_known);
        return derived;
    }
};

const RegisteredDialect<AccelsimDialect> registered;

}  // namespace
}  // namespace kernelpoint::fast_model
