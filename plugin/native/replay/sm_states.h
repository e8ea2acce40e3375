// State that SMs keep between launches, which the walk back over a list does not tell: what branch predictors have
// learned, and the contents of instruction caches. Simulators that keep such state provide it for their trace format.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "native/replay/footprint.h"
#include "native/replay/history.h"

namespace kernelpoint::replay {

struct PredictorInfo {
    uint32_t history_bits = 0;  // 0: the SMs have none that learns, and are never wrong
    uint32_t counter_bits = 2;
};

// The caches that the times of an SM's loads depend on; the defaults where a configuration leaves them open.
struct CacheInfo {
    uint32_t l1_sets = 128, l1_ways = 6, l1_latency = 30;
    uint32_t last_level_sets = 128 * 12, last_level_ways = 24, last_level_latency = 200;  // of all its parts
};

struct SmInfo {
    Residency residency;
    PredictorInfo predictor;
    CacheInfo caches;
};

// Branch predictor of one SM, as kp_predictor hands it over.
struct PredictorState {
    uint32_t history;
    const std::vector<uint8_t>& counters;
};

// The SMs of a simulator along one list.
class SmStates {
public:
    virtual ~SmStates() = default;
    // The predictor of each SM before a launch; they live until the next call.
    virtual std::vector<PredictorState> before(uint64_t launch) = 0;
    // Puts the code that caches hold before this launch in the place of a walk's fetches.
    virtual void set_fetches(std::vector<Touch>& touches) const = 0;
};

class SmStateProvider {
public:
    virtual ~SmStateProvider() = default;
    virtual const char* name() const = 0;  // of the trace format
    // The footprint of a trace, as read_footprint gives it, with the accesses of each SM kept apart. Throws TraceError.
    virtual Footprint footprint(const std::string& path, const Residency& residency) const = 0;
    // `trained`: states that were recorded with the list's predictions; without them the list is passed once. `refuse`
    // is called for each trace that cannot be read.
    using Refuse = std::function<void(uint32_t trace, const std::string& path, const std::string& reason)>;
    virtual std::unique_ptr<SmStates> follow(const History& history, const SmInfo& sms, const std::string& trained,
                                             uint64_t memory_bytes, Refuse refuse) const = 0;
};

// The provider for the format of a trace. Throws TraceError where the format has none.
const SmStateProvider& sm_state_provider(const std::string& trace_path);

}  // namespace kernelpoint::replay
