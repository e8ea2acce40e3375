// Output of launches whose results are no part of the sample, left out: scripts would add their rows to the total.
#ifndef KERNELPOINT_ACCELSIM_HIDDEN_OUTPUT_H
#define KERNELPOINT_ACCELSIM_HIDDEN_OUTPUT_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <iostream>

namespace kernelpoint {

// Standard output goes nowhere between begin and end; standard error stays. Where it cannot be turned away, it is
// shown.
class HiddenOutput {
public:
    HiddenOutput() : m_shown(-1) {}

    void begin(uint64_t launch) {
        printf("kernelpoint: launch %llu is simulated for validation or to warm up; its output is left out\n",
               static_cast<unsigned long long>(launch));
        flush();
        const int nowhere = open("/dev/null", O_WRONLY);
        if (nowhere < 0) return;
        m_shown = dup(STDOUT_FILENO);
        if (m_shown >= 0) dup2(nowhere, STDOUT_FILENO);
        close(nowhere);
    }

    void end() {
        if (m_shown < 0) return;
        flush();
        dup2(m_shown, STDOUT_FILENO);
        close(m_shown);
        m_shown = -1;
    }

private:
    static void flush() {
        fflush(stdout);
        std::cout.flush();
    }

    int m_shown;  // where standard output goes otherwise; -1: it is not hidden
};

}  // namespace kernelpoint
#endif
