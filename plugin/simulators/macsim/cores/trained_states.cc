#include "simulators/macsim/cores/trained_states.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace kernelpoint::replay::macsim {
namespace {

// Numbers that stand in `lines`, each by its difference from the one before.
void put_all(std::string& bytes, const std::vector<uint64_t>& lines) {
    put(bytes, lines.size());
    uint64_t before = 0;
    for (const uint64_t line : lines) {
        put(bytes, fold(static_cast<int64_t>(line - before)));
        before = line;
    }
}

bool get_all(Bytes& bytes, std::vector<uint64_t>& lines) {
    uint64_t count = 0, line = 0, number = 0;
    if (!bytes.get(count)) return false;
    lines.clear();
    for (; count > 0; --count) {
        if (!bytes.get(number)) return false;
        lines.push_back(line += static_cast<uint64_t>(unfold(number)));
    }
    return true;
}

std::vector<uint64_t> difference(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b) {
    std::vector<uint64_t> only_one;
    std::set_symmetric_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(only_one));
    return only_one;
}

}  // namespace

void StateRecorder::add(const std::vector<SmState>& sms, const LineSet& last_level) {
    for (size_t sm = 0; sm < sms.size(); ++sm) add_sm(sms[sm], before_[sm]);
    add_code(last_level);
}

// The history, the counters that changed, and the lines that were fetched since.
void StateRecorder::add_sm(const SmState& sm, SmState& before) {
    std::vector<uint8_t>& counters = before.predictor.counters;
    std::string changed;
    uint64_t count = 0, last = 0;
    if (counters != sm.predictor.counters)
        for (uint64_t i = 0; i < counters.size(); ++i) {
            if (counters[i] == sm.predictor.counters[i]) continue;
            counters[i] = sm.predictor.counters[i];
            put(changed, i - std::exchange(last, i));
            put(changed, counters[i]);
            ++count;
        }
    put(bytes_, sm.predictor.history);
    put(bytes_, count);
    bytes_ += changed;
    put_all(bytes_, sm.instructions.lines(before.instructions.uses()));
    before.instructions = sm.instructions;
}

void StateRecorder::add_code(const LineSet& last_level) {
    std::vector<uint64_t> code = last_level.lines();
    code.erase(std::remove_if(code.begin(), code.end(), [](uint64_t line) { return !is_code(line); }), code.end());
    std::sort(code.begin(), code.end());
    put_all(bytes_, difference(code_, code));
    code_ = std::move(code);
}

bool TrainedStates::seek(uint64_t launch) {
    if (launch < launch_) {
        rest_ = Bytes(bytes_);
        launch_ = 0;
        sms_ = beginning_;
        code_.clear();
    }
    while (launch_ < launch) {
        if (!step()) return false;
        ++launch_;
    }
    return true;
}

bool TrainedStates::holds_code(uint64_t address) const {
    return std::binary_search(code_.begin(), code_.end(), code_line(address));
}

bool TrainedStates::step() {
    for (SmState& sm : sms_)
        if (!step_sm(sm)) return false;
    return step_code();
}

bool TrainedStates::step_sm(SmState& sm) {
    uint64_t history = 0, count = 0, index = 0, step = 0, value = 0;
    if (!rest_.get(history) || !rest_.get(count)) return false;
    sm.predictor.history = static_cast<uint32_t>(history);
    for (; count > 0; --count) {
        if (!rest_.get(step) || !rest_.get(value)) return false;
        index += step;
        if (index >= sm.predictor.counters.size()) return false;
        sm.predictor.counters[index] = static_cast<uint8_t>(value);
    }
    std::vector<uint64_t> fetched;
    if (!get_all(rest_, fetched)) return false;
    for (const uint64_t line : fetched) sm.instructions.use(line);
    return true;
}

bool TrainedStates::step_code() {
    std::vector<uint64_t> changed;
    if (!get_all(rest_, changed)) return false;
    code_ = difference(code_, changed);
    return true;
}

}  // namespace kernelpoint::replay::macsim
