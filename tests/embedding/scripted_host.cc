// A host that does what its command line says, step by step, and prints what it sees: one line a step.
//
//     scripted_host PLUGIN CONFIG STEP...
//
// A step is a word, perhaps with an argument after a colon (`launch:3`); the table at the end lists them. Lines go to
// stdout through C++ streams, as a simulator's do, and begin with the step's word.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <iostream>
#include <map>
#include <thread>
#include <vector>

#include "abi_steps.h"
#include "process_state.h"

namespace {

// A step on a thread with a stack of so many KiB: "64:launch:0".
void on_stack(const std::string& argument);

void last_error(const std::string&) {
    say() << core.last_error() << '\n';
}

void last_error_elsewhere(const std::string&) {
    std::thread([] { say() << core.last_error() << '\n'; }).join();
}

// Decisions from several threads at once, opened by another one.
void threads(const std::string& argument) {
    std::atomic<int> wrong{0};
    std::vector<std::thread> pool;
    for (int t = 0; t < number(argument); ++t)
        pool.emplace_back([&wrong] {
            for (uint64_t i = 0; i < 500; ++i) {
                const kp_position position = {sizeof(kp_position), 0, i % 2 == 0 ? KP_BEFORE_FIRST : 0, nullptr};
                kp_order order = {sizeof(kp_order), 9};
                if (core.next(session, &position, &order) != KP_OK || order.action != i % 2) ++wrong;
            }
        });
    for (std::thread& thread : pool) thread.join();
    say() << wrong << " wrong\n";
}

void open_elsewhere(const std::string& argument) {
    std::thread([&] { open(argument); }).join();
}

void fork_and_launch(const std::string& argument) {
    std::cout << std::flush;
    const pid_t child = fork();
    if (child == 0) {
        launch(argument);
        std::cout << std::flush;
        _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    say() << "child " << status << '\n';
}

void reenter(void*, const char* line) {
    const kp_position position = {sizeof(kp_position), 0, KP_BEFORE_FIRST, nullptr};
    kp_order order = {sizeof(kp_order)};
    const kp_status status = core.next(session, &position, &order);
    std::cout << "log " << line << " reentered " << status << '\n';
}

void set_reentrant_log(const std::string&) {
    plain("");
    host_info.log = &reenter;
}

void print(const std::string& argument) {
    std::cout << argument << '\n';
}

void fast_exit(const std::string&) {
    std::cout << std::flush;
    _exit(0);
}

// A fork while another thread's call is inside, for at least 300 ms; the child calls, and must not wait for that
// thread.
void fork_inside(const std::string&) {
    std::thread caller([] {
        const kp_position position = {sizeof(kp_position), 1, 0, nullptr};
        kp_order order = {sizeof(kp_order)};
        core.next(session, &position, &order);
    });
    usleep(150000);
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        const kp_position position = {sizeof(kp_position), 1, 0, nullptr};
        kp_order order = {sizeof(kp_order)};
        const kp_status status = core.next(session, &position, &order);
        say() << "child " << status << ' ' << core.last_error() << std::endl;
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    caller.join();
    say() << "status " << status << '\n';
}

const std::map<std::string, std::function<void(const std::string&)>> steps = {
    {"load", load},
    {"open", open},
    {"open_elsewhere", open_elsewhere},
    {"connect", connect},
    {"connect_old", connect_old},
    {"extend", extend},
    {"size", set_size},
    {"names", set_names},
    {"know", know},
    {"keep", keep},
    {"describe", describe},
    {"reentrant_log", set_reentrant_log},
    {"launch", launch},
    {"launch_sized", launch_sized},
    {"null", null_arguments},
    {"next", next},
    {"progress", progress},
    {"complete", complete},
    {"abort", abort_launch},
    {"cost", cost},
    {"finish", finish},
    {"estimate", estimate},
    {"replay", replay},
    {"on_stack", on_stack},
    {"error", last_error},
    {"error_elsewhere", last_error_elsewhere},
    {"maps", maps},
    {"set_signals", set_signals},
    {"check_signals", check_signals},
    {"interrupt", interrupt},
    {"set_locale", set_locale},
    {"show_locale", show_locale},
    {"set_fenv", set_fenv},
    {"check_fenv", check_fenv},
    {"threads", threads},
    {"fork", fork_and_launch},
    {"fork_inside", fork_inside},
    {"setenv", set_variable},
    {"print", print},
    {"exit", [](const std::string&) { exit(0); }},
    {"_exit", fast_exit},
};

void run_step(const std::string& step) {
    const size_t colon = step.find(':');
    word = step.substr(0, colon);
    steps.at(word)(colon == std::string::npos ? "" : step.substr(colon + 1));
}

void* run_step_of(void* step) {
    run_step(*static_cast<const std::string*>(step));
    return nullptr;
}

void on_stack(const std::string& argument) {
    const size_t colon = argument.find(':');
    std::string step = argument.substr(colon + 1);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, static_cast<size_t>(number(argument)) << 10);
    pthread_t thread;
    if (pthread_create(&thread, &attributes, &run_step_of, &step) == 0) pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
}

}  // namespace

int main(int count, char** arguments) {
    plugin = arguments[1];
    config = arguments[2];
    for (int i = 3; i < count; ++i) run_step(arguments[i]);
}
