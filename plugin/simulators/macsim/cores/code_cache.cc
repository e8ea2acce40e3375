#include "simulators/macsim/cores/code_cache.h"

#include <utility>

#include "native/trace/trace.h"

namespace kernelpoint::replay::macsim {

const LaunchCode* CodeCache::find(uint32_t trace, const std::string& path, const Refuse& refuse) {
    const auto known = codes_.find(trace);
    if (known != codes_.end()) return &known->second;
    try {
        LaunchCode code = read_code(path);
        if (bytes_ + code.bytes() > most_bytes_) {
            codes_.clear();
            bytes_ = 0;
        }
        bytes_ += code.bytes();
        return &(codes_[trace] = std::move(code));
    } catch (const TraceError& error) {
        refuse(error.what());
        return nullptr;
    }
}

}  // namespace kernelpoint::replay::macsim
