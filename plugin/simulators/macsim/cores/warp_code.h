// The instructions of a launch in MacSim's layout, as its cores see them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "simulators/macsim/trace/record.h"

namespace kernelpoint::replay::macsim {

// Kinds of instructions. `other_jump` is always predicted, `jump` is never learned.
enum class Action : uint8_t { compute, shared, constant, load, store, store_around, branch, jump, other_jump, barrier };

inline bool leads_elsewhere(Action action) {
    return action == Action::branch || action == Action::jump || action == Action::other_jump;
}

// One warp instruction.
struct WarpInstruction {
    uint64_t pc = 0;
    uint32_t first_line = 0, line_count = 0;  // in LaunchCode::lines
    Action action = Action::compute;
    bool taken = false;
    uint8_t bank = 0;  // of shared memory
    uint16_t destination = kNoRegister;
    uint8_t source_count = 0;
    uint8_t sources[4] = {};

    static constexpr uint16_t kNoRegister = 256;
};

constexpr uint64_t kSharedBanks = 32;  // Model: of 4 bytes, as MacSim's shipped parameters have them

struct WarpCode {
    uint32_t first = 0, count = 0;  // in LaunchCode::instructions
};

struct CtaWarps {
    uint32_t number = 0;            // in the grid
    uint32_t first = 0, count = 0;  // in LaunchCode::warps
};

struct LaunchCode {
    std::vector<CtaWarps> ctas;
    std::vector<WarpCode> warps;
    std::vector<WarpInstruction> instructions;
    std::vector<uint64_t> lines;  // addresses of accesses

    uint64_t bytes() const {
        return instructions.size() * sizeof(WarpInstruction) + lines.size() * sizeof(uint64_t) +
               warps.size() * sizeof(WarpCode);
    }
};

// Reads the instructions of a trace. Model: as MacSim reads records. It leaves out each warp's last one. Of an access
// to several sectors it takes the further ones (records marked as floating point) and not the first. Accesses to
// shared and constant memory have no lines. Throws TraceError.
LaunchCode read_code(const std::string& trace_path);

// Cache of the instructions of a list's traces, read at the first use, within a bound on memory.
class CodeCache {
public:
    using Refuse = std::function<void(const std::string& reason)>;

    explicit CodeCache(uint64_t most_bytes) : most_bytes_(most_bytes) {}

    // Instructions of a trace, valid until the next call; NULL if it cannot be read, and then `refuse` is called.
    const LaunchCode* find(uint32_t trace, const std::string& path, const Refuse& refuse);

private:
    const uint64_t most_bytes_;
    uint64_t bytes_ = 0;
    std::unordered_map<uint32_t, LaunchCode> codes_;  // by trace
};

}  // namespace kernelpoint::replay::macsim
