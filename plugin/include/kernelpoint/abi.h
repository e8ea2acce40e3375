/* KernelPoint's boundary: the C ABI between a GPU simulator (the host) and the plugin. C99.
 *
 *     kp_core kp;                                                loader.h opens the plugin and fills the table
 *     kp.open(config_path, &host, &session)                      once, before cycle 0: every complaint comes from here
 *     position.after = KP_BEFORE_FIRST
 *     while (kp.next(session, &position, &order) == KP_OK)       the next launch, and what to do with it
 *         order.action == KP_SIMULATE                            simulate it, then kp.complete, or kp.abort where it
 *                                                                could not be simulated
 *         order.action == KP_SKIP                                leave it out: only where launches are not known
 *                                                                beforehand, or for a damaged trace
 *         order.action == KP_EXECUTE                             run it functionally; only with KP_HOST_EXECUTES
 *         position.after = order.index                           KP_DONE ends the loop, KP_PENDING only where several
 *                                                                launches are in flight
 *     kp.finish(session, KP_ALL_PROCESSES, &summary)             once; then kp.estimate, kp.cost
 *
 * What is general stands here. The state that a simulator keeps between launches (caches, open rows) is an extension
 * with a header of its own, state.h; a host without it never asks for it.
 *
 * Sizes: every struct and every table begins with its size, which its owner sets to the struct's sizeof. The plugin
 * reads and writes as many bytes as both sides know; fields that one side does not know are 0. A struct grows at its
 * end, and a table too: a function that the plugin does not have is NULL. Functions marked optional may be NULL.
 * Threads: all functions may be called from any thread; calls on one session are serialised. Several launches may be in
 * flight, and end in any order. After a fork only one of the two processes may go on with a session.
 * The host's process: signal dispositions, locale, floating-point environment, errno and the C streams are after each
 * call what they were before it. No C++ type, exception or Python object crosses. Sessions live until the process ends,
 * which it may do at any time and in any way.
 * Ownership: the plugin copies its input. Text and arrays that it hands out live as long as the session, unless said.
 */
#ifndef KERNELPOINT_ABI_H
#define KERNELPOINT_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised whenever a struct shrinks or a function changes meaning; growth does not raise it. */
#define KP_ABI_VERSION 3u

#define KP_BEFORE_FIRST UINT64_MAX       /* kp_position.after: before the first launch */
#define KP_END_OF_LIST (UINT64_MAX - 1u) /* kp_position.after: the host's list holds no further launch */
#define KP_NO_LAUNCH UINT64_MAX          /* kp_order.index: there is none */
#define KP_ALL_PROCESSES UINT32_MAX      /* finish, estimate: the whole run */

typedef enum kp_status {
    KP_OK = 0,
    KP_DONE = 1,      /* next: nothing is left for this process, call finish; estimate: there is no further one */
    KP_PENDING = 2,   /* next: the pass cannot end while launches are in flight; complete or abort them, call again */
    KP_EINVAL = -1,   /* a call out of order, an unknown launch, a wrong size; the session is unchanged */
    KP_ECONFIG = -2,  /* the configuration, model, plan or journal is refused; nothing was started */
    KP_EVERSION = -3, /* host, plugin, Python or environment do not fit together */
    KP_EFAILED = -4   /* the session cannot go on; stop the run */
} kp_status;

typedef struct kp_session kp_session;

/* ---- The host, stated once --------------------------------------------------------------------------------------- */

/* Flags of kp_host. */
enum {
    KP_HOST_NO_TRACES = 1u << 0,     /* no launch has a trace: launches are sampled by description, else at random */
    KP_HOST_STATELESS = 1u << 1,     /* a launch leaves no state to later ones: the bound is on the total error */
    KP_HOST_DETERMINISTIC = 1u << 2, /* equal keys, equal results: one launch of each kp_description.key is simulated */
    KP_HOST_CONCURRENT = 1u << 3,    /* launches overlap in simulated time: a budget on cycles is refused */
    KP_HOST_CAN_STOP = 1u << 4,      /* the host can stop a launch inside: see kp_core.progress */
    /* A launch reads what earlier ones wrote. `next` then passes over no launch: it names the one behind `after`, or
     * launch 0, where the host begins its program again. KP_EXECUTE takes the place of KP_SKIP. */
    KP_HOST_EXECUTES = 1u << 5,
    /* Damage of a trace ends or misleads the host: the plugin reads each trace to its end before it orders the launch. */
    KP_HOST_NEEDS_WHOLE_TRACES = 1u << 6
};

/* Receives one line of text without newline, from inside a call of the plugin. It must not call the plugin. */
typedef void (*kp_log_fn)(void* user, const char* line);

