// The launches of a program by what they run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kernelpoint {

constexpr uint32_t kNoContent = UINT32_MAX;

// Launches of equal traces run one content; it is read from one of them.
struct Launches {
    // From the host to the device.
    struct Copy {
        uint64_t command;  // position among all launches and copies
        uint64_t address, bytes;
    };

    std::vector<uint32_t> contents;  // of each launch, in program order; kNoContent where it was not traced
    std::vector<std::string> paths;  // a trace of each content
    std::vector<Copy> copies;        // in program order

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
