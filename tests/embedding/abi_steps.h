// Steps of the scripted host that call one function of the ABI each, and print what it answers.
#ifndef KERNELPOINT_ABI_STEPS_H
#define KERNELPOINT_ABI_STEPS_H

#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "kernelpoint/loader.h"
#include "kernelpoint/state.h"
#include "process_state.h"

namespace {

kp_core core;
kp_session* session = nullptr;
kp_host host_info = {};
kp_kept kept = {};  // size 0: the host keeps no state
std::string plugin, config;

int number(const std::string& argument) {
    return argument.empty() ? 0 : std::stoi(argument);
}

void say_status(kp_status status) {
    say() << status;
    if (status < 0) std::cout << ' ' << core.last_error();
}

void log_line(void*, const char* line) {
    std::cout << "log " << line << '\n';
}

void load(const std::string&) {
    char problem[KP_MESSAGE_SIZE] = "";
    kp_load(&core, plugin.c_str(), problem);
    say() << problem << '\n';
}

void open(const std::string& argument) {
    static const char* lists[] = {"/lists/kernelslist.g", nullptr};
    static const uint64_t counts[] = {7, 0};
    if (host_info.size == 0) {
        host_info = {sizeof(kp_host), KP_HOST_CAN_STOP, "scripted", "1.0", "abc", nullptr, 2, 0, lists, counts};
        host_info.log = argument == "stderr" ? nullptr : &log_line;
    }
    if (kept.size == 0) {
        say_status(core.open(config.c_str(), &host_info, &session));
    } else {
        kp_state state;
        kp_extend(&core, KP_STATE, &state, sizeof(state));
        say_status(state.open(config.c_str(), &host_info, &kept, &session));
    }
    std::cout << (session != nullptr ? " session" : " none") << '\n';
}

void set_size(const std::string& argument) {
    open("");
    host_info.size = static_cast<uint32_t>(number(argument));
}

// A host of one process that names nothing.
void plain(const std::string&) {
    host_info = {sizeof(kp_host), 0, "scripted", "1.0", "abc", nullptr, 1};
    host_info.log = &log_line;
}

// Connects as a host of so many versions ago would.
void connect(const std::string& argument) {
    void* library = dlopen(plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
    void* function = dlsym(library, "kp_connect");
    const char* reason = "none";
    const kp_core* table = reinterpret_cast<const kp_core* (*)(uint32_t, const char**)>(function)(
        static_cast<uint32_t>(number(argument)), &reason);
    say() << (table != nullptr ? "table " : "NULL ") << reason << '\n';
}

// As the loader of version 2 does it.
void connect_old(const std::string&) {
    void* library = dlopen(plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
    void* function = dlsym(library, "kp_abi_version");
    say() << reinterpret_cast<uint32_t (*)()>(function)() << '\n';
}

void extend(const std::string& argument) {
    kp_state state;
    say() << kp_extend(&core, argument.c_str(), &state, sizeof(state)) << ' ' << state.size << '\n';
}

// Names of counters, as "first,second"; NULL: no name.
void set_names(const std::string& argument) {
    static std::vector<std::string> words;
    static std::vector<const char*> names;
    std::istringstream list(argument);
    for (std::string word; std::getline(list, word, ',');) words.push_back(word);
    for (const std::string& each : words) names.push_back(each == "NULL" ? nullptr : each.c_str());
    plain("");
    host_info.counter_count = static_cast<uint32_t>(names.size());
    host_info.counter_names = names.data();
}

// Descriptions of so many launches, of a host that has as many.
void describe(const std::string& argument) {
    static std::vector<kp_description> described;
    static uint64_t launches[1];
    static const int64_t shapes[] = {64, 65, 66};
    for (uint64_t i = 0; i < static_cast<uint64_t>(number(argument)); ++i)
        described.push_back({sizeof(kp_description), 1, "gemm", &shapes[i], 7 + i, 1.5 + double(i), nullptr, 0});
    plain("");
    host_info.launch_counts = launches;
    described.reserve(1);
    host_info.descriptions = described.data();
    launches[0] = described.size();
}

// State between launches, with bytes of one simulator in hexadecimal digits.
void keep(const std::string& argument) {
    static std::vector<uint8_t> bytes;
    for (size_t i = 0; i + 1 < argument.size(); i += 2)
        bytes.push_back(static_cast<uint8_t>(std::stoul(argument.substr(i, 2), nullptr, 16)));
    kept = {sizeof(kept), KP_KEPT_COPIES_FILL | KP_KEPT_COUNTS_CTAS, 64, 1, 2, 3, 4, 5};
    kept.byte_count = static_cast<uint32_t>(bytes.size());
    kept.bytes = bytes.data();
}

// So many architectures, of an array of two; "none": NULL.
void know(const std::string& argument) {
    static const uint32_t known[] = {70, 90};
    plain("");
    kept.size = sizeof(kept);
    kept.not_replayed = "-network_mode 1";
    host_info.architectures = argument == "none" ? nullptr : known;
    host_info.architecture_count = argument == "none" ? 1 : static_cast<uint64_t>(number(argument));
}

// The launch of process 1 behind the one before, and its decision.
void launch(const std::string& argument) {
    const kp_position position = {sizeof(kp_position), 1, static_cast<uint64_t>(number(argument)) - 1, "kernel-1.traceg"};
    kp_order order = {sizeof(kp_order), 9, 9, 9, 9, 9};
    say_status(core.next(session, &position, &order));
    std::cout << " action=" << order.action << " index=" << int64_t(order.index) << " pass=" << order.pass
              << " flags=" << order.flags << " interval=" << order.progress_interval << '\n';
}

// Structs of another size, as an older (smaller) or newer (larger) host would give them.
void launch_sized(const std::string& argument) {
    char position[8192] = {}, order[8192];
    std::memset(order, 0x55, sizeof(order));
    const uint32_t size = static_cast<uint32_t>(number(argument));
    reinterpret_cast<kp_position*>(position)->size = size;
    reinterpret_cast<kp_order*>(order)->size = size;
    say_status(core.next(session, reinterpret_cast<kp_position*>(position), reinterpret_cast<kp_order*>(order)));
    const size_t end = size < 4096 ? size : 16;
    std::cout << " tail=" << (end > 0 ? int(order[end - 1]) : 0) << " beyond=" << int(order[end]) << '\n';
}

void null_arguments(const std::string&) {
    const kp_position position = {sizeof(position), 0, 0, nullptr};
    kp_order order = {sizeof(order)};
    say_status(core.next(session, &position, nullptr));
    std::cout << '\n';
    say_status(core.next(nullptr, &position, &order));
    std::cout << '\n';
    kp_result result = {sizeof(kp_result), 0, 0, 0, 1, 10, 10, nullptr};
    say_status(core.complete(session, &result));
    std::cout << '\n';
}

void next(const std::string& argument) {
    kp_position position = {sizeof(position), 0, 0, nullptr};
    position.after = argument == "first" ? KP_BEFORE_FIRST : argument == "end" ? KP_END_OF_LIST : number(argument);
    kp_order order = {sizeof(order), 9, 77};
    say_status(core.next(session, &position, &order));
    std::cout << ' ' << (order.index == KP_NO_LAUNCH ? "none" : std::to_string(order.index)) << '\n';
}

void progress(const std::string& argument) {
    kp_progress progress = {sizeof(kp_progress), 0, 1, static_cast<uint64_t>(number(argument)), 5, 6, 7, 8};
    uint32_t action = 9;
    say_status(core.progress(session, &progress, &action));
    std::cout << ' ' << action << '\n';
}

void complete(const std::string& argument) {
    const double counters[] = {1.5, 2.0};
    kp_result result = {
        sizeof(kp_result), 0, static_cast<uint64_t>(number(argument)), KP_RESULT_STOPPED, host_info.counter_count, 100, 200,
        counters};
    if (argument.find('+') != std::string::npos) ++result.counter_count;
    say_status(core.complete(session, &result));
    std::cout << '\n';
}

void abort_launch(const std::string& argument) {
    say_status(core.abort(session, 0, number(argument), "ran out of memory"));
    std::cout << '\n';
}

void cost(const std::string& argument) {
    kp_cost cost = {};
    cost.size = sizeof(cost);
    say_status(core.cost(session, 1, number(argument), &cost));
    std::cout << ' ' << cost.cycles << ' ' << cost.instructions << " flags=" << cost.flags << " counters=" << cost.counter_count
              << ' ' << (cost.kernel != nullptr ? cost.kernel : "NULL") << '\n';
}

void print_estimates(uint32_t process) {
    kp_estimate e = {};
    e.size = sizeof(e);
    for (uint32_t i = 0; core.estimate(session, process, i, &e) == KP_OK; ++i)
        std::cout << ' ' << e.name << '=' << e.estimate << "+-" << e.half_width << '/' << e.simulated
                  << ((e.flags & KP_ESTIMATE_RATIO) != 0 ? " ratio" : "")
                  << ((e.flags & KP_ESTIMATE_SAMPLING) != 0 ? " sampling" : "");
}

void finish(const std::string& argument) {
    kp_summary summary = {};
    summary.size = sizeof(summary);
    const uint32_t process = argument.empty() ? KP_ALL_PROCESSES : static_cast<uint32_t>(number(argument));
    say_status(core.finish(session, process, &summary));
    std::cout << " flags=" << summary.flags << " launches=" << summary.launches << " simulated=" << summary.simulated
              << " skipped=" << summary.skipped << " projected=" << summary.projected << " passes=" << summary.passes
              << " confidence=" << summary.confidence << " cycle_speedup=" << summary.cycle_speedup
              << " saved_seconds=" << summary.saved_seconds;
    print_estimates(process);
    std::cout << '\n';
}

// One estimate of the run.
void estimate(const std::string& argument) {
    kp_estimate e = {};
    e.size = sizeof(e);
    say_status(core.estimate(session, KP_ALL_PROCESSES, static_cast<uint32_t>(number(argument)), &e));
    std::cout << '\n';
}

// The state before a launch, where the elements of its arrays are so many bytes larger than the plugin's.
void replay(const std::string& argument) {
    kp_state state;
    kp_extend(&core, KP_STATE, &state, sizeof(state));
    kp_replay replay = {};
    replay.size = sizeof(replay);
    const uint32_t more = static_cast<uint32_t>(number(argument));
    replay.touch_size = static_cast<uint32_t>(sizeof(kp_touch)) + more;
    replay.grid_size = static_cast<uint32_t>(sizeof(kp_grid)) + more;
    say_status(state.before(session, 0, 1, &replay));
    for (uint64_t i = 0; i < replay.touch_count; ++i) {
        kp_touch touch;
        std::memcpy(&touch, reinterpret_cast<const char*>(replay.touches) + i * replay.touch_size, sizeof(touch));
        std::cout << ' ' << touch.line << '/' << int(touch.touched) << '/' << touch.opaque;
    }
    for (uint64_t i = 0; i < replay.grid_count; ++i) {
        kp_grid grid;
        std::memcpy(&grid, reinterpret_cast<const char*>(replay.grids) + i * replay.grid_size, sizeof(grid));
        std::cout << " grid " << grid.ctas << '/' << grid.warps << '/' << grid.last_warp;
    }
    for (uint64_t i = 0; i < replay.byte_count; ++i) std::cout << " byte " << int(static_cast<const uint8_t*>(replay.bytes)[i]);
    std::cout << '\n';
}

}  // namespace

#endif
