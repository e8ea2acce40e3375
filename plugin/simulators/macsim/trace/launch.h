// The text files of a launch in MacSim's layout: which warps it has, and what it was.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "native/trace/trace.h"

namespace kernelpoint::macsim {

struct WarpEntry {
    uint32_t id;       // CTA number * 65536 + warp of the CTA
    uint64_t records;  // of its file
};

struct LaunchFiles {
    std::string folder;
    // From kernel_names.txt beside the folder. Model: older tracers write none; then the grid is as many CTAs in a row
    // as there are, a block as large as the largest CTA, registers and shared memory are 0, and the name is left empty
    // (the reader makes one of the address of the kernel's code).
    LaunchHeader header;
    std::vector<WarpEntry> warps;  // by id
};

// Reads the files of a launch; `path` is its trace.txt. Throws TraceError.
LaunchFiles read_launch(const std::string& path);

// Opens a reader of a launch's records.
std::unique_ptr<TraceReader> open_launch(const std::string& path);

// Reads N from a folder name Kernel<N> in a path; false if the folder has another name.
bool launch_number(const std::string& path, uint64_t& number);

}  // namespace kernelpoint::macsim
