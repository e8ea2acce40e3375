// One function for each simulator whose options can be translated.
#pragma once

#include "fast_model/configuration/derive.h"
#include "fast_model/configuration/options.h"

namespace kernelpoint::fast_model {

Derived derive_from_accelsim(Options& options, const GpuConfig& base);
Derived derive_from_macsim(Options& options, const GpuConfig& base);

constexpr double kMost = 10000;  // cycles of a latency

bool begins_with_any(const std::string& key, const std::vector<std::string>& beginnings);

// `value` to the nearest integer from `least` to `most`.
uint32_t whole(double value, double least, double most);
// The size of a cache that holds `sets` * `ways` lines of `line` bytes, in lines of the model's; the ways it can have.
void set_cache(uint32_t& size, uint32_t& ways, double sets, double associativity, double line);

}  // namespace kernelpoint::fast_model
