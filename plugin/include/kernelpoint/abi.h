/* KernelPoint's boundary: the versioned C ABI between a GPU simulator (the host) and the plugin.
 *
 * A host includes this file, or loader.h (C99: finds and opens the plugin), or client.hpp (C++11: the checked client of
 * our own hosts), and nothing else of KernelPoint. With it come state.h, which holds what replay hands over,
 * summary.h, which holds what a finished run states, and counters.h, which names the counters that have a meaning. No
 * C++ type, no exception and no Python object crosses the boundary: plain structs that start with their own size, and
 * status codes. A host that was built before a struct grew keeps working: the plugin reads only the first `size` bytes
 * of what it is given and writes only the first `size` bytes of what it is asked to fill; what a newer host knows and
 * the plugin does not is filled with 0. Elements of arrays and parts of such structs (kp_counter; kp_touch,
 * kp_predictor and kp_grid in state.h) state no size and never grow.
 *
 * Life of a run:
 *
 *     kp_open                                   once; every complaint about the set-up comes from here, before cycle 0
 *     i = KP_BEFORE_FIRST
 *     kp_next(after i) -> i                     the next launch that may have to be simulated, also of a later pass
 *       kp_on_launch(i) -> KP_SIMULATE          then simulate, with kp_on_progress now and then, and at the end
 *                                               kp_on_complete, or kp_on_abort when the launch could not be simulated
 *                       -> KP_SKIP              then do not simulate launch i
 *                       -> KP_EXECUTE           then run it functionally only
 *     kp_finish -> summary                      once; then what it counts can be asked for:
 *       kp_estimate_at                          the estimates, of the whole run or of one process
 *       kp_process_summary                      the counts of one process
 *       kp_launch_estimate                      one launch; over all launches they add up to the estimate of the total
 *
 * A host that cannot jump walks its list in order, asks kp_on_launch at every launch, and calls
 * kp_next(KP_END_OF_LIST) at the end to learn whether another pass is needed.
 *
 * With KP_HOST_EXECUTES kp_next passes over no launch: it names the one behind `after`, or launch 0, where the host
 * begins its program again with the memory of its start. Launches behind the last one to simulate are not named. A
 * decision may be asked for ahead, to know what follows: kp_next still names the launch in its turn.
 *
 * Threads: all functions may be called from any thread; calls on one session are serialised by the plugin. Several
 * launches may be in flight; they may complete in any order. A decision never waits for a result. After a fork only one
 * of the two processes may go on with a session: both would write the same journal. A child that was forked while a
 * call was inside gets KP_EINVAL from every call.
 * The host's process: signal dispositions, locale, floating-point environment, errno and the C streams are after each
 * call what they were before it. Sessions live until the process ends, which it may do at any time and in any way.
 * Ownership: the plugin copies what it is given before it returns. Text that the plugin hands out lives as long as the
 * session; that of kp_last_error until the next failing call on that thread.
 */
#ifndef KERNELPOINT_ABI_H
#define KERNELPOINT_ABI_H

#include <stdint.h>

#include "state.h"
#include "summary.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Raised whenever a struct shrinks, or a function changes meaning. Growing a struct at its end does not raise it.
 * Version 2: the summary holds counts; estimates are asked for by index, of the whole run or of one process. */
#define KP_ABI_VERSION 2u

#define KP_BEFORE_FIRST UINT64_MAX       /* kp_next: the host stands before its first launch */
#define KP_END_OF_LIST (UINT64_MAX - 1u) /* kp_next: the host has reached the end of its list */
#define KP_NO_LAUNCH UINT64_MAX          /* kp_next: nothing is left to simulate */
#define KP_ALL_PROCESSES UINT32_MAX      /* kp_estimate_at: of the whole run */

typedef enum kp_status {
    KP_OK = 0,       /* done */
    KP_DONE = 1,     /* kp_next: the budget is met or the workload fully simulated; call kp_finish */
    KP_PENDING = 2,  /* kp_next: the pass cannot end while launches are in flight; complete or abort them, call again */
    KP_EINVAL = -1,  /* a call out of order, an unknown launch, a wrong size; the session is unchanged */
    KP_ECONFIG = -2, /* the configuration, model, plan or journal is refused; nothing was started */
    KP_EVERSION = -3, /* host, plugin, Python or environment do not fit together */
    KP_EFAILED = -4   /* the session cannot go on (on_error: abort, or the journal cannot be written); stop the run */
} kp_status;

typedef enum kp_action {
    KP_SIMULATE = 0,
    KP_SKIP = 1,
    KP_EXECUTE = 2 /* with KP_HOST_EXECUTES, in place of KP_SKIP: run the launch functionally, without its timing */
} kp_action;
typedef enum kp_progress_action { KP_CONTINUE = 0, KP_STOP = 1 } kp_progress_action;

