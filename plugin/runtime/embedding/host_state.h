// State of the simulator, the same after a call as before it: signals, locale, floating point, errno.
#pragma once

#include <fenv.h>
#include <signal.h>

#include <array>
#include <string>

namespace kernelpoint::embedding {

constexpr int kLastSignal = 64;

// Saves and restores locale, floating-point environment and errno. Inside, the floating-point environment is the
// default one, so that the host's traps or flushing of denormals change no decision.
class HostState {
public:
    HostState();
    ~HostState();
    HostState(const HostState&) = delete;
    HostState& operator=(const HostState&) = delete;

private:
    int errno_;
    fenv_t floating_point_;
    std::string locale_;
};

// Saves and restores all signal dispositions, around open and finish only. In between nothing changes them, because
// our interpreter refuses signal.signal().
class HostSignals {
public:
    HostSignals();
    ~HostSignals();
    HostSignals(const HostSignals&) = delete;
    HostSignals& operator=(const HostSignals&) = delete;

private:
    std::array<struct sigaction, kLastSignal + 1> actions_;
};

}  // namespace kernelpoint::embedding
