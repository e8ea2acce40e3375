// Steps of the scripted host that change or look at what a plugin must leave alone in its host's process: signals,
// locale, floating-point environment, environment variables, libraries.
#ifndef KERNELPOINT_PROCESS_STATE_H
#define KERNELPOINT_PROCESS_STATE_H

#include <fenv.h>
#include <locale.h>
#include <signal.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

namespace {

std::string word;  // the step at work
std::vector<struct sigaction> signals_before;
fenv_t fenv_before;

std::ostream& say() {
    return std::cout << word << ' ';
}

void maps(const std::string&) {
    std::ifstream file("/proc/self/maps");
    std::string line, found = "none";
    while (std::getline(file, line))
        if (line.find("libpython") != std::string::npos) found = "libpython";
    say() << found << '\n';
}

void on_signal(int) {
    std::cout << "signal handled\n";
}

void set_signals(const std::string&) {
    struct sigaction action = {};
    action.sa_handler = &on_signal;
    sigaction(SIGINT, &action, nullptr);
    signals_before.resize(65);
    for (int i = 1; i < 65; ++i) sigaction(i, nullptr, &signals_before[i]);
}

void check_signals(const std::string&) {
    std::string changed;
    for (int i = 1; i < 65; ++i) {
        struct sigaction action = {};
        sigaction(i, nullptr, &action);
        const struct sigaction& before = signals_before[i];
        if (action.sa_handler != before.sa_handler || action.sa_flags != before.sa_flags) changed += std::to_string(i) + ' ';
    }
    say() << (changed.empty() ? "unchanged" : changed) << '\n';
}

void interrupt(const std::string&) {
    raise(SIGINT);
}

void set_locale(const std::string& argument) {
    say() << (setlocale(LC_ALL, argument.c_str()) != nullptr) << '\n';
}

void show_locale(const std::string&) {
    say() << setlocale(LC_ALL, nullptr) << '\n';
}

// Rounding upwards, and a trap on 0/0: Python must see neither, and the host must find both again.
void set_fenv(const std::string&) {
    fesetround(FE_UPWARD);
    feenableexcept(FE_DIVBYZERO | FE_INVALID);
    fegetenv(&fenv_before);
}

void check_fenv(const std::string&) {
    fenv_t now;
    fegetenv(&now);
    const bool same = fegetround() == FE_UPWARD && fegetexcept() == (FE_DIVBYZERO | FE_INVALID) &&
                      now.__mxcsr == fenv_before.__mxcsr && now.__control_word == fenv_before.__control_word;
    say() << (same ? "unchanged" : "changed") << '\n';
}

void set_variable(const std::string& argument) {
    const size_t equals = argument.find('=');
    setenv(argument.substr(0, equals).c_str(), argument.substr(equals + 1).c_str(), 1);
}

}  // namespace
#endif