/* Abilities of a host, for kp_host_info.flags. */
enum {
    KP_HOST_CONCURRENT = 1u << 0,  /* launches may overlap in simulated time: the cycles budget is refused */
    KP_HOST_CAN_STOP = 1u << 1,    /* the host can stop a launch inside (kp_on_progress) */
    KP_HOST_COPIES_FILL = 1u << 2, /* copies of the list (MemcpyHtoD) fill the state that replay restores */
    KP_HOST_COUNTS_CTAS = 1u << 3, /* kp_replay.earlier_ctas, .grids are wanted: a header for each distinct trace */
    KP_HOST_KEEPS_L1 = 1u
        << 4, /* SMs keep L1 and instruction cache: kp_touch.sm is wanted; see predictor_history_bits */
    KP_HOST_NAMES_COUNTERS = 1u << 5,     /* kp_host_info.counter_names is filled */
    KP_HOST_NEEDS_WHOLE_TRACES = 1u << 6, /* a damaged trace ends the host: the plugin reads each before it is opened */
    KP_HOST_KEEPS_ROWS = 1u << 7, /* rows of DRAM stay open: kp_replay.touches begin with first reads, see state.h */
    KP_HOST_STATELESS = 1u << 8,  /* a launch leaves nothing that a later one meets: the bound is on the total error */
    KP_HOST_NO_TRACES = 1u << 9,  /* no launch has a trace: they are sampled by their descriptions, else at random */
    KP_HOST_DETERMINISTIC = 1u
        << 10,                   /* launches of one kp_description.key have equal results: one of them is simulated */
    KP_HOST_EXECUTES = 1u << 11, /* a launch reads what earlier ones wrote: those not simulated run functionally */
    KP_HOST_RESTORES = 1u << 12 /* the host makes the state of KP_STATE_REPLAYED itself, by launches before or a copy */
};

/* State that a launch begins with, for kp_decision.state. */
typedef enum kp_state {
    KP_STATE_KEPT = 0, /* with whatever the simulator holds */
    /* The host empties its state and applies kp_replay_before(); with KP_HOST_RESTORES it makes the state that earlier
     * launches leave in its own way, the same whichever launches were simulated before. */
    KP_STATE_REPLAYED = 1
} kp_state;

/* The constant cycles of a launch before its first CTA, in which nothing happens, for kp_decision.latency. A host that
 * does not go through them cycle by cycle has nothing to skip. Cycles and counters are the same either way. */
typedef enum kp_latency {
    KP_LATENCY_SIMULATED = 0, /* the host simulates each cycle */
    KP_LATENCY_SKIPPED = 1    /* the host adds what these cycles change, where it can, and says where it cannot */
} kp_latency;

/* Flags of kp_result. */
enum {
    KP_RESULT_STOPPED = 1u << 0 /* the launch was stopped inside after KP_STOP; cycles are those simulated */
};

typedef struct kp_session kp_session;

/* Receives one line of text without newline; called on the thread that called the plugin, from inside that call: it
 * must not call the plugin itself (KP_EINVAL). */
typedef void (*kp_log_fn)(void* user, const char* line);

/* A launch that describes itself, for simulators whose launches have no trace that the plugin reads. Every field but
 * size may be 0: unknown. Strata and predictions are made from it, as they are from traces. */
typedef struct kp_description {
    uint32_t size;          /* sizeof(kp_description) */
    uint32_t shape_count;   /* of shape */
    const char* name;       /* of the kernel, layer or operator */
    const int64_t* shape;   /* extents of its work: grid and block, or M, N and K of a GEMM */
    uint64_t key;           /* of its content: equal keys say that launches do the same work on the same shapes */
    double cost;            /* predicted cycles, as near as the host knows */
    const double* features; /* other amounts that its cost depends on: bytes, FLOPs; as many for every launch */
    uint32_t feature_count; /* of features */
} kp_description;

