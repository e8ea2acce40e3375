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

static kp_core kp;
static kp_session* session;

static void stop(const char* why) {
    fflush(stdout);
    fprintf(stderr, "c_host: %s\n", why);
    exit(1);
}

/* The failure rule on this side: what the plugin refuses ends the run with its reason. */
static kp_status check(kp_status status) {
    if (status < 0) stop(kp.last_error());
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

/* Descriptions of the launches, which have no traces: launches of as many instructions are alike. */
static kp_description* describe(const process* processes, uint32_t count) {
    uint64_t launches = 1, at = 0, j;
    kp_description* all;
    int64_t* shapes;
    uint32_t i;
    for (i = 0; i < count; ++i) launches += processes[i].count;
    all = calloc(launches, sizeof(kp_description));
    shapes = calloc(launches, sizeof(int64_t));
    if (all == NULL || shapes == NULL) stop("out of memory");
    for (i = 0; i < count; ++i) {
        for (j = 0; j < processes[i].count; ++j, ++at) {
            const kp_description one = {sizeof(one), 1, "launch", &shapes[at]};
            shapes[at] = (int64_t)processes[i].launches[j].instructions;
            all[at] = one;
        }
    }
    return all;
}

static void open_session(const char* config, const process* processes, uint32_t count) {
    uint64_t counts[MOST_PROCESSES];
    char problem[KP_MESSAGE_SIZE];
    kp_host host = {sizeof(host), KP_HOST_CAN_STOP | KP_HOST_STATELESS | KP_HOST_NO_TRACES};
    static const char* const names[] = {"l2_misses"}; /* a name of counters.h: what MISSES counts */
    kp_description* described = describe(processes, count);
    uint32_t i;
    for (i = 0; i < count; ++i) counts[i] = processes[i].count;
    host.simulator = "c_host";
    host.version = "1";
    host.config_hash = "none"; /* of the simulated GPU: resuming and comparing runs rest on it */
    host.descriptions = described;
    host.counter_names = names;
    host.counter_count = 1;
    host.process_count = count;
    host.launch_counts = counts;
    if (kp_load(&kp, NULL, problem) != 0) stop(problem);
    check(kp.open(config, &host, &session)); /* which copies its input */
    free((void*)described[0].shape);
    free(described);
}

/* Begin the next launch of a process that is to be simulated; 0 where there is none now. */
static int begin(process* of, uint32_t number, flight* begun) {
    while (!of->done) {
        const kp_position position = {sizeof(position), number, of->after, NULL};
        kp_order order = {sizeof(order)};
        const kp_status status = check(kp.next(session, &position, &order));
        of->done = status == KP_DONE;
        if (status != KP_OK) return 0; /* KP_PENDING: the pass waits for launches in flight */
        if (order.index >= of->count) stop("the plugin asks for a launch that is not in the list");
        of->after = order.index;
        if (order.action == KP_SKIP) continue;
        begun->process = number;
        begun->index = order.index;
        begun->interval = order.progress_interval;
        return 1;
    }
    return 0;
}

/* "Simulate" a launch that was begun: say how far it is, stop where the plugin says so, report the result. */
static void end(const flight* of, const launch* what) {
    kp_progress progress = {sizeof(progress), of->process, of->index};
    kp_result result = {sizeof(result), of->process, of->index, 0, 1, what->cycles, what->instructions};
    uint32_t action = KP_CONTINUE;
    uint64_t at;
    double misses;
    if (what->cycles == 0) {
        check(kp.abort(session, of->process, of->index, "the list says that it is broken"));
        return;
    }
    for (at = of->interval; at != 0 && kp.progress != NULL && at < what->cycles && action == KP_CONTINUE; at += of->interval) {
        progress.cycles = at;
        progress.instructions = what->instructions * at / what->cycles;
        progress.ctas_issued = progress.ctas_completed = at;
        progress.ctas_total = what->cycles; /* one CTA a cycle */
        check(kp.progress(session, &progress, &action));
    }
    if (action == KP_STOP) {
        result.flags = KP_RESULT_STOPPED;
        result.cycles = progress.cycles;
        result.instructions = progress.instructions;
    }
    misses = (double)what->misses * (double)result.cycles / (double)what->cycles;
    result.counters = &misses;
    check(kp.complete(session, &result));
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

static void print_estimates(const char* prefix, uint32_t process) {
    kp_estimate e = {sizeof(e)};
    uint32_t i;
    for (i = 0; check(kp.estimate(session, process, i, &e)) == KP_OK; ++i) {
        printf("%s%s = %.17g\n", prefix, e.name, e.estimate);
        if (isfinite(e.half_width)) printf("%s%s_half_width = %.17g\n", prefix, e.name, e.half_width);
    }
}

static void print_process(uint32_t number, uint64_t launches) {
    kp_summary counts = {sizeof(counts)};
    kp_cost cost = {sizeof(cost)};
    char prefix[64];
    uint64_t i;
    check(kp.finish(session, number, &counts));
    snprintf(prefix, sizeof(prefix), "process%" PRIu32 "_", number);
    printf("%slaunches = %" PRIu64 "\n%ssimulated = %" PRIu64 "\n", prefix, counts.launches, prefix, counts.simulated);
    print_estimates(prefix, number);
    for (i = 0; i < launches && kp.cost != NULL; ++i) {
        check(kp.cost(session, number, i, &cost));
        printf("%slaunch%" PRIu64 "_%s = %.17g\n", prefix, i, (cost.flags & KP_COST_SIMULATED) != 0 ? "simulated" : "estimated",
               cost.cycles);
    }
}

int main(int count, char** arguments) {
    process processes[MOST_PROCESSES] = {{NULL, 0, KP_BEFORE_FIRST, 0}};
    kp_summary summary = {sizeof(summary)};
    const unsigned most = count > 3 ? (unsigned)atoi(arguments[2]) : 0;
    uint32_t number = 0;
    if (most < 1 || most > MOST_IN_FLIGHT || count > 3 + MOST_PROCESSES) stop("usage: c_host CONFIG IN_FLIGHT LIST...");
    for (; number + 3 < (uint32_t)count; ++number) {
        processes[number].after = KP_BEFORE_FIRST;
        read_list(arguments[number + 3], &processes[number]);
    }
    open_session(arguments[1], processes, number);
    simulate(processes, number, most);
    check(kp.finish(session, KP_ALL_PROCESSES, &summary));
    printf("launches = %" PRIu64 "\nsimulated = %" PRIu64 "\npasses = %" PRIu64 "\nbound = %s\ndegraded = %s\n",
           summary.launches, summary.simulated, summary.passes, (summary.flags & KP_SUMMARY_NO_BOUND) != 0 ? "none" : "stated",
           (summary.flags & KP_SUMMARY_DEGRADED) != 0 ? "yes" : "no");
    print_estimates("", KP_ALL_PROCESSES);
    while (number-- > 0) print_process(number, processes[number].count);
    return 0;
}
