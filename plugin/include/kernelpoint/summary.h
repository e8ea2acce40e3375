/* Statements of a finished run, as kp_finish, kp_process_summary, kp_estimate_at and kp_launch_estimate of abi.h fill
 * them. */
#ifndef KERNELPOINT_SUMMARY_H
#define KERNELPOINT_SUMMARY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of kp_summary, kp_estimate and kp_cost. */
enum {
    KP_SUMMARY_DEGRADED = 1u << 0,  /* something failed on the way, and what became of it is in the journal */
    KP_SUMMARY_NO_BOUND = 1u << 1,  /* no bound is stated: the policy states none, or launches never completed */
    KP_ESTIMATE_RATIO = 1u << 0,    /* a ratio of two totals, e.g. "ipc", with a bound of its own */
    KP_ESTIMATE_SAMPLING = 1u << 1, /* its half-width holds no error but that of sampling */
    KP_ESTIMATE_UNMET = 1u << 2,    /* 0 in each simulated launch; at the summary's confidence at most a quarter of the
                                       launches have any */
    KP_COST_SIMULATED = 1u << 0     /* the launch was simulated, by this process or by one that was resumed */
};

/* The counts of a run. launches = simulated + skipped. */
typedef struct kp_summary {
    uint32_t size;  /* set by the host: sizeof(kp_summary) */
    uint32_t flags; /* KP_SUMMARY_* */
    uint64_t launches;
    uint64_t simulated;
    uint64_t skipped;
    uint64_t projected; /* of the simulated launches, those that were stopped inside and projected to their end */
    uint32_t passes;
    uint32_t estimate_count; /* of the whole run: see kp_estimate_at */
    double confidence;       /* of every half-width */
    double cycle_speedup;    /* estimated over simulated cycles, validation launches included; NaN where not known */
    double saved_seconds; /* processor time of a full run, at the rate of the simulated launches, less that of this run;
                             NaN where not known, or where a full run would be about as cheap */
} kp_summary;

/* The counts of one process. launches = simulated + skipped. */
typedef struct kp_process {
    uint32_t size;           /* set by the host: sizeof(kp_process) */
    uint32_t estimate_count; /* of this process */
    uint64_t launches;
    uint64_t simulated;
    uint64_t skipped;
} kp_process;

/* Statement on a total over all launches, or of a ratio of two totals. */
typedef struct kp_estimate {
    uint32_t size;    /* set by the host: sizeof(kp_estimate) */
    uint32_t flags;   /* KP_ESTIMATE_* */
    const char* name; /* "cycles", "instructions", then the host's counters, then ratios */
    double estimate;  /* NaN where none is stated: the run ended before its pass was complete */
    double
        half_width; /* at the summary's confidence; NaN where the run states no bound, infinite where draws tell none */
    double simulated; /* total over the simulated launches; of one stopped inside, what it was projected to be */
} kp_estimate;

/* Estimated cost of one launch: its own result where it was simulated, else the prediction of the estimator. */
typedef struct kp_cost {
    uint32_t size;  /* set by the host: sizeof(kp_cost) */
    uint32_t flags; /* KP_COST_* */
    double cycles;  /* NaN where nothing is known */
    double instructions;
    uint32_t counter_count; /* of counters */
    /* Of a simulated launch its counters, in the order of kp_result.counters; NULL of any other. Lives until the next
     * call on that session. */
    const double* counters;
} kp_cost;

#ifdef __cplusplus
}
#endif
#endif