typedef struct kp_host_info {
    uint32_t size;           /* sizeof(kp_host_info) */
    uint32_t abi_version;    /* KP_ABI_VERSION the host was built with */
    const char* simulator;   /* in lower case; names that KernelPoint has parts for: "accelsim", "macsim" */
    const char* version;     /* of the simulator, free text */
    const char* config_hash; /* identifies the simulated GPU: resume and paired comparison rest on it */
    uint32_t flags;          /* KP_HOST_* */
    uint32_t process_count;  /* applications simulated; 1 for most hosts */
    /* For each process the trace list on disk (kernelslist.g, or a folder), or NULL where there is none to read. */
    const char* const* list_paths;
    /* For each process the number of launches, 0 where unknown; NULL when all are unknown. */
    const uint64_t* launch_counts;
    kp_log_fn log; /* where the plugin's messages go; NULL: standard error */
    void* log_user;
    /* Lines of memory in the state that the simulator keeps between launches (L2: its size / KP_LINE_BYTES; more where
     * its sets fill unevenly); 0: the host cannot replay, and every launch keeps the state. */
    uint64_t state_lines;
    /* Capacity of the simulated GPU, for the order in which parallel CTAs touch memory; 0 where unknown. */
    uint32_t sms;
    uint32_t ctas_per_sm;
    uint32_t warps_per_sm;
    uint32_t registers_per_sm;
    uint32_t shared_memory_per_sm; /* bytes */
    uint32_t counter_count;        /* of counter_names */
    /* The simulated GPU: all options of the simulator in its own words, one a line (`-key value`, `key value`, or
     * the embedded host's `key: value`); NULL: not stated. The fast model is configured from it. */
    const char* configuration;
    /* Branch predictor of each SM, where it keeps what it has learned: gshare with 2^history_bits counters of
     * counter_bits each; 0: none, or none that learns. For trace formats whose simulator keeps state in its SMs
     * (SmStateProvider in plugin/native/replay/sm_states.h): lists of others are refused. */
    uint32_t predictor_history_bits;
    uint32_t predictor_counter_bits;
    /* With KP_HOST_NAMES_COUNTERS: the names of kp_result.counters, as every result of the run will have them. A budget
     * on any other counter is refused by kp_open; without the flag, by kp_on_complete of the first result. */
    const char* const* counter_names;
    /* What is known of each launch where there is no trace list: description_count descriptions, of the launches of all
     * processes in their order (the sum of launch_counts), or 0 and NULL. Traces come first where there are both. */
    const kp_description* descriptions;
    uint64_t description_count;
    /* Options, with their values, under which a full run keeps state that replay does not put back: the bound is then
     * on the sampling error only. NULL: none. */
    const char* not_replayed;
    /* Compute capabilities whose code the simulator knows (70: sm_70). A list with code of another is refused by
     * kp_open. architecture_count 0: not stated, and nothing is refused. */
    const uint32_t* architectures;
    uint64_t architecture_count;
} kp_host_info;

/* A kernel launch. With a trace path the plugin can read the launch itself; NULL where there is none. */
typedef struct kp_launch {
    uint32_t size;    /* sizeof(kp_launch) */
    uint32_t process; /* 0 ... process_count - 1 */
    uint64_t index;   /* launch index: 0-based position in program order within its process */
    const char* trace_path;
} kp_launch;

typedef struct kp_decision {
    uint32_t size;              /* set by the host: sizeof(kp_decision) */
    uint32_t action;            /* kp_action */
    uint32_t pass;              /* 0-based pass over the list */
    uint32_t progress_interval; /* cycles between calls of kp_on_progress for this launch; 0: none wanted */
    uint32_t state;             /* kp_state; KP_STATE_KEPT where the host restores none: no state_lines, no flag */
    uint32_t uncounted;         /* 1: simulated for validation: its result is no part of the sample */
    uint32_t latency;           /* kp_latency */
} kp_decision;

typedef struct kp_progress {
    uint32_t size; /* sizeof(kp_progress) */
    uint32_t process;
    uint64_t index;
    uint64_t cycles;       /* simulated cycles since the launch started */
    uint64_t instructions; /* thread instructions so far */
    uint64_t ctas_issued;
    uint64_t ctas_completed;
    uint64_t ctas_total;
} kp_progress;

typedef struct kp_counter {
    const char* name; /* same names, in the same order, for every result of a run; see counters.h */
    double value;     /* an amount that adds up over launches, not a ratio */
} kp_counter;

typedef struct kp_result {
    uint32_t size; /* sizeof(kp_result) */
    uint32_t process;
    uint64_t index;
    uint32_t flags; /* KP_RESULT_* */
    uint32_t counter_count;
    uint64_t cycles;       /* simulated cycles of this launch, launch latency included */
    uint64_t instructions; /* thread instructions */
    const kp_counter* counters;
} kp_result;

/* The ABI version of the plugin. Callable before anything else; starts nothing. */
uint32_t kp_abi_version(void);

/* Open a session: reads the configuration, starts the interpreter if this is the first session of the process, makes or
 * loads the plan, opens or resumes the journal. Everything that can be refused is refused here.
 *   config_path  the YAML file named by the simulator's option
 *   info         see kp_host_info
 *   session      receives the session; NULL unless KP_OK
 * Where the process runs a Python of its own already, that one is used if it is of the plugin's version.
 * KP_OK | KP_EINVAL (NULL argument, wrong size) | KP_EVERSION | KP_ECONFIG. The reason is in kp_last_error(). */
kp_status kp_open(const char* config_path, const kp_host_info* info, kp_session** session);

