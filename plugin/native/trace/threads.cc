#include "native/trace/threads.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <future>
#include <mutex>
#include <system_error>
#include <vector>

#include "native/trace/interruption.h"

namespace kernelpoint {

void in_parallel(uint64_t count, unsigned threads, const std::function<void(uint64_t)>& work,
                 const std::function<void(uint64_t)>& report) {
    std::atomic<uint64_t> next{0}, done{0};
    std::atomic<bool> stopped{false};
    std::mutex mutex;
    std::exception_ptr error;
    // Because of the exception that is being handled: the first one counts.
    const auto stop = [&] {
        const std::lock_guard<std::mutex> held(mutex);
        if (!error) error = std::current_exception();
        stopped = true;
    };
    const auto run = [&] {
        const Interruption interruption([&] {
            if (stopped) throw Interrupted();
        });
        try {
            for (uint64_t i = next++; i < count && !stopped; i = next++, ++done) work(i);
        } catch (...) {
            stop();
        }
    };
    std::vector<std::future<void>> running;
    try {
        while (running.size() < std::min<uint64_t>(std::max(threads, 1u), std::max<uint64_t>(count, 1)))
            running.push_back(std::async(std::launch::async, run));
    } catch (const std::system_error&) {  // no more threads can be had
        if (running.empty()) run();
    }
    for (const std::future<void>& thread : running) {
        while (thread.wait_for(kBetweenReports) != std::future_status::ready) {
            try {
                if (!stopped) report(done);
            } catch (...) {
                stop();
            }
        }
    }
    if (error) std::rethrow_exception(error);
}

}  // namespace kernelpoint
