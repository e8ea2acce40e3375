// The simulated GPU as its configuration file describes it: flat `key: value` YAML, every key required.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "native/trace/opcode.h"

namespace kernelpoint::fast_model {

// A configuration or command line that is refused; the message is complete.
class ConfigError : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

constexpr uint32_t kWarpSize = 32;
constexpr uint32_t kLineBytes = 128;
constexpr uint32_t kSectorBytes = 32;
constexpr uint32_t kUnits = unit_count;

// Issue interval and latency of a functional unit, in cycles of the core clock, which is the only clock.
struct UnitTiming {
    uint32_t latency = 0;   // from issue to a dependent instruction's issue
    uint32_t interval = 0;  // between two issues of one scheduler to the unit
};

struct GpuConfig {
    std::string name;
    uint32_t sms = 0;
    uint32_t schedulers_per_sm = 0;
    uint32_t max_warps_per_sm = 0;
    uint32_t max_ctas_per_sm = 0;
    uint32_t registers_per_sm = 0;
    uint32_t register_allocation_unit = 0;  // registers, per warp
    uint32_t shared_memory_per_sm = 0;      // bytes
    uint32_t shared_allocation_unit = 0;    // bytes, per CTA
    uint32_t launch_latency = 0;
    uint32_t cta_dispatch_interval = 0;
    UnitTiming units[kUnits];
    uint32_t shared_latency = 0;
    uint32_t constant_latency = 0;
    uint32_t texture_latency = 0;
    uint32_t l1_size = 0;  // bytes, per SM
    uint32_t l1_ways = 0;
    uint32_t l1_latency = 0;
    uint32_t l1_miss_interval = 0;
    uint32_t l1_invalidate_at_launch = 0;
    uint32_t l1_unified_size = 0;  // bytes of L1 and shared memory together; 0: L1 has l1_size whatever a launch takes
    uint32_t l2_size = 0;          // bytes
    uint32_t l2_ways = 0;
    uint32_t l2_latency = 0;
    uint32_t l2_banks = 0;
    uint32_t l2_interval = 0;
    uint32_t dram_latency = 0;
    uint32_t dram_channels = 0;
    uint32_t dram_bytes_per_cycle = 0;  // per channel

    UnitTiming& unit(Unit u) { return units[static_cast<uint32_t>(u)]; }
    const UnitTiming& unit(Unit u) const { return units[static_cast<uint32_t>(u)]; }

    // Identity of the simulated GPU and of this model's version, 16 hexadecimal digits: equal hashes, equal cycles.
    std::string hash() const;
    // Writes the configuration as a file that reads back as the same one.
    std::string text() const;
    // Lists every key with its value, in the order of the configuration file.
    std::vector<std::pair<std::string, uint32_t>> values() const;
};

// Raised whenever the same configuration would give other cycles, other counters, or other names of them: part of the
// keys of cached predictions.
constexpr const char* kModelVersion = "4";

// Copy of a text without blanks at its beginning and end.
std::string trimmed(const std::string& text);

// Reads a configuration file. Throws ConfigError for an unknown, missing or repeated key, a wrong type, or a value out
// of range.
GpuConfig read_config(const std::string& path);
// Reads the text of a configuration file. Throws ConfigError.
std::string read_config_file(const std::string& path);
// Parses a configuration; `where` names the text in messages. Throws ConfigError.
GpuConfig parse_config(const std::string& text, const std::string& where);

}  // namespace kernelpoint::fast_model
