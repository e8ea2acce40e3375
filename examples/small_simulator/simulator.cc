// A small simulator made a host of KernelPoint with client.hpp: launches are CTAs that take their cycles one after
// another.
//
//     g++ -std=c++17 -I INCLUDE simulator.cc -o simulator -ldl
//     ./simulator CONFIG LIST
//
// CONFIG is a KernelPoint configuration. A line of LIST is a launch: "CTAS CYCLES MISSES", the last two of each CTA.
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "kernelpoint/client.hpp"

namespace {

constexpr uint64_t kWarpsOfCta = 4, kThreadsOfWarp = 32;

struct Launch {
    uint64_t ctas = 0, cycles_of_cta = 0, misses_of_cta = 0;  // ctas 0: it cannot be simulated
};

// Describes the launches to the plugin, because they have no traces: launches of one shape do the same work. The shapes
// stay the caller's, who keeps them until the session is open.
std::vector<kp_description> describe(const std::vector<Launch>& launches, std::vector<int64_t>& shapes) {
    for (const Launch& launch : launches) {
        shapes.push_back(static_cast<int64_t>(launch.ctas));
        shapes.push_back(static_cast<int64_t>(launch.cycles_of_cta));
    }
    std::vector<kp_description> described(launches.size(), kernelpoint::sized<kp_description>());
    for (size_t i = 0; i < launches.size(); ++i) {
        described[i].name = "ctas";
        described[i].shape_count = 2;
        described[i].shape = &shapes[2 * i];
    }
    return described;
}

std::vector<Launch> read_list(const std::string& path) {
    std::ifstream file(path);
    std::vector<Launch> launches;
    for (std::string line; std::getline(file, line);) {
        Launch launch;
        if (std::sscanf(line.c_str(), "%lu %lu %lu", &launch.ctas, &launch.cycles_of_cta, &launch.misses_of_cta) != 3)
            launch = Launch();
        launches.push_back(launch);
    }
    return launches;
}

// Simulates a launch CTA by CTA, asks now and then whether the rest is wanted, and hands over its result.
void simulate(kernelpoint::Client& client, const kernelpoint::Position& at, const Launch& launch) {
    if (launch.ctas == 0) return client.abort(at, "its line in the list is no launch");
    kp_progress progress = kernelpoint::sized<kp_progress>();
    progress.process = at.process;
    progress.index = at.launch;
    progress.ctas_total = launch.ctas;
    const uint32_t interval = at.order.progress_interval;
    uint64_t last_asked = 0;  // cycle
    bool wants_stop = false;
    while (progress.ctas_completed < launch.ctas && !wants_stop) {
        progress.ctas_issued = progress.ctas_completed + 1;
        for (uint64_t cycle = 0; cycle < launch.cycles_of_cta; ++cycle) {
            ++progress.cycles;
            if (interval != 0 && !wants_stop && progress.cycles - last_asked == interval) {
                last_asked = progress.cycles;
                wants_stop = client.wants_stop(progress);  // the CTA that runs still ends; no other is issued
            }
        }
        progress.ctas_completed = progress.ctas_issued;
        progress.instructions += kWarpsOfCta * kThreadsOfWarp;
    }
    const bool is_stopped = progress.ctas_completed < launch.ctas;
    client.complete(at, progress.cycles, progress.instructions, {double(launch.misses_of_cta * progress.ctas_completed)},
                    is_stopped ? KP_RESULT_STOPPED : 0);
}

void print(kernelpoint::Client& client) {
    const kp_summary summary = client.finish();
    for (const kp_estimate& one : client.estimates()) {
        std::cout << one.name << " = " << one.estimate << "\n";
        if (std::isfinite(one.half_width)) std::cout << one.name << "_half_width = " << one.half_width << "\n";
    }
    std::cout << "launches = " << summary.launches << "\nsimulated = " << summary.simulated << "\npasses = " << summary.passes
              << "\n";
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return std::cerr << "usage: simulator CONFIG LIST\n", 2;
    const std::vector<Launch> launches = read_list(argv[2]);
    kernelpoint::Host host;
    host.simulator = "small simulator";
    host.version = "1";
    host.config_hash = "one SM";
    host.flags = KP_HOST_CAN_STOP | KP_HOST_STATELESS;
    host.counter_names = {"l2_misses"};
    host.processes = {{"", launches.size()}};
    std::vector<int64_t> shapes;
    host.descriptions = describe(launches, shapes);
    kernelpoint::Client client(&kernelpoint::stop_run);
    client.open(argv[1], host);
    kernelpoint::Position at;
    kp_status status;
    // The plugin names the launches to simulate, pass after pass, until the error budget is met.
    while ((status = client.next_to_simulate(&at)) == KP_OK) simulate(client, at, launches[at.launch]);
    if (status == KP_PENDING) kernelpoint::stop_run("the plugin waits for a launch, but none is in flight");
    std::cout.precision(17);
    print(client);
    return 0;
}
