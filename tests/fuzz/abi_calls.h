// Sequences of calls of abi.h that an input stands for: right ones and wrong ones, and the promises of every status.
//
// A struct lies in memory of exactly the size that it states, so that the address sanitiser sees one byte too many.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "invariants.h"
#include "kernelpoint/state.h"

namespace fuzz {

// The tables of the plugin that is linked.
inline const kp_core& core() {
    static const kp_core* const table = kp_connect(KP_ABI_VERSION, nullptr);
    return *table;
}
inline const kp_state& state() {
    static const auto* const table = static_cast<const kp_state*>(core().extension(KP_STATE));
    return *table;
}

// The input as a source of choices; zeros behind its end.
class Choices {
public:
    Choices(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}

    bool left() const { return at_ != end_; }
    uint8_t byte() { return left() ? *at_++ : 0; }
    bool seldom() { return byte() > 240; }
    uint64_t below(uint64_t count) { return byte() % count; }
    template <typename T>
    T of(std::initializer_list<T> values) {
        return values.begin()[below(values.size())];
    }
    uint64_t number() {
        const uint64_t last = ~uint64_t{0};
        return of<uint64_t>({0, 1, 2, 5, 1000, 1u << 31, 0xffffffff, uint64_t{1} << 40, uint64_t{1} << 53, uint64_t{1} << 63,
                             last - 2, last - 1, last});
    }
    const char* text() {
        static const std::string length(5000, 'x');
        return of<const char*>({"reads", "", nullptr, "cycles", "\xff\xfe", "%s%n", "two\nlines", length.c_str(), "[/x]"});
    }
    double amount() { return of<double>({1, 0, 1000, -1, 1e308, 5e-324, INFINITY, -INFINITY, NAN}); }

private:
    const uint8_t* at_;
    const uint8_t* end_;
};

// A struct of abi.h as a host holds it: memory of the size that it states, where that can be.
template <typename Struct>
class Held {
public:
    Held(Choices& choices, const Struct& full) {
        uint32_t size = sizeof(Struct);
        if (choices.seldom())
            size = choices.of<uint32_t>({0, 3, 4, 8, 15, 24, 40, 48, 72, 200, 4096, 4097, 1u << 31, 0xffffffff});
        const size_t room = size < 4 ? 4 : size > 4096 ? std::max<size_t>(sizeof(Struct), 8) : size;
        memory_.reset(new char[room]());
        std::memcpy(memory_.get(), &full, std::min(room, sizeof(Struct)));
        std::memcpy(memory_.get(), &size, sizeof size);
        null_ = choices.seldom();
        fits_ = !null_ && size >= sizeof(Struct) && size <= 4096;
    }

    Struct* get() { return null_ ? nullptr : reinterpret_cast<Struct*>(memory_.get()); }
    bool fits() const { return fits_; }

private:
    std::unique_ptr<char[]> memory_;
    bool null_, fits_;
};

// A host whose calls are chosen by the fuzz input. A stub in place of the plugin answers at random.
class Calls {
public:
    Calls(Choices& choices, uint32_t launches) : choices_(choices), launches_(launches) {}

    kp_session* session = nullptr;
    uint64_t answers[KP_PENDING - KP_EFAILED + 1] = {};  // calls, by status

