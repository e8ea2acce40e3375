// Prints a launch's steps, wave after wave: print_waves TRACE CTAS WARPS
#include <cstdio>
#include <cstdlib>

#include "waves.h"

int main(int count, char** words) {
    if (count != 4) return 2;
    kernelpoint::Waves waves(words[1], strtoul(words[2], NULL, 10), strtoul(words[3], NULL, 10));
    const char* const kinds[] = {"none", "fetch", "load", "store", "generic", "local", "branch", "round"};
    for (kernelpoint::Steps wave; waves.next(wave);) {
        for (const kernelpoint::Step& step : wave)
            printf("%s %u %llu%s%s%s\n", kinds[step.kind], step.cta, static_cast<unsigned long long>(step.address),
                   step.taken ? " taken" : "", step.conditional ? " conditional" : "",
                   step.followed ? " followed" : "");
        puts("wave");
    }
    if (!waves.broken().empty()) printf("broken %s\n", waves.broken().c_str());
}
