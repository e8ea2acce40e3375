// Measures one way of asking for a decision, or what opening a session costs. Figures go to stdout, for boundary.py.
//
//     boundary_cost function CALLS                  a decision is a call through a pointer
//     boundary_cost plugin CALLS PLUGIN CONFIG      a decision is kp_on_launch
//     boundary_cost socket CALLS PYTHON SCRIPT      a decision is a message to a Python process and back
//     boundary_cost open PLUGIN CONFIG              prints "seconds MiB" after kp_load, then after kp_open
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <string>

#include "kernelpoint/loader.h"

namespace {

double wall_seconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

double cpu_seconds() {
    double total = 0;
    for (int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
        rusage used;
        getrusage(who, &used);
        for (const timeval& time : {used.ru_utime, used.ru_stime})
            total += double(time.tv_sec) + double(time.tv_usec) * 1e-6;
    }
    return total;
}

double resident_mib() {
    std::ifstream file("/proc/self/statm");
    double size, resident;
    file >> size >> resident;
    return resident * double(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

[[noreturn]] void refuse(const std::string& reason) {
    std::cerr << reason << '\n';
    exit(1);
}

kp_api load(const char* plugin) {
    kp_api api;
    char problem[KP_MESSAGE_SIZE];
    if (kp_load(&api, plugin, problem) != 0) refuse(problem);
    return api;
}

kp_session* open(const kp_api& api, const char* config) {
    static const uint64_t launch_counts[] = {1};
    kp_host_info info = {};
    info.size = sizeof(info);
    info.abi_version = KP_ABI_VERSION;
    info.simulator = "boundary_cost";
    info.process_count = 1;
    info.launch_counts = launch_counts;
    kp_session* session = nullptr;
    if (api.open(config, &info, &session) != KP_OK) refuse(api.last_error());
    return session;
}

using Decide = std::function<void(const kp_launch&, kp_decision&)>;

// Median over rounds of wall seconds per decision, and of this process's processor seconds.
void measure(long calls, const Decide& decide) {
    constexpr int kRounds = 5;
    kp_launch launch = {};
    launch.size = sizeof(launch);
    launch.trace_path = "/traces/workload/kernel-1234.traceg";
    kp_decision decision = {sizeof(kp_decision), 0, 0, 0};
    for (int round = 0; round < kRounds; ++round) {
        const double wall = wall_seconds(), cpu = cpu_seconds();
        for (long i = 0; i < calls; ++i) {
            launch.index = uint64_t(i);
            decide(launch, decision);
        }
        std::cout << (wall_seconds() - wall) / double(calls) << ' ' << (cpu_seconds() - cpu) / double(calls) << '\n';
    }
}

__attribute__((noinline)) void plain_decision(const kp_launch& launch, kp_decision& decision) {
    decision.action = launch.index % 2 != 0 ? KP_SKIP : KP_SIMULATE;
    __asm__ volatile("" ::: "memory");
}

void measure_socket(long calls, const char* python, const char* script) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) refuse("no socket");
    if (fork() == 0) {
        dup2(ends[1], 0);
        close(ends[0]);
        execl(python, python, script, nullptr);
        _exit(1);
    }
    close(ends[1]);
    measure(calls, [&](const kp_launch& launch, kp_decision& decision) {
        if (write(ends[0], &launch, sizeof(launch)) != sizeof(launch) ||
            read(ends[0], &decision, sizeof(decision)) <= 0)
            refuse("the other process ended");
    });
}

void measure_opening(const char* plugin, const char* config) {
    const double seconds = cpu_seconds(), mib = resident_mib();
    const kp_api api = load(plugin);
    std::cout << cpu_seconds() - seconds << ' ' << resident_mib() - mib << '\n';
    open(api, config);
    std::cout << cpu_seconds() - seconds << ' ' << resident_mib() - mib << '\n';
}

}  // namespace

int main(int count, char** arguments) {
    const std::string mode = count > 2 ? arguments[1] : "";
    if (mode == "function") {
        measure(atol(arguments[2]), plain_decision);
    } else if (mode == "plugin" && count == 5) {
        const kp_api api = load(arguments[3]);
        kp_session* session = open(api, arguments[4]);
        measure(atol(arguments[2]), [&](const kp_launch& launch, kp_decision& decision) {
            if (api.on_launch(session, &launch, &decision) != KP_OK) refuse(api.last_error());
        });
    } else if (mode == "socket" && count == 5) {
        measure_socket(atol(arguments[2]), arguments[3], arguments[4]);
    } else if (mode == "open" && count == 4) {
        measure_opening(arguments[2], arguments[3]);
    } else {
        refuse("usage: see the top of boundary_cost.cc");
    }
}
