// States that a list of launches leaves in the cores, recorded while it passes through their model: replay takes them
// from there and need not pass the list again.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "native/replay/varint.h"
#include "simulators/macsim/cores/core_state.h"

namespace kernelpoint::replay::macsim {

// Records how each launch changes the state that replay restores: predictors, instruction caches, and code in the last
// level. Some hundred bytes a launch; counters change few times in all.
class StateRecorder {
public:
    explicit StateRecorder(const std::vector<SmState>& beginning) : before_(beginning) {}

    // Records the state after a launch; launches come in program order.
    void add(const std::vector<SmState>& sms, const LineSet& last_level);

    const std::string& bytes() const { return bytes_; }

private:
    void add_sm(const SmState& sm, SmState& before);
    void add_code(const LineSet& last_level);

    std::vector<SmState> before_;
    std::vector<uint64_t> code_;  // lines of code in the last level, in their order
    std::string bytes_;
};

// Reader of what a StateRecorder wrote.
class TrainedStates {
public:
    TrainedStates(std::string bytes, const std::vector<SmState>& beginning)
        : bytes_(std::move(bytes)), beginning_(beginning), rest_(bytes_), sms_(beginning) {}

    // Moves to the state before launch `launch`; false if it was not recorded.
    bool seek(uint64_t launch);

    const std::vector<SmState>& sms() const { return sms_; }
    // True if the last level contains this code.
    bool holds_code(uint64_t address) const;

private:
    bool step();
    bool step_sm(SmState& sm);
    bool step_code();

    const std::string bytes_;
    const std::vector<SmState> beginning_;
    Bytes rest_;
    uint64_t launch_ = 0;  // the next one
    std::vector<SmState> sms_;
    std::vector<uint64_t> code_;
};

}  // namespace kernelpoint::replay::macsim
