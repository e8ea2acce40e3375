// MacSim's knobs in terms of the model.
#include <cstdlib>
#include <sstream>

#include "fast_model/configuration/dialect.h"
#include "simulators/macsim/cores/predict.h"

namespace kernelpoint::fast_model {
namespace {

// Model: what MacSim charges for an NVBit instruction without memory, and the stages before it.
constexpr double kInteger = 25, kFloat = 19;
// Caches of MacSim's shipped params.in, where options leave them open: parts of the last level, bytes of a line.
constexpr double kParts = 12, kLineSize = 128;

void set_core(Options& options, GpuConfig& config) {
    config.sms = whole(options.number("num_sim_small_cores", options.number("num_sim_cores", config.sms)), 1, 1024);
    config.schedulers_per_sm = whole(options.number("num_warp_scheduler", 1), 1, 16);
    config.max_warps_per_sm = whole(options.number("max_threads_per_core", config.max_warps_per_sm), 1, 256);
    config.max_ctas_per_sm = whole(options.number("max_block_per_core", 4), 1, 256);
    config.registers_per_sm = 1u << 20;  // not limited
    config.shared_memory_per_sm = 1u << 24;
    config.register_allocation_unit = config.shared_allocation_unit = 1;
    config.launch_latency = 0;
    config.cta_dispatch_interval = 0;
    // A core schedules in every so many cycles.
    const double interval = options.number("schedule_ratio", 1);
    const double stages = options.number("fetch_latency", 1) + options.number("alloc_latency", 1);
    for (uint32_t u = 0; u < kUnits; ++u) {
        const auto unit = static_cast<Unit>(u);
        const bool is_float = unit == Unit::single_precision || unit == Unit::double_precision;
        config.units[u] = {whole(is_float ? kFloat : kInteger, 1, kMost), whole(interval, 1, 1000)};
    }
    // Model: a warp fetches nothing behind a branch until it is resolved.
    config.unit(Unit::control).latency = whole(kInteger + stages, 1, kMost);
}

void set_memory(Options& options, const replay::CacheInfo& caches, GpuConfig& config) {
    const auto clock = [&](const char* key, double otherwise) {
        const double found = options.number(key, otherwise);
        if (found <= 0) options.refuse(key, "a clock above 0");
        return found;
    };
    const double gpu = clock("clock_gpu", 1.5), llc = clock("clock_llc", 1), memory = clock("clock_mc", 0.8);
    set_cache(config.l1_size, config.l1_ways, caches.l1_sets, caches.l1_ways, options.number("l1_small_line_size", kLineSize));
    config.l1_latency = caches.l1_latency;
    config.l1_invalidate_at_launch = 0;
    config.l1_unified_size = 0;
    set_cache(config.l2_size, config.l2_ways, caches.last_level_sets, caches.last_level_ways,
              options.number("llc_line_size", kLineSize));
    config.l2_latency = whole(caches.last_level_latency * gpu / llc, 0, kMost);
    config.l2_banks = whole(options.number("num_llc", kParts) * options.number("llc_num_bank", 4), 1, 1024);
    config.l2_interval = whole(gpu / llc, 1, 1000);
    const double channels = options.number("dram_num_mc", 1) * options.number("dram_num_channel", 1);
    config.dram_channels = whole(channels, 1, 1024);
    const double access = options.number("dram_activate", 25) + options.number("dram_column", 6);
    config.dram_latency = whole(access * gpu / memory, 0, 100000);
    config.dram_bytes_per_cycle = whole(options.number("dram_bus_width", 4) * memory / gpu, 1, 4096);
    config.shared_latency = whole(options.number("shared_mem_cycles", 2) + kInteger, 1, kMost);
}

replay::SmInfo cores_of(Options& options) {
    replay::SmInfo cores;
    const auto most = [&](const char* key, double otherwise) { return whole(options.number(key, otherwise), 1, kMost); };
    cores.residency.sms = whole(options.number("num_sim_small_cores", options.number("num_sim_cores", 1)), 1, 1024);
    cores.residency.ctas_per_sm = most("max_block_per_core", 4);
    cores.residency.warps_per_sm = most("max_threads_per_core", 3);
    const bool learns = options.number("use_branch_prediction", 1) != 0 && options.number("perfect_bp", 0) == 0;
    if (learns) cores.predictor.history_bits = whole(options.number("bp_hist_length", 5), 0, 24);
    cores.predictor.counter_bits = whole(options.number("pht_ctr_bits", 2), 1, 8);
    replay::CacheInfo& caches = cores.caches;
    caches.l1_sets = whole(options.number("l1_small_num_set", caches.l1_sets), 1, 1 << 12);
    caches.l1_ways = whole(options.number("l1_small_assoc", caches.l1_ways), 1, 1 << 8);
    caches.l1_latency = most("l1_small_latency", caches.l1_latency);
    caches.last_level_sets = whole(options.number("num_llc", kParts) * options.number("llc_num_set", 128), 1, 1 << 16);
    caches.last_level_ways = whole(options.number("llc_assoc", caches.last_level_ways), 1, 1 << 8);
    caches.last_level_latency = most("llc_latency", caches.last_level_latency);
    return cores;
}

// Options that matter to cycles and that the model of the cores has at one value only: that of MacSim's shipped
// params.in, or of MacSim itself where that file does not name the option.
constexpr struct {
    const char *key, *value;
} kShipped[] = {{"schedule", "ooo"},
                {"schedule_ratio", "4"},
                {"fetch_ratio", "4"},
                {"fetch_policy", "rr"},
                {"fetch_latency", "5"},
                {"alloc_latency", "5"},
                {"num_warp_scheduler", "2"},
                {"width", "1"},
                {"isched_rate", "4"},
                {"msched_rate", "4"},
                {"fsched_rate", "4"},
                {"giaq_size", "32"},
                {"miaq_size", "16"},
                {"fe_size", "256"},
                {"mt_no_fetch_br", "1"},
                {"bp_dir_mech", "gshare"},
                {"perfect_btb", "1"},
                {"perfect_icache", "0"},
                {"icache_num_set", "8"},
                {"icache_assoc", "8"},
                {"icache_line_size", "64"},
                {"perfect_dcache", "0"},
                {"l1_small_line_size", "128"},
                {"l1_small_bypass", "0"},
                {"llc_line_size", "128"},
                {"memory_type", "l2_decoupled_network"},
                {"noc_topology", "simple_noc"},
                {"enable_cache_coherence", "0"},
                {"enable_pref_small_core", "0"},
                {"shared_mem_banks", "32"},
                {"shared_mem_cycles", "2"},
                {"dram_activate", "25"},
                {"dram_column", "11"},
                {"dram_precharge", "10"},
                {"dram_scheduling_policy", "FRFCFS"}};

// Those of them that have another value, as `key value`.
std::vector<std::string> not_modelled(Options& options) {
    std::vector<std::string> others;
    for (const auto& [key, value] : kShipped) {
        const std::optional<std::string> given = options.text(key);
        if (!given) continue;
        char* end = nullptr;
        const double number = std::strtod(given->c_str(), &end);
        const bool is_number = !given->empty() && *end == '\0';
        if (is_number ? number != std::strtod(value, nullptr) : *given != value)
            others.push_back(std::string(key) + " " + *given);
    }
    const double gpu = options.number("clock_gpu", 2);
    for (const char* key : {"clock_llc", "clock_noc", "clock_mc"})
        if (const double clock = options.number(key, gpu); clock != gpu)
            others.push_back(std::string(key) + " " + *options.text(key));
    return others;
}

std::string hash_of(const replay::SmInfo& cores) {
    const replay::Residency& held = cores.residency;
    std::string text = "-cores" + std::to_string(replay::macsim::kCoreModelVersion);
    for (const uint32_t number :
         {held.sms, held.ctas_per_sm, held.warps_per_sm, cores.predictor.history_bits, cores.predictor.counter_bits,
          cores.caches.l1_sets, cores.caches.l1_ways, cores.caches.l1_latency, cores.caches.last_level_sets,
          cores.caches.last_level_ways, cores.caches.last_level_latency})
        text += "-" + std::to_string(number);
    return text;
}

class MacsimDialect : public Dialect {
public:
    const char* name() const override { return "macsim"; }
    const char* example() const override { return "MacSim's `key value`"; }
    bool matches(const std::string& line) const override {
        const size_t end_of_key = line.find_first_of(" \t:");
        const size_t after = line.find_first_not_of(" \t", end_of_key);
        return end_of_key != std::string::npos && (after == std::string::npos || line[after] != ':');
    }

    // `key value`, or `key = value` as MacSim prints its knobs.
    Options read(const std::string& text, const std::string& where) const override {
        Options options;
        std::istringstream lines(text);
        std::string line;
        for (uint64_t number = 1; std::getline(lines, line); ++number) {
            std::istringstream words(without_comment(line));
            std::string key, value;
            words >> key >> value;
            if (value == "=") words >> value;
            if (words) options.set(key, value, where + ":" + std::to_string(number));
        }
        return options;
    }

    Derived derive(Options& options, const GpuConfig& base) const override {
        const replay::SmInfo cores = cores_of(options);
        Derived derived{base, name(), {}, {}, cores, hash_of(cores)};
        set_core(options, derived.config);
        set_memory(options, cores.caches, derived.config);
        derived.not_modelled = not_modelled(options);
        return derived;
    }
};

const RegisteredDialect<MacsimDialect> registered;

}  // namespace
}  // namespace kernelpoint::fast_model
