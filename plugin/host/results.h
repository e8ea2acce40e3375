// Results of the launches that were simulated: totals for standard output, and one CSV row per launch.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fast_model/gpu.h"

namespace kernelpoint::host {

// Sums over launches for standard output; counters by name.
struct Totals {
    uint64_t launches = 0;
    double cycles = 0, instructions = 0;
    std::vector<std::pair<std::string, double>> counters;

    void print() const;
};

class Results {
public:
    // Opens the CSV file unless `csv_path` is empty; throws ConfigError.
    explicit Results(const std::string& csv_path);
    // Adds the result of a launch; throws ConfigError if the CSV cannot be written.
    void add(uint64_t launch_index, const std::string& trace_path, const fast_model::LaunchResult& result);
    Totals totals() const;
    uint64_t cycles() const { return cycles_; }

private:
    void write_row(uint64_t launch_index, const std::string& trace_path, const fast_model::LaunchResult& result);

    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    const std::string csv_path_;
    std::unique_ptr<std::FILE, Close> csv_;
    uint64_t launches_ = 0, cycles_ = 0, instructions_ = 0;
    fast_model::Counters counters_;
};

}  // namespace kernelpoint::host
