#include "fast_model/list/walk.h"

namespace kernelpoint::fast_model {

void Walk::keep_state(uint64_t launch) {
    for (; copied_ < list_.copies.size() && list_.launches_before(copied_) <= launch; ++copied_)
        gpu_.copy_from_host(list_.copies[copied_].address, list_.copies[copied_].bytes);
}

const LaunchResult& Walk::simulate(uint64_t launch, Cycles interval, const std::function<void()>& at_interval) {
    size_t first = 0, last = list_.copies.size();  // the copies before a launch come first
    while (first < last) {
        const size_t middle = first + (last - first) / 2;
        if (list_.launches_before(middle) <= launch)
            first = middle + 1;
        else
            last = middle;
    }
    copied_ = first;
    return gpu_.run(path(launch), interval, at_interval);
}

}  // namespace kernelpoint::fast_model
