// Steps of the scripted host that call one function of the ABI each, and print what it answers.
#ifndef KERNELPOINT_ABI_STEPS_H
#define KERNELPOINT_ABI_STEPS_H

#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "kernelpoint/loader.h"
#include "process_state.h"

namespace {

kp_api api;
kp_session* session = nullptr;
kp_host_info host_info = {};
std::string plugin, config;

int number(const std::string& argument) {
    return argument.empty() ? 0 : std::stoi(argument);
}

void say_status(kp_status status) {
    say() << status;
    if (status < 0) std::cout << ' ' << api.last_error();
}

void log_line(void*, const char* line) {
    std::cout << "log " << line << '\n';
}

void load(const std::string&) {
    char problem[KP_MESSAGE_SIZE] = "";
    kp_load(&api, plugin.c_str(), problem);
    say() << problem << '\n';
}

void open(const std::string& argument) {
    static const char* lists[] = {"/lists/kernelslist.g", nullptr};
    static const uint64_t counts[] = {7, 0};
    if (host_info.size == 0)
        host_info = {sizeof(kp_host_info),
                     KP_ABI_VERSION,
                     "scripted",
                     "1.0",
                     "abc",
                     KP_HOST_CAN_STOP,
                     2,
                     lists,
                     counts,
                     argument == "stderr" ? nullptr : &log_line,
                     nullptr};
    say_status(api.open(config.c_str(), &host_info, &session));
    std::cout << (session != nullptr ? " session" : " none") << '\n';
}

void set_size(const std::string& argument) {
    open("");
    host_info.size = static_cast<uint32_t>(number(argument));
}

void set_abi(const std::string& argument) {
    host_info = {sizeof(kp_host_info),
                 static_cast<uint32_t>(number(argument)),
                 "scripted",
                 "1.0",
                 "abc",
                 0,
                 1,
                 nullptr,
                 nullptr,
                 &log_line,
                 nullptr};
}

// Names of counters, as "first,second"; NULL: no name.
void set_names(const std::string& argument) {
    static std::vector<std::string> words;
    static std::vector<const char*> names;
    std::istringstream list(argument);
    for (std::string word; std::getline(list, word, ',');) words.push_back(word);
    for (const std::string& each : words) names.push_back(each == "NULL" ? nullptr : each.c_str());
    set_abi(std::to_string(KP_ABI_VERSION));
    host_info.flags = KP_HOST_NAMES_COUNTERS;
    host_info.counter_count = static_cast<uint32_t>(names.size());
    host_info.counter_names = names.data();
}

// Descriptions of so many launches, of a host that has two.
void describe(const std::string& argument) {
    static std::vector<kp_description> described;
    static const uint64_t launches[] = {2};
    static const int64_t shapes[] = {64, 65, 66};
    for (uint64_t i = 0; i < static_cast<uint64_t>(number(argument)); ++i)
        described.push_back({sizeof(kp_description), 1, "gemm", &shapes[i], 7 + i, 1.5 + double(i), nullptr, 0});
    set_abi(std::to_string(KP_ABI_VERSION));
    host_info.launch_counts = launches;
    host_info.descriptions = described.data();
    host_info.description_count = described.size();
}

// So many architectures, of an array of two; "none": NULL.
void know(const std::string& argument) {
    static const uint32_t known[] = {70, 90};
    set_abi(std::to_string(KP_ABI_VERSION));
    host_info.not_replayed = "-network_mode 1";
    host_info.architectures = argument == "none" ? nullptr : known;
    host_info.architecture_count = argument == "none" ? 1 : static_cast<uint64_t>(number(argument));
}

void launch(const std::string& argument) {
    kp_launch launch = {sizeof(kp_launch), 1, static_cast<uint64_t>(number(argument)), "kernel-1.traceg"};
    kp_decision decision = {sizeof(kp_decision), 9, 9, 9};
    say_status(api.on_launch(session, &launch, &decision));
    std::cout << " action=" << decision.action << " pass=" << decision.pass
              << " interval=" << decision.progress_interval << '\n';
}

// Structs of another size, as an older (smaller) or newer (larger) host would give them.
void launch_sized(const std::string& argument) {
    char launch[8192] = {}, decision[8192];
    std::memset(decision, 0x55, sizeof(decision));
    const uint32_t size = static_cast<uint32_t>(number(argument));
    reinterpret_cast<kp_launch*>(launch)->size = size;
    reinterpret_cast<kp_decision*>(decision)->size = size;
    say_status(api.on_launch(session, reinterpret_cast<kp_launch*>(launch), reinterpret_cast<kp_decision*>(decision)));
    const size_t end = size < 4096 ? size : 16;
    std::cout << " tail=" << (end > 0 ? int(decision[end - 1]) : 0) << " beyond=" << int(decision[end]) << '\n';
}

void null_arguments(const std::string&) {
    kp_launch launch = {};
    launch.size = sizeof(launch);
    say_status(api.on_launch(session, &launch, nullptr));
    std::cout << '\n';
    say_status(api.on_launch(nullptr, &launch, nullptr));
    std::cout << '\n';
    kp_result result = {sizeof(kp_result), 0, 0, 0, 1, 10, 10, nullptr};
    say_status(api.on_complete(session, &result));
    std::cout << '\n';
}

void next(const std::string& argument) {
    const uint64_t after = argument == "first" ? KP_BEFORE_FIRST
                           : argument == "end" ? KP_END_OF_LIST
                                               : number(argument);
    uint64_t index = 77;
    say_status(api.next(session, 0, after, &index));
    std::cout << ' ' << (index == KP_NO_LAUNCH ? "none" : std::to_string(index)) << '\n';
}

void progress(const std::string& argument) {
    kp_progress progress = {sizeof(kp_progress), 0, 1, static_cast<uint64_t>(number(argument)), 5, 6, 7, 8};
    uint32_t action = 9;
    say_status(api.on_progress(session, &progress, &action));
    std::cout << ' ' << action << '\n';
}

void complete(const std::string& argument) {
    const kp_counter counters[] = {{"l2_misses", 1.5}, {"dram_reads", 2.0}};
    kp_result result = {sizeof(kp_result), 0, static_cast<uint64_t>(number(argument)), KP_RESULT_STOPPED, 2, 100, 200,
                        counters};
    say_status(api.on_complete(session, &result));
    std::cout << '\n';
}

void abort_launch(const std::string& argument) {
    say_status(api.on_abort(session, 0, number(argument), "ran out of memory"));
    std::cout << '\n';
}

void estimate(const std::string& argument) {
    kp_cost cost = {};
    cost.size = sizeof(cost);
    say_status(api.launch_estimate(session, 0, number(argument), &cost));
    std::cout << ' ' << cost.cycles << ' ' << cost.instructions << " flags=" << cost.flags << '\n';
}

void name(const std::string& argument) {
    const char* found = "unset";
    say_status(api.launch_name(session, 1, number(argument), &found));
    std::cout << ' ' << (found != nullptr ? found : "NULL") << '\n';
}

void print_estimates(uint32_t process, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
        kp_estimate e = {};
        e.size = sizeof(e);
        if (api.estimate_at(session, process, i, &e) != KP_OK) std::cout << ' ' << api.last_error();
        std::cout << ' ' << e.name << '=' << e.estimate << "+-" << e.half_width << '/' << e.simulated
                  << ((e.flags & KP_ESTIMATE_RATIO) != 0 ? " ratio" : "")
                  << ((e.flags & KP_ESTIMATE_SAMPLING) != 0 ? " sampling" : "");
    }
}

