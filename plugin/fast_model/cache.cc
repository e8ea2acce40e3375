#include "fast_model/cache.h"

#include <cstring>

#include "fast_model/config.h"

namespace kernelpoint::fast_model {

Cache::Cache(uint64_t bytes, uint32_t ways)
    : ways_(ways), index_(bytes / kLineBytes / ways), sets_(index_.divisor()), lines_(lines()) {}

void Cache::set_size(uint64_t bytes) {
    index_ = Modulo(bytes / kLineBytes / ways_);
    clear();
}

}  // namespace kernelpoint::fast_model
