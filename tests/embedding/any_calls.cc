// Calls of the whole plugin, right and wrong ones (tests/fuzz/abi_calls.h), from several threads; test_any_calls.py
// starts it.
//
//     any_calls FOLDER SEED CALLS THREADS FORKS
//
// The process is forked while threads call: each call of the child is answered, or all are refused because a call was
// inside, within 60 s. A promise that is not kept ends the process. Prints how many calls were refused, and answered.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <iostream>
#include <random>
#include <thread>

#include "../fuzz/abi_calls.h"

namespace {

constexpr uint32_t launches = 6;
std::string folder;
std::atomic<int> runs{0}, working{0};
std::atomic<uint64_t> refused{0}, answered{0};

// A configuration of a run that no other one continues; one in four is refused.
std::string configuration(std::mt19937_64& random) {
    const char* const kinds[] = {"policy: random", "policy: all", "policy: random\nseed: 3", "nosuch"};
    const std::string name = folder + "/" + std::to_string(getpid()) + "-" + std::to_string(++runs);
    std::ofstream(name + ".yaml") << "version: 1\n" << kinds[random() % 4] << "\njournal: " << name << ".kpjournal\n";
    return name + ".yaml";
}

// So many calls; the session at work stands in `held`.
void call(uint64_t seed, uint64_t calls, std::atomic<kp_session*>& held) {
    std::mt19937_64 random(seed);
    for (uint64_t made = 0; made < calls;) {
        std::vector<uint8_t> input(600 + random() % 3000);
        for (uint8_t& byte : input) byte = static_cast<uint8_t>(random());
        fuzz::Choices choices(input.data(), input.size());
        fuzz::Calls one(choices, launches);
        one.open(configuration(random), nullptr);
        held = one.session;
        while (one.session != nullptr && choices.left()) one.step();
        for (int status = KP_EFAILED; status <= KP_PENDING; ++status) {
            made += one.answers[status - KP_EFAILED];
            (status < 0 ? refused : answered) += one.answers[status - KP_EFAILED];
        }
    }
}

// A forked child: calls on the parent's sessions that change none, then on a session of its own.
int call_in_child(std::vector<std::atomic<kp_session*>>& sessions) {
    alarm(60);
    bool inside = false;
    for (kp_session* session : sessions) {
        kp_cost cost = {};
        cost.size = sizeof(cost);
        if (session == nullptr || fuzz::core().cost(session, 0, 0, &cost) >= 0) continue;
        inside |= std::strstr(fuzz::core().last_error(), "was forked while a call") != nullptr;
    }
    refused = answered = 0;
    std::atomic<kp_session*> own{nullptr};
    call(static_cast<uint64_t>(getpid()), 40, own);
    fuzz::require(!inside || answered == 0);
    return 0;
}

}  // namespace

int main(int, char** arguments) {
    folder = arguments[1];
    const uint64_t seed = std::stoull(arguments[2]), calls = std::stoull(arguments[3]);
    const int count = std::stoi(arguments[4]);
    std::vector<std::atomic<kp_session*>> sessions(static_cast<size_t>(count));
    std::vector<std::thread> threads;
    working = count;
    for (int i = 0; i < count; ++i)
        threads.emplace_back([&, i] {
            call(seed + static_cast<uint64_t>(i), calls / static_cast<uint64_t>(count), sessions[static_cast<size_t>(i)]);
            --working;
        });
    int forks = std::stoi(arguments[5]), children = 0;
    for (; forks > 0 && working > 0; --forks, ++children) {
        const pid_t child = fork();
        if (child == 0) _exit(call_in_child(sessions));
        int status = -1;
        waitpid(child, &status, 0);
        fuzz::require(status == 0);
    }
    for (std::thread& thread : threads) thread.join();
    std::cout << refused << ' ' << answered << ' ' << children << '\n';
}
