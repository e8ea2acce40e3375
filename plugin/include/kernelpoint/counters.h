/* Glossary of counters: names, units, meanings. KernelPoint itself does not include it; tests/hosts/test_conformance.py
 * checks hosts and tables against it. C99.
 *
 * A name is a literal in the hook of a simulator. Names of energy parts are made in power_report.h; those of the embedded
 * host stand in launch_counters.h. A host may report counters of any name: each is extrapolated with a bound of its own.
 * A counter that is listed here has the meaning that stands here, in every host: ratios are made of some (ipc, miss
 * rates, stalls), and the fast model knows which of its own counters stands for which. Every counter is an amount that
 * adds up over launches.
 *
 * Of other names two rules hold. A name that contains "dram" or "miss" counts what depends on the state of caches and
 * memory more than on the launch itself, and the policy `kernelpoint` spends more draws on it. A name that ends in
 * "_stalls" counts cycles in which warps wait, for the reason before it; reports divide it by warp_instructions.
 */
#ifndef KERNELPOINT_COUNTERS_H
#define KERNELPOINT_COUNTERS_H

/* X(name, unit, meaning). An access is what the simulator counts as one: a sector in Accel-Sim and the fast model, a
 * line in MacSim. */
#define KP_COUNTERS(X)                                                                                             \
    X("cycles", "cycles", "simulated cycles of the launch, launch latency included (kp_result.cycles)")            \
    X("active_cycles", "cycles", "cycles without the constant launch latency; the session adds them")              \
    X("instructions", "instructions", "thread instructions; in MacSim warp instructions (kp_result.instructions)") \
    X("warp_instructions", "instructions", "warp instructions executed")                                           \
    X("ctas", "CTAs", "CTAs executed")                                                                             \
    X("warps", "warps", "warps executed")                                                                          \
    X("l1_accesses", "accesses", "L1 data cache: reads and writes looked up; reads alone in the embedded host")    \
    X("l1_misses", "accesses", "L1 data cache: those that were not there")                                         \
    X("l1_global_reads", "accesses", "L1 data cache: reads of global memory")                                      \
    X("l1_global_read_hits", "accesses", "L1 data cache: reads of global memory that were there")                  \
    X("l1_global_reads_merged", "accesses", "L1 data cache: reads of global memory that joined a miss on its way") \
    X("l1_global_writes", "accesses", "L1 data cache: writes to global memory")                                    \
    X("l1_global_write_hits", "accesses", "L1 data cache: writes to global memory that were there")                \
    X("l1_bank_conflicts", "cycles", "L1 data cache: extra passes through its banks")                              \
    X("l2_accesses", "accesses", "L2: reads, writes and atomics looked up")                                        \
    X("l2_misses", "accesses", "L2: those that were not there")                                                    \
    X("l2_global_reads", "accesses", "L2: reads of global memory")                                                 \
    X("l2_global_read_hits", "accesses", "L2: reads of global memory that were there")                             \
    X("l2_global_reads_merged", "accesses", "L2: reads of global memory that joined a miss on its way")            \
    X("l2_global_writes", "accesses", "L2: writes to global memory")                                               \
    X("l2_global_write_hits", "accesses", "L2: writes to global memory that were there")                           \
    X("llc_accesses", "accesses", "last-level cache behind L2: looked up")                                         \
    X("llc_misses", "accesses", "last-level cache behind L2: not there")                                           \
    X("memory_requests", "requests", "requests that left the cores")                                               \
    X("dram_reads", "accesses", "DRAM: reads")                                                                     \
    X("dram_writes", "accesses", "DRAM: writes")                                                                   \
    X("dram_requests", "requests", "DRAM: reads and writes")                                                       \
    X("shared_accesses", "accesses", "shared memory: warp accesses")                                               \
    X("shared_bank_conflicts", "cycles", "shared memory: extra passes through the banks")                          \
    X("constant_accesses", "accesses", "constant cache: warp accesses")                                            \
    X("icache_misses", "accesses", "instruction cache: not there")                                                 \
    X("mispredictions", "branches", "branches of warps whose direction was predicted wrongly")                     \
    X("energy", "J", "energy of the launch, from the simulator's power model; energy_NAME: of its part NAME")

#endif