void finish(const std::string&) {
    kp_summary summary = {};
    summary.size = sizeof(summary);
    say_status(api.finish(session, &summary));
    std::cout << " flags=" << summary.flags << " launches=" << summary.launches << " simulated=" << summary.simulated
              << " skipped=" << summary.skipped << " projected=" << summary.projected << " passes=" << summary.passes
              << " confidence=" << summary.confidence << " cycle_speedup=" << summary.cycle_speedup
              << " saved_seconds=" << summary.saved_seconds;
    print_estimates(KP_ALL_PROCESSES, summary.estimate_count);
    std::cout << '\n';
}

void process(const std::string& argument) {
    kp_process counts = {};
    counts.size = sizeof(counts);
    const uint32_t which = static_cast<uint32_t>(number(argument));
    say_status(api.process_summary(session, which, &counts));
    std::cout << " launches=" << counts.launches << " simulated=" << counts.simulated << " skipped=" << counts.skipped;
    print_estimates(which, counts.estimate_count);
    std::cout << '\n';
}

// An estimate of the run that does not exist.
void estimate_at(const std::string& argument) {
    kp_estimate e = {};
    e.size = sizeof(e);
    say_status(api.estimate_at(session, KP_ALL_PROCESSES, static_cast<uint32_t>(number(argument)), &e));
    std::cout << '\n';
}

}  // namespace

#endif
