#include "fast_model/list_run.h"

#include <chrono>

namespace kernelpoint::fast_model {
namespace {

constexpr Cycles kCyclesBetweenChecks = 10000;
constexpr std::chrono::milliseconds kBetweenCalls{100};

// Asks `goes_on`, but not more often than it needs to be asked.
class Patience {
public:
    explicit Patience(const GoesOn& goes_on) : goes_on_(goes_on), asked_at_(std::chrono::steady_clock::now()) {}
    bool ends(uint64_t launches) {
        const auto now = std::chrono::steady_clock::now();
        if (now - asked_at_ < kBetweenCalls) return false;
        asked_at_ = now;
        return !goes_on_(launches);
    }

private:
    const GoesOn& goes_on_;
    std::chrono::steady_clock::time_point asked_at_;
};

// False when the run is to end.
bool run_launch(Gpu& gpu, const std::string& path, uint64_t launch, Patience& patience) {
    gpu.start(path);
    for (Cycles until = kCyclesBetweenChecks; !gpu.advance(until); until += kCyclesBetweenChecks) {
        if (patience.ends(launch)) return false;
    }
    return !patience.ends(launch + 1);
}

}  // namespace

ListResult run_list(const GpuConfig& config, const TraceList& list, const GoesOn& goes_on) {
    ListResult result;
    result.cycles.resize(list.launches);
    result.instructions.resize(list.launches);
    result.counters.resize(list.launches);
    Gpu gpu(config);
    Patience patience(goes_on);
    uint64_t launch = 0;
    for (const TraceList::Command& command : list.commands) {
        if (command.kind == TraceList::Kind::memcpy) {
            gpu.copy_from_host(command.address, command.bytes);
            continue;
        }
        const uint64_t index = launch++;
        if (command.path.empty()) continue;
        try {
            if (!run_launch(gpu, command.path, index, patience)) {
                result.ended_early = true;
                return result;
            }
            result.cycles[index] = gpu.result().cycles;
            result.instructions[index] = gpu.result().instructions;
            result.counters[index] = gpu.result().counters;
        } catch (const std::runtime_error& error) {  // TraceError, LaunchError
            gpu.abandon();
            result.failures.emplace_back(index, error.what());
        }
    }
    return result;
}

}  // namespace kernelpoint::fast_model
