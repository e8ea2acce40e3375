#include "native/trace/threads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "native/trace/interruption.h"

namespace kernelpoint {
namespace {

class Pool {
public:
    Pool(uint64_t count, const std::function<void(uint64_t)>& work) : count_(count), work_(work) {}

    void start(unsigned threads) {
        running_ = threads;
        try {
            for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
        } catch (const std::system_error&) {  // no more threads can be had
            leave(threads - threads_.size());
        }
        if (!threads_.empty()) return;
        running_ = 1;
        run();
    }
    void wait(const std::function<void(uint64_t)>& report) {
        std::unique_lock<std::mutex> held(mutex_);
        while (!ended_.wait_for(held, kBetweenReports, [this] { return running_ == 0; })) {
            held.unlock();
            try {
                if (!stopped_) report(done_);
            } catch (...) {
                stop();
            }
            held.lock();
        }
        held.unlock();
        for (std::thread& thread : threads_) thread.join();
        if (error_) std::rethrow_exception(error_);
    }

private:
    void run() {
        const Interruption interruption([this] {
            if (stopped_) throw Interrupted();
        });
        try {
            for (uint64_t i = next_++; i < count_ && !stopped_; i = next_++, ++done_) work_(i);
        } catch (...) {
            stop();
        }
        leave(1);
    }

    // Because of the exception that is being handled: the first one counts.
    void stop() {
        const std::lock_guard<std::mutex> held(mutex_);
        if (!error_) error_ = std::current_exception();
        stopped_ = true;
    }

    void leave(size_t threads) {
        const std::lock_guard<std::mutex> held(mutex_);
        running_ -= threads;
        if (running_ == 0) ended_.notify_all();
    }

    const uint64_t count_;
    const std::function<void(uint64_t)>& work_;
    std::atomic<uint64_t> next_{0}, done_{0};
    std::atomic<bool> stopped_{false};
    std::mutex mutex_;
    std::condition_variable ended_;
    size_t running_ = 0;
    std::exception_ptr error_;
    std::vector<std::thread> threads_;
};

}  // namespace

void in_parallel(uint64_t count, unsigned threads, const std::function<void(uint64_t)>& work,
                 const std::function<void(uint64_t)>& report) {
    Pool pool(count, work);
    pool.start(static_cast<unsigned>(std::min<uint64_t>(std::max(threads, 1u), std::max<uint64_t>(count, 1))));
    pool.wait(report);
}

}  // namespace kernelpoint