/* A launch that describes itself, for hosts without traces. Every field but size may be 0: unknown. */
typedef struct kp_description {
    uint32_t size;
    uint32_t shape_count;
    const char* name;       /* of the kernel, layer or operator */
    const int64_t* shape;   /* extents of its work: grid and block, or M, N and K of a GEMM */
    uint64_t key;           /* of its content: equal keys, the same work on the same shapes */
    double cost;            /* expected cycles */
    const double* features; /* other amounts that its cost depends on; as many for every launch */
    uint32_t feature_count;
} kp_description;

typedef struct kp_host {
    uint32_t size;
    uint32_t flags;            /* KP_HOST_* */
    const char* simulator;     /* in lower case; those that KernelPoint has parts for: "accelsim", "macsim" */
    const char* version;       /* of the simulator, free text */
    const char* config_hash;   /* identifies the simulated GPU: resume and paired comparison rest on it */
    const char* configuration; /* its options, one a line, as the simulator writes them; NULL: not stated */
    uint32_t process_count;    /* applications simulated; 1 for most hosts */
    uint32_t counter_count;
    /* Of each process the trace list on disk; NULL where there is none. */
    const char* const* list_paths;
    /* Of each process the number of launches, 0 where unknown; NULL: all are unknown. */
    const uint64_t* launch_counts;
    /* Names of the counters of every result, beside cycles and instructions: see counters.h. */
    const char* const* counter_names;
    /* One for each launch of all processes in their order; NULL: none. Launch counts are known then. */
    const kp_description* descriptions;
    /* Compute capabilities whose code the simulator knows (70: sm_70); a list with other code is refused. */
    const uint32_t* architectures;
    uint64_t architecture_count; /* 0: not stated */
    kp_log_fn log;               /* NULL: standard error */
    void* log_user;
} kp_host;

/* ---- Orders and results ------------------------------------------------------------------------------------------ */

/* Where the host stands in the list of one process. */
typedef struct kp_position {
    uint32_t size;
    uint32_t process;       /* 0 ... process_count - 1 */
    uint64_t after;         /* the last launch handled, KP_BEFORE_FIRST or KP_END_OF_LIST */
    const char* trace_path; /* of the launch right behind it, where the process has no list on disk; else NULL */
} kp_position;

enum { KP_SIMULATE = 0, KP_SKIP = 1, KP_EXECUTE = 2 /* run it functionally, without its timing */ };

/* Flags of kp_order. */
enum {
    KP_ORDER_RESTORE = 1u << 0,     /* begin with the state that earlier launches leave: see state.h */
    KP_ORDER_UNCOUNTED = 1u << 1,   /* simulated for validation: its result is no part of the sample */
    KP_ORDER_SKIP_LATENCY = 1u << 2 /* the constant cycles before its first CTA, in which nothing happens, need not be
                                       gone through one by one; cycles and counters are the same either way */
};

typedef struct kp_order {
    uint32_t size;
    uint32_t action;            /* KP_SIMULATE, KP_SKIP or KP_EXECUTE; after an error KP_SIMULATE: an error never skips */
    uint64_t index;             /* 0-based position in program order; at most `after` where a further pass has begun */
    uint32_t pass;              /* 0-based pass over the list */
    uint32_t flags;             /* KP_ORDER_* */
    uint32_t progress_interval; /* cycles between calls of kp_core.progress; 0: none wanted */
} kp_order;

enum { KP_RESULT_STOPPED = 1u << 0 /* flag of kp_result: stopped inside; cycles are those simulated */ };

typedef struct kp_result {
    uint32_t size;
    uint32_t process;
    uint64_t index;
    uint32_t flags; /* KP_RESULT_* */
    uint32_t counter_count;
    uint64_t cycles;        /* simulated cycles of this launch, launch latency included */
    uint64_t instructions;  /* thread instructions */
    const double* counters; /* as kp_host.counter_names: amounts that add up over launches, no ratios */
} kp_result;

typedef struct kp_progress {
    uint32_t size;
    uint32_t process;
    uint64_t index;
    uint64_t cycles;       /* since the launch began */
    uint64_t instructions; /* thread instructions */
    uint64_t ctas_issued;
    uint64_t ctas_completed;
    uint64_t ctas_total;
} kp_progress;

enum { KP_CONTINUE = 0, KP_STOP = 1 };

/* ---- The finished run -------------------------------------------------------------------------------------------- */

/* Flags of kp_summary, kp_estimate and kp_cost. */
enum {
    KP_SUMMARY_DEGRADED = 1u << 0,  /* something failed on the way; the journal says what */
    KP_SUMMARY_NO_BOUND = 1u << 1,  /* no bound is stated */
    KP_ESTIMATE_RATIO = 1u << 0,    /* a ratio of two totals, e.g. "ipc" */
    KP_ESTIMATE_SAMPLING = 1u << 1, /* its half-width holds no error but that of sampling */
    KP_COST_SIMULATED = 1u << 0     /* the launch was simulated, by this process or by one that was resumed */
};