    // Opens a session; a right host asks for it with right values most of the time.
    void open(const std::string& config, const char* list) {
        kp_host host{};
        const char* lists[] = {list, nullptr};
        const uint64_t counts[] = {choices_.seldom() ? choices_.number() : launches_, 3};
        const char* names[] = {"reads", choices_.text()};
        host.simulator = choices_.seldom() ? choices_.text() : choices_.of<const char*>({"fuzz", "fuzz", "macsim"});
        host.config_hash = choices_.seldom() ? choices_.text() : "gpu";
        host.flags = choices_.of<uint32_t>({KP_HOST_CAN_STOP, KP_HOST_CAN_STOP | KP_HOST_NEEDS_WHOLE_TRACES, 0,
                                            KP_HOST_CONCURRENT, KP_HOST_EXECUTES, KP_HOST_NO_TRACES | KP_HOST_STATELESS,
                                            KP_HOST_NO_TRACES | KP_HOST_STATELESS | KP_HOST_DETERMINISTIC, 0xffffffff});
        uint32_t architectures[256] = {70, static_cast<uint32_t>(choices_.number())};
        const int64_t shape[] = {3, -1};
        const double features[] = {1, choices_.amount()};
        const uint32_t feature_count = choices_.of<uint32_t>({0, 0, 1, 2});
        std::vector<kp_description> described(launches_ + 3);
        for (kp_description& one : described)
            one = {choices_.seldom() ? 4 : static_cast<uint32_t>(sizeof one),
                   choices_.of<uint32_t>({2, 1, 0}),
                   choices_.text(),
                   choices_.seldom() ? nullptr : shape,
                   choices_.number(),
                   choices_.seldom() ? choices_.amount() : 2.5,
                   choices_.seldom() ? nullptr : features,
                   feature_count};
        host.architectures = choices_.seldom() ? nullptr : architectures;
        host.architecture_count = choices_.seldom() ? choices_.number() : 0;
        host.process_count = choices_.seldom() ? static_cast<uint32_t>(choices_.number()) : 1;
        host.list_paths = host.process_count <= 2 && !choices_.seldom() ? lists : nullptr;
        host.launch_counts = host.process_count <= 2 && !choices_.seldom() ? counts : nullptr;
        // as many as the counts say: a host that states less reads beyond its own array
        const bool are_all = counts[0] == launches_ && host.process_count <= 2;
        host.descriptions = are_all && choices_.below(2) == 0 ? described.data() : nullptr;
        host.log = [](void*, const char* line) { require(line != nullptr); };
        host.counter_count = choices_.of<uint32_t>({1, 1, 0, 2});
        host.counter_names = choices_.seldom() ? nullptr : names;
        host.configuration = choices_.seldom() ? choices_.text() : nullptr;
        counter_count_ = host.counter_count;
        Held<kp_host> held(choices_, host);
        kp_session* opened = nullptr;
        const char* path = choices_.seldom() ? nullptr : config.c_str();
        kp_session** into = choices_.seldom() ? nullptr : &opened;
        const kp_status status =
            checked(choices_.below(2) == 0 ? core().open(path, held.get(), into) : open_with_state(path, held.get(), into));
        require((status == KP_OK) == (opened != nullptr));
        if (status != KP_OK) return;
        session = opened;
        last_ = KP_BEFORE_FIRST;
    }

    kp_status open_with_state(const char* path, const kp_host* host, kp_session** into) {
        const uint8_t bytes[] = {6, 0, 0, 0, 2, 0, 0, 0, 9};
        kp_kept kept{};
        kept.flags = static_cast<uint32_t>(choices_.seldom() ? choices_.number() : choices_.below(16));
        kept.lines = choices_.of<uint64_t>({64, 0, 1, 1u << 20});
        kept.sms = static_cast<uint32_t>(choices_.of<uint64_t>({4, 0, 1, 0xffffffff}));
        kept.not_replayed = choices_.seldom() ? choices_.text() : nullptr;
        kept.byte_count = choices_.of<uint32_t>({0, 8, 9, 0xffffffff});
        kept.bytes = choices_.seldom() ? nullptr : bytes;
        Held<kp_kept> held(choices_, kept);
        return state().open(path, host, held.get(), into);
    }

    // One call of any function.
    void step() {
        using Step = void (Calls::*)();
        static constexpr Step steps[] = {&Calls::walk,     &Calls::walk,     &Calls::walk,     &Calls::next,
                                         &Calls::next,     &Calls::progress, &Calls::complete, &Calls::complete,
                                         &Calls::complete, &Calls::abort,    &Calls::replay,   &Calls::cost,
                                         &Calls::finish,   &Calls::estimate, &Calls::estimate};
        (this->*steps[choices_.below(std::size(steps))])();
    }

private:
    // Checks the promises of every status.
    kp_status checked(kp_status status) {
        const std::string reason = status < 0 ? core().last_error() : "none";
        const bool is_clear = !reason.empty() && reason.size() < 20000 && reason.find("Traceback") == std::string::npos;
        if (!is_clear) std::fprintf(stderr, "status %d: %s\n", status, reason.c_str());
        require(status >= KP_EFAILED && status <= KP_PENDING && is_clear);
        ++answers[status - KP_EFAILED];
        return status;
    }

    kp_session* held_session() { return choices_.seldom() ? nullptr : session; }
    uint64_t any_launch() { return choices_.seldom() ? choices_.number() : choices_.below(launches_); }
    uint32_t process() { return choices_.seldom() ? static_cast<uint32_t>(choices_.number()) : 0; }

    // As a host does it: to the next launch, and a decision.
    void walk() { next(session, 0, last_); }

