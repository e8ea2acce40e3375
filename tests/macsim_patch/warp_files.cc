// Counts open descriptors after looks at files of warps, whole and damaged. Arguments: paths.
#include <dirent.h>
#include <stdint.h>

#include <cstdio>

#include "traces.h"

static int descriptors() {
    int count = 0;
    DIR* folder = opendir("/proc/self/fd");
    while (readdir(folder) != NULL) ++count;
    closedir(folder);
    return count;
}

int main(int count, char** arguments) {
    const int before = descriptors();
    for (int i = 1; i < count; ++i)
        std::printf("%s\n", kernelpoint::warp_problem(arguments[i], 3, 64).empty() ? "whole" : "refused");
    return descriptors() == before ? 0 : 1;
}
