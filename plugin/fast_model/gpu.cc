#include "fast_model/gpu.h"

#include <algorithm>

#include "native/trace/interruption.h"

namespace kernelpoint::fast_model {

Gpu::Gpu(const GpuConfig& config)
    : config_(config), memory_(config_, counters_), program_(config_), next_event_(config_.sms, kNever) {
    sms_.reserve(config_.sms);
    for (uint32_t id = 0; id < config_.sms; ++id) sms_.emplace_back(config_, id, program_, memory_, counters_);
}

void Gpu::replay(const kp_touch* touches, uint64_t count) {
    static_assert(kLineBytes == KP_LINE_BYTES && kSectorBytes == KP_SECTOR_BYTES, "touches are of the model's lines");
    memory_.empty();
    for (const kp_touch* touch = touches; touch != touches + count; ++touch) {
        if (touch->copied) {
            copy_from_host(touch->line, kLineBytes);
        } else {
            memory_.touch({touch->line / kLineBytes, touch->touched}, touch->written);
        }
    }
}

const LaunchResult& Gpu::run(const std::string& trace_path, Cycles interval, const std::function<void()>& at_interval) {
    constexpr Cycles between_checks = 10000;  // of an interruption
    try {
        start(trace_path);
        Cycles check_at = between_checks, report_at = interval != 0 ? interval : kNever;
        while (!advance(std::min(check_at, report_at))) {
            if (cycles() >= report_at) {
                at_interval();
                report_at += interval;
            }
            if (cycles() >= check_at) {
                interruption_point();
                check_at += between_checks;
            }
        }
    } catch (...) {
        abandon();
        throw;
    }
    return result_;
}

void Gpu::start(const std::string& trace_path) {
    auto reader = open_trace(trace_path);
    demand_ = CtaDemand(config_, reader->header());
    const std::string excess = demand_.excess(config_);
    if (!excess.empty()) throw TraceError(trace_path, 0, "a CTA of this launch fits on no SM, " + excess);
    reader_ = std::move(reader);
    trace_path_ = trace_path;
    program_.start(reader_->header());
    counters_ = Counters{};
    const uint64_t residency = demand_.residency(config_);
    memory_.start_launch(residency * demand_.shared_memory);
    for (Sm& sm : sms_) sm.start_launch(residency);
    instructions_before_ += instructions();
    ctas_completed_ = 0;
    next_sm_ = 0;
    exhausted_ = stopped_ = false;
    started_at_ = now_;
    dispatcher_free_ = now_ + config_.launch_latency;
    dispatch();
}

// Simulates up to `cycles` since the start of the launch; true when it is complete.
bool Gpu::advance(Cycles cycles) {
    const Cycles until = started_at_ + cycles;
    Cycles next = kNever;
    for (const uint32_t i : active_) next = std::min(next, next_event_[i]);
    while (next != kNever) {
        if (next > until) {
            now_ = std::max(now_, until);
            return false;
        }
        now_ = next;
        next = step();
    }
    if (ctas_completed_ < counters_.ctas) report_deadlock();
    complete();
    return true;
}

// Returns when something happens next.
Cycles Gpu::step() {
    if (next_retirement_ <= now_) {
        retire();
        dispatch();
    }
    Cycles next = kNever;
    for (const uint32_t i : active_) {
        if (next_event_[i] <= now_) {
            sms_[i].issue(now_);
            next_event_[i] = sms_[i].next_event();
            next_retirement_ = std::min(next_retirement_, sms_[i].next_retirement());
        }
        next = std::min(next, next_event_[i]);
    }
    return next;
}

void Gpu::retire() {
    const size_t before = pool_.size();
    next_retirement_ = kNever;
    for (const uint32_t i : active_) {
        if (sms_[i].next_retirement() <= now_) {
            sms_[i].retire(now_, pool_);
            next_event_[i] = sms_[i].next_event();
        }
        next_retirement_ = std::min(next_retirement_, sms_[i].next_retirement());
    }
    ctas_completed_ += pool_.size() - before;
}

// Round robin over the SMs, CTAs in the order of the trace.
void Gpu::dispatch() {
    while (!exhausted_ && !stopped_) {
        Sm* sm = next_free_sm();
        if (sm == nullptr || !read_cta()) break;
        const Cycles start = std::max(now_, dispatcher_free_);
        dispatcher_free_ = start + config_.cta_dispatch_interval;
        sm->place(std::move(read_ahead_), start);
        next_event_[sm - sms_.data()] = sm->next_event();
        next_retirement_ = std::min(next_retirement_, sm->next_retirement());
        ++counters_.ctas;
    }
    active_.clear();
    for (uint32_t i = 0; i < sms_.size(); ++i)
        if (!sms_[i].empty()) active_.push_back(i);
}

bool Gpu::read_cta() {
    if (!pool_.empty()) {
        read_ahead_ = std::move(pool_.back());
        pool_.pop_back();
    } else {
        read_ahead_ = std::make_unique<ResidentCta>();
    }
    if (!reader_->next(trace_)) {
        exhausted_ = true;  // whatever the grid says
        return false;
    }
    if (trace_.warps.size() > demand_.warps) {
        throw TraceError(trace_path_, 0,
                         "a CTA has " + std::to_string(trace_.warps.size()) +
                             " warps; allowed by its block: " + std::to_string(demand_.warps));
    }
    program_.decode(trace_, reader_->opcodes(), read_ahead_->decoded);
    return true;
}

Sm* Gpu::next_free_sm() {
    for (size_t tried = 0; tried < sms_.size(); ++tried) {
        Sm& sm = sms_[next_sm_];
        next_sm_ = (next_sm_ + 1) % sms_.size();
        if (sm.fits()) return &sm;
    }
    return nullptr;
}

uint64_t Gpu::instructions() const {
    uint64_t total = 0;
    for (const Sm& sm : sms_) total += sm.instructions();
    return total - instructions_before_;
}

void Gpu::complete() {
    result_.kernel_name = header().kernel_name;
    result_.cycles = cycles();
    result_.instructions = instructions();
    result_.counters = counters_;
    result_.waited.fill(0);
    for (const Sm& sm : sms_) sm.add_waited(result_.waited);
    result_.stopped = stopped_;
    forget_launch();
}

void Gpu::stop_issuing() {
    if (!exhausted_ && !stopped_) stopped_ = read_cta();
}

// Drops the launch in flight.
void Gpu::abandon() {
    for (Sm& sm : sms_) sm.clear();
    memory_.l2().settle();
    std::fill(next_event_.begin(), next_event_.end(), kNever);
    next_retirement_ = kNever;
    active_.clear();
    forget_launch();
}

void Gpu::forget_launch() {
    started_at_ = now_;
    reader_.reset();
    read_ahead_.reset();
    if (pool_.size() > sms_.size()) pool_.resize(sms_.size());  // the buffers that small launches use again and again
}

void Gpu::report_deadlock() const {
    for (const Sm& sm : sms_) {
        const ResidentCta* cta = sm.waiting_cta();
        if (cta == nullptr) continue;
        const Dim3& index = cta->decoded.index;
        throw TraceError(trace_path_, 0,
                         "deadlock in CTA " + std::to_string(index.x) + "," + std::to_string(index.y) + "," +
                             std::to_string(index.z) + ": " + std::to_string(cta->waiting) + " warps wait at a barrier that " +
                             std::to_string(cta->never_exit) +
                             " warps never reach, because their instructions end without EXIT");
    }
    throw TraceError(trace_path_, 0, "deadlock: CTAs are resident, but nothing can happen");
}

}  // namespace kernelpoint::fast_model