/* Decide one launch. To be called before the host opens the launch's trace. Asking twice gives the same answer.
 * KP_OK: decision filled | KP_EINVAL: unknown launch or process | KP_EFAILED: stop the run. An error never skips:
 * the decision then reads KP_SIMULATE.
 * A failure inside the decision is not an error here: the launch becomes KP_SIMULATE and the summary degraded. */
kp_status kp_on_launch(kp_session* session, const kp_launch* launch, kp_decision* decision);

/* State that the launches before `index` leave in what a simulator keeps between launches: functional warming. To
 * be called when kp_on_launch has answered KP_SIMULATE with KP_STATE_REPLAYED: the host empties its state, then applies
 * the touches in their order, oldest first. Each acts on the line as a launch would: the touched sectors are valid and
 * were used last, the written ones are dirty, and a sector that was dirty before stays so unless it is copied. A line
 * comes more than once where an older touch adds something: it wrote a sector that the newer one only read.
 * Predictors take the counters and the history as they are told.
 * Touches and predictors live until the next call on that session.
 * KP_OK | KP_EINVAL: unknown launch, state_lines is 0, no trace list on disk | KP_EFAILED. */
kp_status kp_replay_before(kp_session* session, uint32_t process, uint64_t index, kp_replay* replay);

/* The next launch of `process` that has to be simulated.
 *   after  the last launch handled, or KP_BEFORE_FIRST, or KP_END_OF_LIST (no launch is left in the host's list)
 * KP_OK: *next is a launch of this or of the next pass (an index <= after means that a new pass has begun)
 * KP_PENDING: the pass ends when the launches in flight are completed or aborted; *next = KP_NO_LAUNCH
 * KP_DONE: *next = KP_NO_LAUNCH; with several processes: nothing is left for this process
 * Where the launches are not known beforehand every launch may have to be simulated, so *next is after + 1. */
kp_status kp_next(kp_session* session, uint32_t process, uint64_t after, uint64_t* next);

/* Tell how far a running launch is, every kp_decision.progress_interval cycles. *action is a kp_progress_action; after
 * KP_STOP the host issues no more CTAs, lets the resident ones drain and calls kp_on_complete with KP_RESULT_STOPPED.
 * KP_OK | KP_EINVAL: the launch is not in flight. */
kp_status kp_on_progress(kp_session* session, const kp_progress* progress, uint32_t* action);

/* A launch that was to be simulated is complete. Once per launch: a second result is refused with KP_EINVAL and
 * changes nothing. KP_OK means that the result is in the journal. */
kp_status kp_on_complete(kp_session* session, const kp_result* result);

/* A launch that was to be simulated could not be. It is tried again in the next pass; if it fails again the run ends
 * without a stated bound. reason: one line for the journal, may be NULL; with KP_ENDED_SIMULATOR as its
 * begin, the simulator's process is about to end because of the launch: it is not tried again, in a later process of
 * the run neither, and of two such launches neither are others of their kernel and shape. KP_OK | KP_EINVAL: not in
 * flight. */
#define KP_ENDED_SIMULATOR "the simulator ended in it"
kp_status kp_on_abort(kp_session* session, uint32_t process, uint64_t index, const char* reason);

/* Estimated cost of a launch. After kp_finish. Over all launches the costs add up to the estimate of the total,
 * where one is stated. KP_OK | KP_EINVAL: unknown launch, or too early. */
kp_status kp_launch_estimate(kp_session* session, uint32_t process, uint64_t index, kp_cost* cost);

/* The name of a launch's kernel as the plugin read it from its trace, for hosts that open no trace of a skipped launch.
 * *name is NULL where the plugin has read none.
 * KP_OK | KP_EINVAL: unknown launch. */
kp_status kp_launch_name(kp_session* session, uint32_t process, uint64_t index, const char** name);

/* End the run, whether or not the budget is met, and fill the summary. Launches still in flight count as never
 * completed: the summary then states no bound. May be called again; the summary stays the same. KP_OK | KP_EFAILED. */
kp_status kp_finish(kp_session* session, kp_summary* summary);

/* The counts of one process. KP_OK | KP_EINVAL: unknown process, or before kp_finish. */
kp_status kp_process_summary(kp_session* session, uint32_t process, kp_process* counts);

/* An estimate of the whole run (process KP_ALL_PROCESSES) or of one process, 0 <= index < estimate_count; the order is
 * that of kp_estimate.name. KP_OK | KP_EINVAL: unknown process or index, or before kp_finish. */
kp_status kp_estimate_at(kp_session* session, uint32_t process, uint32_t index, kp_estimate* estimate);

/* The reason of the last call on this thread that returned a negative status: what is wrong, where, the value received,
 * what is allowed. Never NULL. */
const char* kp_last_error(void);

#ifdef __cplusplus
}
#endif
#endif
