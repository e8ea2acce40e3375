// A simulator that runs a program, made a host of KernelPoint: what a launch does depends on what earlier ones wrote,
// so those that are not simulated run functionally.
//
//     g++ -std=c++17 -I INCLUDE simulator.cc -o simulator -ldl
//     ./simulator CONFIG LIST
//
// CONFIG is a KernelPoint configuration. A line of LIST is a launch: "TO FROM" adds one word of memory to another.
#include <array>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "kernelpoint/client.hpp"

namespace {

constexpr size_t kWords = 8;

struct Launch {
    size_t to = kWords, from = kWords;  // kWords: it cannot be run
};

std::vector<Launch> read_list(const std::string& path) {
    std::ifstream file(path);
    std::vector<Launch> launches;
    for (std::string line; std::getline(file, line);) {
        Launch launch;
        if (std::sscanf(line.c_str(), "%zu %zu", &launch.to, &launch.from) != 2) launch = Launch();
        launches.push_back(launch);
    }
    return launches;
}

class Gpu {
public:
    explicit Gpu(const std::vector<Launch>& launches) : launches_(launches) {}

    // Functionally: what the launch does to memory, and nothing else. Launch 0 begins the program.
    void execute(uint64_t index) {
        const Launch& launch = launches_[index];
        if (index == 0) memory_ = {1, 2, 3, 4, 5, 6, 7, 8};
        if (launch.to < kWords && launch.from < kWords) memory_[launch.to] += memory_[launch.from];
    }

    // With its timing: cycles that depend on what lies in memory.
    uint64_t simulate(uint64_t index) {
        execute(index);
        return 1000 + memory_[launches_[index].to] % 16;
    }

    uint64_t sum_of_memory() const {
        uint64_t sum = 0;
        for (const uint64_t word : memory_) sum = 31 * sum + word;
        return sum % 1000003;
    }

private:
    const std::vector<Launch>& launches_;
    std::array<uint64_t, kWords> memory_{};
};

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
    host.simulator = "executing simulator";
    host.version = "1";
    host.config_hash = "one SM";
    host.flags = KP_HOST_EXECUTES | KP_HOST_STATELESS | KP_HOST_NO_TRACES;
    host.counter_names = {"warp_instructions"};
    host.processes = {{"", launches.size()}};
    kernelpoint::Client client(&kernelpoint::stop_run);
    client.open(argv[1], host);
    Gpu gpu(launches);
    kernelpoint::Position at;
    kp_status status;
    const auto execute = [&gpu](uint64_t launch) { gpu.execute(launch); };
    while ((status = client.next_to_simulate(&at, execute)) == KP_OK) {
        if (launches[at.launch].to < kWords)
            client.complete(at, gpu.simulate(at.launch), 32, {1});
        else
            client.abort(at, "its line in the list is no launch");
    }
    if (status == KP_PENDING) kernelpoint::stop_run("the plugin waits for a launch, but none is in flight");
    std::cout.precision(17);
    print(client);
    std::cout << "memory = " << gpu.sum_of_memory() << "\n";
    return 0;
}
