// The launches of a program by what they run, and the copies among them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace kernelpoint {

constexpr uint32_t kNoContent = UINT32_MAX;

// Launches of a list. Launches with equal traces share one content, which is read from one of them.
struct Launches {
    // A copy from the host to the device.
    struct Copy {
        uint64_t command;  // position among all launches and copies
        uint64_t address, bytes;
    };

    std::vector<uint32_t> contents;  // of each launch, in program order; kNoContent where it was not traced
    std::vector<std::string> paths;  // a trace of each content
    std::vector<int64_t> numbers;    // of each path of a list: N of kernel-N or Kernel<N>, the tracer's; -1 without one
    std::vector<Copy> copies;        // in program order

    const std::string& path(uint64_t launch) const { return paths[contents[launch]]; }

    // Adds a trace to the list; returns the number of its content, shared by equal traces.
    uint32_t add_path(std::string path, int64_t number = -1) {
        paths.push_back(std::move(path));
        numbers.push_back(number);
        return static_cast<uint32_t>(paths.size() - 1);
    }
    void add_copy(uint64_t address, uint64_t bytes) { copies.push_back({contents.size() + copies.size(), address, bytes}); }
    // Number of launches before each copy.
    uint64_t launches_before(size_t copy) const { return copies[copy].command - copy; }

    // Calls `launch` with the index of each launch and `copy` with each copy, in program order.
    template <typename OnLaunch, typename OnCopy>
    void each(const OnLaunch& launch, const OnCopy& copy) const {
        size_t copied = 0;
        for (uint64_t index = 0; index < contents.size(); ++index) {
            for (; copied < copies.size() && copies[copied].command == index + copied; ++copied) copy(copies[copied]);
            launch(index);
        }
        for (; copied < copies.size(); ++copied) copy(copies[copied]);
    }
};

}  // namespace kernelpoint
