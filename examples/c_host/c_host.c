/* The smallest host: what a simulator does with KernelPoint, in C99, with launches that are numbers in a file.
 *
 *     cc -std=c99 -D_POSIX_C_SOURCE=200809L -I INCLUDE c_host.c -o c_host -ldl
 *     ./c_host CONFIG IN_FLIGHT LIST...
 *
 * CONFIG is a KernelPoint configuration. Each LIST is one process; a line is one launch: "CYCLES INSTRUCTIONS MISSES",
 * or "broken". Up to IN_FLIGHT launches of all processes run at once, and the one that began last ends first. */
#include <inttypes.h>
#include <kernelpoint/loader.h>
#include <math.h>

static const char COUNTER[] = "l2_misses"; /* a name of counters.h: what MISSES counts */
enum { MOST_PROCESSES = 8, MOST_IN_FLIGHT = 64 };

typedef struct launch {
    uint64_t cycles, instructions, misses; /* cycles 0: it cannot be simulated */
} launch;
typedef struct process {
    launch* launches;
    uint64_t count, after; /* after: the last launch that was asked about */
    int done;
} process;
typedef struct flight {
    uint32_t process, interval;
    uint64_t index;
} flight;

static kp_api api;
static kp_session* session;

static void stop(const char* why) {
    fflush(stdout);
    fprintf(stderr, "c_host: %s\n", why);
    exit(1);
}

/* The failure rule on this side: what the plugin refuses ends the run with its reason. */
static kp_status check(kp_status status) {
    if (status < 0) stop(api.last_error());
    return status;
}

static void read_list(const char* path, process* into) {
    FILE* file = fopen(path, "r");
    char line[256];
    if (file == NULL) stop("a list cannot be read");
    while (fgets(line, sizeof(line), file) != NULL) {
        launch* each;
        into->launches = realloc(into->launches, (into->count + 1) * sizeof(launch));
        if (into->launches == NULL) stop("out of memory");
        each = &into->launches[into->count++];
        if (sscanf(line, "%" SCNu64 " %" SCNu64 " %" SCNu64, &each->cycles, &each->instructions, &each->misses) != 3)
            each->cycles = 0;
    }
    fclose(file);
}

/* What the plugin is told of the launches, which have no traces: launches of as many instructions are alike. */
static uint64_t describe(const process* processes, uint32_t count, kp_description** into) {
    uint64_t launches = 0, at = 0, j;
    int64_t* shapes;
    uint32_t i;
    for (i = 0; i < count; ++i) launches += processes[i].count;
    *into = calloc(launches + 1, sizeof(kp_description));
    shapes = calloc(launches + 1, sizeof(int64_t));
    if (*into == NULL || shapes == NULL) stop("out of memory");
    for (i = 0; i < count; ++i) {
        for (j = 0; j < processes[i].count; ++j, ++at) {
            kp_description* one = &(*into)[at];
            shapes[at] = (int64_t)processes[i].launches[j].instructions;
            one->size = sizeof(*one);
            one->name = "launch";
            one->shape = &shapes[at];
            one->shape_count = 1;
        }
    }
    return launches;
}

static void open_session(const char* config, const process* processes, uint32_t count) {
    uint64_t counts[MOST_PROCESSES];
    char problem[KP_MESSAGE_SIZE];
    kp_host_info info = {sizeof(info), KP_ABI_VERSION};
    static const char* const names[] = {COUNTER};
    kp_description* described;
    uint32_t i;
    for (i = 0; i < count; ++i) counts[i] = processes[i].count;
    info.simulator = "c_host";
    info.version = "1";
    info.config_hash = "none"; /* of the simulated GPU: resuming and comparing runs rest on it */
    info.flags = KP_HOST_CAN_STOP | KP_HOST_NAMES_COUNTERS | KP_HOST_STATELESS | KP_HOST_NO_TRACES;
    info.description_count = describe(processes, count, &described);
    info.descriptions = described;
    info.counter_names = names;
    info.counter_count = 1;
    info.process_count = count;
    info.launch_counts = counts;
    if (kp_load(&api, NULL, problem) != 0) stop(problem);
    check(api.open(config, &info, &session)); /* which copies what it is given */
    free((void*)described[0].shape);
    free(described);
}

/* Begin the next launch of a process that is to be simulated; 0 where there is none now. */
static int begin(process* of, uint32_t number, flight* begun) {
    while (!of->done) {
        kp_launch asked = {sizeof(asked), number, 0, NULL}; /* no trace: this host has none */
        kp_decision decision = {sizeof(decision), 0, 0, 0};
        const kp_status status = check(api.next(session, number, of->after, &asked.index));
        of->done = status == KP_DONE;
        if (status != KP_OK) return 0; /* KP_PENDING: the pass waits for launches in flight */
        if (asked.index >= of->count) stop("the plugin asks for a launch that is not in the list");
        of->after = asked.index;
        check(api.on_launch(session, &asked, &decision));
        if (decision.action == KP_SKIP) continue;
        begun->process = number;
        begun->index = asked.index;
        begun->interval = decision.progress_interval;
        return 1;
    }
    return 0;
}

