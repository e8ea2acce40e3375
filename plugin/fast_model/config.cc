#include "fast_model/config.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <set>
#include <sstream>
#include <vector>

#include "native/trace/lines.h"
#include "native/trace/trace.h"

namespace kernelpoint::fast_model {
namespace {

struct Key {
    std::string name;
    uint32_t* value;
    uint32_t least, most;

    std::string allowed() const { return "an integer from " + std::to_string(least) + " to " + std::to_string(most); }
};

void add_unit_keys(GpuConfig& c, std::vector<Key>& keys) {
    for (uint32_t u = 0; u < kUnits; ++u) {
        const std::string name = unit_names[u];
        // A memory access takes as long as its space does: see shared_latency, l1_latency, ...
        if (u != static_cast<uint32_t>(Unit::memory)) {
            keys.push_back({name + "_latency", &c.units[u].latency, 1, 10000});
        }
        keys.push_back({name + "_interval", &c.units[u].interval, 1, 1000});
    }
}

// Every key, in the order that the hash uses.
std::vector<Key> keys_of(GpuConfig& c) {
    std::vector<Key> keys{
        {"sms", &c.sms, 1, 1024},
        {"schedulers_per_sm", &c.schedulers_per_sm, 1, 16},
        {"max_warps_per_sm", &c.max_warps_per_sm, 1, 256},
        {"max_ctas_per_sm", &c.max_ctas_per_sm, 1, 256},
        {"registers_per_sm", &c.registers_per_sm, 1024, 1u << 20},
        {"register_allocation_unit", &c.register_allocation_unit, 1, 4096},
        {"shared_memory_per_sm", &c.shared_memory_per_sm, 0, 1u << 24},
        {"shared_allocation_unit", &c.shared_allocation_unit, 1, 65536},
        {"launch_latency", &c.launch_latency, 0, 1000000},
        {"cta_dispatch_interval", &c.cta_dispatch_interval, 0, 10000},
        {"shared_latency", &c.shared_latency, 1, 10000},
        {"constant_latency", &c.constant_latency, 1, 10000},
        {"texture_latency", &c.texture_latency, 1, 10000},
        {"l1_size", &c.l1_size, kLineBytes, 1u << 24},
        {"l1_ways", &c.l1_ways, 1, 512},
        {"l1_latency", &c.l1_latency, 1, 10000},
        {"l1_miss_interval", &c.l1_miss_interval, 0, 1000},
        {"l1_invalidate_at_launch", &c.l1_invalidate_at_launch, 0, 1},
        {"l1_unified_size", &c.l1_unified_size, 0, 1u << 24},
        {"l2_size", &c.l2_size, kLineBytes, 1u << 30},
        {"l2_ways", &c.l2_ways, 1, 512},
        {"l2_latency", &c.l2_latency, 0, 10000},
        {"l2_banks", &c.l2_banks, 1, 1024},
        {"l2_interval", &c.l2_interval, 0, 1000},
        {"dram_latency", &c.dram_latency, 0, 100000},
        {"dram_channels", &c.dram_channels, 1, 1024},
        {"dram_bytes_per_cycle", &c.dram_bytes_per_cycle, 1, 4096},
    };
    add_unit_keys(c, keys);
    return keys;
}

void check_cache(const std::string& path, const char* level, uint32_t size, uint32_t ways) {
    const uint32_t step = ways * kLineBytes;
    if (size % step == 0) return;
    throw ConfigError(path + ": " + level + "_size is '" + std::to_string(size) + "'; allowed: a multiple of " + level +
                      "_ways times " + std::to_string(kLineBytes) + " bytes, here " + std::to_string(step));
}

}  // namespace

std::string trimmed(const std::string& text) {
    const size_t first = text.find_first_not_of(" \t\r");
    return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string GpuConfig::hash() const {
    std::string text = std::string("model=") + kModelVersion + "\n";
    for (const auto& [key, value] : values()) text += key + "=" + std::to_string(value) + "\n";
    uint64_t hash = 14695981039346656037ull;  // FNV-1a, 64 bits
    for (const unsigned char c : text) hash = (hash ^ c) * 1099511628211ull;
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016" PRIx64, hash);
    return digits;
}

std::string GpuConfig::text() const {
    std::string text = "name: " + name + "\n";
    for (const auto& [key, value] : values()) text += key + ": " + std::to_string(value) + "\n";
    return text;
}

std::vector<std::pair<std::string, uint32_t>> GpuConfig::values() const {
    GpuConfig copy = *this;
    std::vector<std::pair<std::string, uint32_t>> values;
    for (const Key& key : keys_of(copy)) values.emplace_back(key.name, *key.value);
    return values;
}

std::string read_config_file(const std::string& path) {
    constexpr size_t longest = 1 << 20;
    try {
        RegularFile file(path);
        std::string text(std::min<uint64_t>(file.size(), longest) + 1, '\0');
        text.resize(file.read(text.data(), text.size()));
        if (text.size() <= longest) return text;
    } catch (const TraceError& error) {
        throw ConfigError(std::string(error.what()) + "; allowed: a host configuration, or v100 or rtx");
    }
    throw ConfigError(path + ": is larger than 1 MiB; allowed: a host configuration, or v100 or rtx");
}

GpuConfig read_config(const std::string& path) {
    return parse_config(read_config_file(path), path);
}

GpuConfig parse_config(const std::string& text, const std::string& where) {
    GpuConfig config;
    const std::vector<Key> keys = keys_of(config);
    std::set<std::string> seen;
    std::istringstream lines(text);
    std::string line;
    for (uint64_t number = 1; std::getline(lines, line); ++number) {
        const std::string place = where + ":" + std::to_string(number) + ": ";
        line.resize(std::min(line.find('#'), line.size()));
        if (trimmed(line).empty()) continue;
        const size_t colon = line.find(':');
        if (colon == std::string::npos || line[0] == ' ' || line[0] == '\t' || line[0] == '-')
            throw ConfigError(place + "'" + trimmed(line) + "' is not `key: value`; allowed: flat keys, no nesting");
        const std::string name = trimmed(line.substr(0, colon)), value = trimmed(line.substr(colon + 1));
        const auto key = std::find_if(keys.begin(), keys.end(), [&](const Key& k) { return k.name == name; });
        if (name == "name") {
            if (value.empty()) throw ConfigError(place + "name is empty; allowed: any text");
            config.name = value;
        } else if (key != keys.end()) {
            const bool digits =
                !value.empty() && value.size() <= 10 && value.find_first_not_of("0123456789") == std::string::npos;
            const uint64_t given = digits ? std::stoull(value) : 0;
            if (!digits || given < key->least || given > key->most)
                throw ConfigError(place + name + " is '" + value + "'; allowed: " + key->allowed());
            *key->value = static_cast<uint32_t>(given);
        } else {
            std::string names = "name";
            for (const Key& k : keys) names += ", " + k.name;
            throw ConfigError(place + "unknown key '" + name + "' (value '" + value + "'); allowed: " + names);
        }
        if (!seen.insert(name).second) throw ConfigError(place + "key '" + name + "' is given twice; allowed: once");
    }
    if (!seen.count("name")) throw ConfigError(where + ": key 'name' is missing; allowed: any text");
    for (const Key& key : keys)
        if (!seen.count(key.name)) throw ConfigError(where + ": key '" + key.name + "' is missing; allowed: " + key.allowed());
    check_cache(where, "l1", config.l1_size, config.l1_ways);
    check_cache(where, "l2", config.l2_size, config.l2_ways);
    return config;
}

}  // namespace kernelpoint::fast_model
