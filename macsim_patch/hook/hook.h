// The lines that the patch adds to MacSim call these; they do nothing where the knob is not set.
#ifndef KERNELPOINT_MACSIM_HOOK_H
#define KERNELPOINT_MACSIM_HOOK_H

#include "sampling.h"

namespace kernelpoint {

inline Sampling& sampling() {
    static Sampling the_sampling;
    return the_sampling;
}

inline bool begin_kernel(macsim_c* base, process_s* process) {
    return !is_on(base) || sampling().begin(base, process);
}

inline void before_cycle(macsim_c* base) {
    if (is_on(base)) sampling().start();
}

inline void end_of_warp(macsim_c* base, process_s* process) {
    if (is_on(base) && process->m_acc && process->m_no_of_threads_terminated + 1 == process->m_no_of_threads_created)
        sampling().end();
}

inline void before_statistics(macsim_c* base) {
    if (is_on(base)) sampling().finish();
}

inline void after_statistics(macsim_c* base) {
    if (is_on(base)) sampling().write();
}

}  // namespace kernelpoint
#endif