    void next() {
        next(held_session(), process(), choices_.below(2) == 0 ? any_launch() : choices_.of({KP_END_OF_LIST, KP_BEFORE_FIRST}));
    }

    void next(kp_session* asked, uint32_t process, uint64_t after) {
        kp_position position{};
        position.process = process;
        position.after = after;
        position.trace_path = choices_.of<const char*>({nullptr, "/no/such/trace", "", "/dev/zero"});
        kp_order order{};
        order.action = 77;
        Held<kp_position> given(choices_, position);
        Held<kp_order> answer(choices_, order);
        const kp_status status = checked(core().next(asked, given.get(), answer.get()));
        require(status == KP_OK || !answer.fits() || answer.get()->action == KP_SIMULATE);
        if (status == KP_OK && answer.fits() && process == 0) last_ = answer.get()->index;
    }

    void progress() {
        kp_progress progress{};
        progress.process = process();
        progress.index = any_launch();
        progress.cycles = choices_.number();
        progress.instructions = choices_.number();
        progress.ctas_issued = choices_.number();
        progress.ctas_completed = choices_.number();
        progress.ctas_total = choices_.number();
        Held<kp_progress> given(choices_, progress);
        uint32_t action = 77;
        checked(core().progress(held_session(), given.get(), choices_.seldom() ? nullptr : &action));
        require(action == 77 || action <= KP_STOP);
    }

    void complete() {
        const double counters[] = {choices_.seldom() ? choices_.amount() : 10, 1};
        kp_result result{};
        result.process = process();
        result.index = any_launch();
        result.flags = choices_.seldom() ? 0xffffffff : choices_.below(8) == 7;
        result.cycles = choices_.seldom() ? choices_.number() : 1000 + choices_.byte();
        result.instructions = choices_.seldom() ? choices_.number() : 10;
        result.counter_count = choices_.seldom() ? choices_.of<uint32_t>({0, 1, 2}) : counter_count_;
        result.counters = choices_.seldom() ? nullptr : counters;
        Held<kp_result> given(choices_, result);
        checked(core().complete(held_session(), given.get()));
    }

    void abort() { checked(core().abort(held_session(), process(), any_launch(), choices_.text())); }

    // Every byte that is handed out can be read.
    void replay() {
        kp_replay asked{};
        asked.touch_size = choices_.seldom() ? static_cast<uint32_t>(choices_.number()) : sizeof(kp_touch);
        asked.grid_size = choices_.seldom() ? 24 : sizeof(kp_grid);
        Held<kp_replay> room(choices_, asked);
        if (checked(state().before(held_session(), process(), any_launch(), room.get())) != KP_OK || !room.fits()) return;
        const kp_replay& replay = *room.get();
        uint64_t sum = 0;
        for (uint64_t i = 0; i < replay.touch_count; ++i) {
            kp_touch touch;
            std::memcpy(&touch, reinterpret_cast<const char*>(replay.touches) + i * replay.touch_size, sizeof touch);
            require((touch.written & ~touch.touched) == 0);
            sum += touch.line;
        }
        for (uint64_t i = 0; i < replay.byte_count; ++i) sum += static_cast<const uint8_t*>(replay.bytes)[i];
        for (uint64_t i = 0; i < replay.grid_count * replay.grid_size; ++i)
            sum += reinterpret_cast<const uint8_t*>(replay.grids)[i];
        static volatile uint64_t seen;
        seen = sum;
    }

    void cost() {
        Held<kp_cost> room(choices_, {});
        const kp_status status = checked(core().cost(held_session(), process(), any_launch(), room.get()));
        const char* kernel = status == KP_OK && room.fits() ? room.get()->kernel : nullptr;
        require(kernel == nullptr || std::strlen(kernel) < 1u << 20);
    }

    void finish() {
        if (choices_.below(3) != 0) return;  // a sequence is worth more while it goes on
        Held<kp_summary> room(choices_, {});
        checked(core().finish(held_session(), choices_.below(2) == 0 ? process() : KP_ALL_PROCESSES, room.get()));
    }

    void estimate() {
        Held<kp_estimate> room(choices_, {});
        const uint32_t of = choices_.below(2) == 0 ? process() : KP_ALL_PROCESSES;
        checked(core().estimate(held_session(), of, static_cast<uint32_t>(choices_.number()), room.get()));
    }

    Choices& choices_;
    const uint32_t launches_;
    uint64_t last_ = KP_BEFORE_FIRST;
    uint32_t counter_count_ = 0;
};

}  // namespace fuzz
