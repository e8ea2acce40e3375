#include "native/replay/footprint_cache.h"

#include "native/registered.h"
#include "native/replay/sm_states.h"
#include "native/trace/format.h"

namespace kernelpoint::replay {

const SmStateProvider& sm_state_provider(const std::string& trace_path) {
    const char* const format = format_of_launch(trace_path).name();
    const SmStateProvider* found = implementation<SmStateProvider>(format);
    if (found == nullptr)
        throw TraceError(trace_path, 0, std::string("is in the format of ") + format + ", which tells no SMs apart");
    return *found;
}

Footprint read_footprint(const std::string& trace_path, const Residency& residency, bool by_sm) {
    return by_sm ? sm_state_provider(trace_path).footprint(trace_path, residency)
                 : read_footprint(trace_path, residency);
}

FootprintCache::FootprintCache(size_t traces, const Residency& residency, bool by_sm, uint64_t memory_bytes,
                               FootprintStore store)
    : residency_(residency),
      by_sm_(by_sm),
      most_bytes_(memory_bytes),
      store_(std::move(store)),
      unreadable_(traces, false),
      grids_(traces) {}

const Grid& FootprintCache::grid(uint32_t trace, const std::string& path) {
    if (!grids_[trace]) touches(trace, path);
    return *grids_[trace];
}

const std::vector<LineTouch>& FootprintCache::touches(uint32_t trace, const std::string& path) {
    if (const auto kept = kept_.find(trace); kept != kept_.end()) {
        unpack(kept->second, present_);
        return present_.touches;
    }
    std::string packed;
    if (unreadable_[trace] || (!load(path, packed) && !read(trace, path, packed))) {
        present_ = {};
        grids_[trace] = Grid{};
        return present_.touches;
    }
    grids_[trace] = present_.grid;
    keep(trace, std::move(packed));
    return present_.touches;
}

bool FootprintCache::load(const std::string& path, std::string& packed) {
    return store_.load(path, packed) && unpack(packed, present_);
}

bool FootprintCache::read(uint32_t trace, const std::string& path, std::string& packed) {
    try {
        present_ = read_footprint(path, residency_, by_sm_);
    } catch (const TraceError& error) {
        refuse(trace, path, error.what());
        return false;
    }
    packed = pack(present_);
    store_.save(path, packed);
    return true;
}

void FootprintCache::refuse(uint32_t trace, const std::string& path, const std::string& reason) {
    if (unreadable_[trace]) return;
    unreadable_[trace] = true;
    store_.refuse(path, reason);
}

void FootprintCache::keep(uint32_t trace, std::string packed) {
    if (packed.size() > most_bytes_) return;
    if (bytes_ + packed.size() > most_bytes_) {
        kept_.clear();
        bytes_ = 0;
    }
    bytes_ += packed.size();
    kept_.emplace(trace, std::move(packed));
}

}  // namespace kernelpoint::replay