/* "Simulate" a launch that was begun: tell how far it is, stop where the plugin says so, report the result. */
static void end(const flight* of, const launch* what) {
    kp_progress progress = {sizeof(progress), of->process, of->index, 0, 0, 0, 0, 0};
    kp_result result = {sizeof(result), of->process, of->index, 0, 1, what->cycles, what->instructions, NULL};
    kp_counter counter = {COUNTER, 0};
    uint32_t action = KP_CONTINUE;
    uint64_t at;
    if (what->cycles == 0) {
        check(api.on_abort(session, of->process, of->index, "the list says that it is broken"));
        return;
    }
    for (at = of->interval; at != 0 && at < what->cycles && action == KP_CONTINUE; at += of->interval) {
        progress.cycles = at;
        progress.instructions = what->instructions * at / what->cycles;
        progress.ctas_issued = progress.ctas_completed = at;
        progress.ctas_total = what->cycles; /* one CTA a cycle */
        check(api.on_progress(session, &progress, &action));
    }
    if (action == KP_STOP) {
        result.flags = KP_RESULT_STOPPED;
        result.cycles = progress.cycles;
        result.instructions = progress.instructions;
    }
    counter.value = (double)what->misses * (double)result.cycles / (double)what->cycles;
    result.counters = &counter;
    check(api.on_complete(session, &result));
    printf("simulated %" PRIu32 ":%" PRIu64 "\n", of->process, of->index);
}

static void simulate(process* processes, uint32_t count, unsigned most) {
    flight flights[MOST_IN_FLIGHT];
    unsigned running = 0;
    for (;;) {
        uint32_t i, done = 0;
        for (i = 0; i < count; ++i) {
            while (running < most && begin(&processes[i], i, &flights[running])) ++running;
            done += processes[i].done;
        }
        if (running == 0 && done == count) return;
        if (running == 0) stop("the plugin waits for a launch, but none is in flight");
        --running;
        end(&flights[running], &processes[flights[running].process].launches[flights[running].index]);
    }
}

static void print_estimates(const char* prefix, uint32_t of, uint32_t count) {
    uint32_t i;
    for (i = 0; i < count; ++i) {
        kp_estimate e = {sizeof(e), 0, NULL, 0, 0, 0};
        check(api.estimate_at(session, of, i, &e));
        printf("%s%s = %.17g\n", prefix, e.name, e.estimate);
        if (isfinite(e.half_width)) printf("%s%s_half_width = %.17g\n", prefix, e.name, e.half_width);
    }
}

static void print_process(uint32_t number, uint64_t launches) {
    kp_process counts = {sizeof(counts), 0, 0, 0, 0};
    char prefix[64];
    uint64_t i;
    check(api.process_summary(session, number, &counts));
    snprintf(prefix, sizeof(prefix), "process%" PRIu32 "_", number);
    printf("%slaunches = %" PRIu64 "\n%ssimulated = %" PRIu64 "\n", prefix, counts.launches, prefix, counts.simulated);
    print_estimates(prefix, number, counts.estimate_count);
    for (i = 0; i < launches; ++i) {
        kp_cost cost = {sizeof(cost), 0, 0, 0, 0, NULL};
        check(api.launch_estimate(session, number, i, &cost));
        printf("%slaunch%" PRIu64 "_%s = %.17g\n", prefix, i,
               (cost.flags & KP_COST_SIMULATED) != 0 ? "simulated" : "estimated", cost.cycles);
    }
}

int main(int count, char** arguments) {
    process processes[MOST_PROCESSES] = {{NULL, 0, KP_BEFORE_FIRST, 0}};
    kp_summary summary = {sizeof(summary), 0, 0, 0, 0, 0, 0, 0, 0};
    const unsigned most = count > 3 ? (unsigned)atoi(arguments[2]) : 0;
    uint32_t number = 0;
    if (most < 1 || most > MOST_IN_FLIGHT || count > 3 + MOST_PROCESSES) stop("usage: c_host CONFIG IN_FLIGHT LIST...");
    for (; number + 3 < (uint32_t)count; ++number) {
        processes[number].after = KP_BEFORE_FIRST;
        read_list(arguments[number + 3], &processes[number]);
    }
    open_session(arguments[1], processes, number);
    simulate(processes, number, most);
    check(api.finish(session, &summary));
    printf("launches = %" PRIu64 "\nsimulated = %" PRIu64 "\npasses = %" PRIu32 "\nbound = %s\ndegraded = %s\n",
           summary.launches, summary.simulated, summary.passes,
           (summary.flags & KP_SUMMARY_NO_BOUND) != 0 ? "none" : "stated",
           (summary.flags & KP_SUMMARY_DEGRADED) != 0 ? "yes" : "no");
    print_estimates("", KP_ALL_PROCESSES, summary.estimate_count);
    while (number-- > 0) print_process(number, processes[number].count);
    return 0;
}