typedef struct kp_summary {
    uint32_t size;
    uint32_t flags;    /* KP_SUMMARY_* */
    uint64_t launches; /* simulated + skipped; these three of the run or of one process, all else of the run */
    uint64_t simulated;
    uint64_t skipped;
    uint64_t projected; /* of the simulated launches, those that were stopped before their end and projected to their end */
    uint64_t passes;
    double confidence;    /* of every half-width */
    double cycle_speedup; /* estimated over simulated cycles, validation included; NaN where not known */
    double saved_seconds; /* processor time against a full run; the least where latency is skipped; NaN: not known */
} kp_summary;

typedef struct kp_estimate {
    uint32_t size;
    uint32_t flags;    /* KP_ESTIMATE_* */
    const char* name;  /* "cycles", "instructions", the host's counters, then ratios */
    double estimate;   /* total over all launches, or a ratio; NaN: none, the run ended before its pass */
    double half_width; /* NaN: the run states no bound; infinite: the draws give none for this total */
    double simulated;  /* total over the simulated launches */
    double at_most;    /* upper limit of the total, at the confidence, where a half-width says little; NaN: none is stated */
} kp_estimate;

/* One launch: its result where it was simulated, else its estimate. Over all launches costs add up to the totals. */
typedef struct kp_cost {
    uint32_t size;
    uint32_t flags; /* KP_COST_* */
    double cycles;  /* NaN: not known */
    double instructions;
    uint64_t counter_count;
    const double* counters; /* of a simulated launch; NULL of any other. Lives until the next call on the session */
    const char* kernel;     /* its name, where the plugin has read a trace; else NULL */
} kp_cost;

/* ---- Functions --------------------------------------------------------------------------------------------------- */

typedef struct kp_core {
    uint32_t size;
    uint32_t version; /* KP_ABI_VERSION */

    /* Reads the configuration, makes or loads the plan, opens or resumes the journal. session: NULL unless KP_OK.
     * KP_OK | KP_EINVAL | KP_EVERSION | KP_ECONFIG. */
    kp_status (*open)(const char* config_path, const kp_host* host, kp_session** session);

    /* The next launch to handle, decided. Asked again from the same position it gives the same answer, until the launch
     * has its outcome. Where launches are not known beforehand each is named, and skipped in the first pass.
     * KP_OK | KP_PENDING | KP_DONE | KP_EINVAL | KP_EFAILED. A decision that fails inside is KP_SIMULATE. */
    kp_status (*next)(kp_session* session, const kp_position* position, kp_order* order);

    /* The result of a launch that was ordered; KP_OK: it is in the journal. A second result is KP_EINVAL. */
    kp_status (*complete)(kp_session* session, const kp_result* result);

    /* A launch that was ordered could not be simulated. It is tried once more in the next pass; after that the run
     * leaves it out, with a wider bound. reason: one line, may be NULL. One that begins with KP_ENDED_SIMULATOR says
     * that the simulator's process is about to end because of the launch: it is not tried again, nor in a later
     * process. */
    kp_status (*abort)(kp_session* session, uint32_t process, uint64_t index, const char* reason);

    /* Ends the run, whether or not the budget is met, and fills the summary; with a process, its counts, after the run
     * has ended. May be called again. A launch still in flight counts as never completed. */
    kp_status (*finish)(kp_session* session, uint32_t process, kp_summary* summary);

    /* After finish: estimate 0, 1, ... of the run or of one process; KP_DONE behind the last one. */
    kp_status (*estimate)(kp_session* session, uint32_t process, uint32_t index, kp_estimate* estimate);

    /* The reason of the last call on this thread that returned a negative status: what is wrong, where, the value
     * received, what is allowed. Lives until the next such call. Never NULL. */
    const char* (*last_error)(void);

    /* The table of an extension, which begins with its size, e.g. KP_STATE of state.h; NULL: not offered. */
    const void* (*extension)(const char* name);

    /* Optional. Says how far a launch with a progress_interval is. After KP_STOP in *action the host issues no more
     * CTAs, lets the resident ones end and completes the launch with KP_RESULT_STOPPED. */
    kp_status (*progress)(kp_session* session, const kp_progress* progress, uint32_t* action);

    /* Optional. After finish: the cost of one launch. */
    kp_status (*cost)(kp_session* session, uint32_t process, uint64_t index, kp_cost* cost);

    /* Optional. Before `open`: unpacks a pack (.kppack) into a folder beside it, unless that is done, and gives the
     * path of its trace list, for the host's option. kernelpoint.yaml stands beside the list, for `open`. The path
     * lives until the process ends. KP_OK | KP_EINVAL | KP_EVERSION | KP_ECONFIG. */
    kp_status (*unpack)(const char* pack, const char** list);
} kp_core;

#define KP_ENDED_SIMULATOR "the simulator ended in it"

/* The one function that the plugin exports for hosts: the core table; NULL with *reason where it does not speak that
 * version. Starts nothing. kp_load of loader.h calls it. */
const kp_core* kp_connect(uint32_t version, const char** reason);

#ifdef __cplusplus
}
#endif
#endif
