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

// Caches that determine the times of an SM's loads; defaults apply if a configuration does not set them.
struct CacheInfo {
    uint32_t l1_sets = 128, l1_ways = 6, l1_latency = 30;
    uint32_t last_level_sets = 128 * 12, last_level_ways = 24, last_level_latency = 200;  // of all its parts
};

struct SmInfo {
    Residency residency;
    PredictorInfo predictor;
    CacheInfo caches;
};

// Branch predictor of one SM, in the form of kp_predictor.
struct PredictorState {
    uint32_t history;
    const std::vector<uint8_t>& counters;
};

// States of all SMs of a simulator along one list.
class SmStates {
public:
    virtual ~SmStates() = default;
    // Branch predictor of each SM before a launch; valid until the next call.
    virtual std::vector<PredictorState> before(uint64_t launch) = 0;
    // Replaces the instruction fetches in a walk by the code that the caches contain before this launch.
    virtual void set_fetches(std::vector<Touch>& touches) const = 0;
};

class SmStateProvider {
public:
    virtual ~SmStateProvider() = default;
    virtual const char* name() const = 0;  // of the trace format
    // Reads the footprint of a trace with the accesses of each SM kept apart. Throws TraceError.
    virtual Footprint footprint(const std::string& path, const Residency& residency) const = 0;
    // Makes the states along a list. `trained`: states recorded with the list's predictions; without them the list is
    // run once. `refuse` is called for each unreadable trace.
    using Refuse = std::function<void(uint32_t trace, const std::string& path, const std::string& reason)>;
    virtual std::unique_ptr<SmStates> follow(const History& history, const SmInfo& sms, const std::string& trained,
                                             uint64_t memory_bytes, Refuse refuse) const = 0;
};

// Provider of SM states for a trace format. Throws TraceError if the format has none.
const SmStateProvider& sm_state_provider(const std::string& trace_path);

}  // namespace kernelpoint::replay
