/* A session of KernelPoint as host.go calls it: Go calls no function through a pointer, and holds no pointer in C
 * memory. */
#include "kernelpoint/loader.h"

static kp_api api;
static kp_session* session;
static kp_description* descriptions;
static char problem[KP_MESSAGE_SIZE];

/* Room for the descriptions of `count` launches. 0: none. */
static int prepare(uint64_t count) {
    descriptions = (kp_description*)calloc(count, sizeof(kp_description));
    return descriptions != NULL;
}

/* The launch of that index, by its kernel's name, its grid and its work-group. `name` and `shape` live on. */
static void describe(uint64_t index, const char* name, const int64_t* shape, uint32_t extents) {
    kp_description* one = &descriptions[index];
    one->size = sizeof(*one);
    one->name = name;
    one->shape = shape;
    one->shape_count = extents;
}

/* NULL, or why there is no session. */
static const char* open_session(const char* config, const char* gpu, uint64_t count) {
    const char* lists[1] = {NULL};
    kp_host_info info;
    memset(&info, 0, sizeof(info));
    info.size = sizeof(info);
    info.abi_version = KP_ABI_VERSION;
    info.simulator = "MGPUSim";
    info.version = "4";
    info.config_hash = gpu;
    info.flags = KP_HOST_EXECUTES | KP_HOST_RESTORES | KP_HOST_NO_TRACES;
    info.process_count = 1;
    info.list_paths = lists;
    info.launch_counts = &count;
    info.descriptions = descriptions;
    info.description_count = count;
    if (kp_load(&api, NULL, problem) != 0) return problem;
    return api.open(config, &info, &session) == KP_OK ? NULL : api.last_error();
}

/* The launch behind `after`, KP_NO_LAUNCH at the end of the run. Ends the process where the run cannot go on. */
static void must(kp_status status) {
    if (status >= 0) return;
    fprintf(stderr, "kernelpoint: %s\n", api.last_error());
    exit(1);
}

static uint64_t launch_after(uint64_t after) {
    uint64_t next = KP_NO_LAUNCH;
    must(api.next(session, 0, after, &next));
    return next;
}

/* How a launch runs: on the emulator only, or also with its timing, in restored state or directly after the launch
 * before. */
enum { EXECUTED, RESTORED, KEPT };

static int decide(uint64_t index) {
    kp_launch launch;
    kp_decision decision;
    memset(&launch, 0, sizeof(launch));
    memset(&decision, 0, sizeof(decision));
    launch.size = sizeof(launch);
    launch.index = index;
    decision.size = sizeof decision;
    must(api.on_launch(session, &launch, &decision));
    if (decision.action != KP_SIMULATE) return EXECUTED;
    return decision.state == KP_STATE_REPLAYED ? RESTORED : KEPT;
}

static void complete(uint64_t index, uint64_t cycles) {
    kp_result result;
    memset(&result, 0, sizeof(result));
    result.size = sizeof(result);
    result.index = index;
    result.cycles = cycles;
    must(api.on_complete(session, &result));
}

/* The run's counts, and its estimate of the total of cycles. */
static kp_summary finish(kp_estimate* cycles) {
    kp_summary summary;
    memset(&summary, 0, sizeof(summary));
    memset(cycles, 0, sizeof(*cycles));
    summary.size = sizeof(summary);
    cycles->size = sizeof(*cycles);
    must(api.finish(session, &summary));
    must(api.estimate_at(session, KP_ALL_PROCESSES, 0, cycles));
    return summary;
}
