/* A session of KernelPoint as host.go calls it: Go calls no function through a pointer, and holds no pointer in C
 * memory. */
#include "kernelpoint/loader.h"
#include "kernelpoint/state.h"

static kp_core kp;
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
    kp_host host = {sizeof(host), KP_HOST_EXECUTES | KP_HOST_NO_TRACES};
    kp_kept kept = {sizeof(kept), KP_KEPT_RESTORES};
    kp_state state;
    host.simulator = "MGPUSim";
    host.version = "4";
    host.config_hash = gpu;
    host.process_count = 1;
    host.launch_counts = &count;
    host.descriptions = descriptions;
    if (kp_load(&kp, NULL, problem) != 0) return problem;
    if (kp_extend(&kp, KP_STATE, &state, sizeof(state)) != 0) return "this KernelPoint has no extension kp_state";
    return state.open(config, &host, &kept, &session) == KP_OK ? NULL : kp.last_error();
}

/* Ends the process where the run cannot go on. */
static kp_status must(kp_status status) {
    if (status >= 0) return status;
    fprintf(stderr, "kernelpoint: %s\n", kp.last_error());
    exit(1);
}

static kp_order order_after(uint64_t after) {
    const kp_position position = {sizeof(position), 0, after, NULL};
    kp_order order = {sizeof(order)};
    if (must(kp.next(session, &position, &order)) != KP_OK) order.index = KP_NO_LAUNCH;
    return order;
}

/* The launch behind `after`, KP_NO_LAUNCH at the end of the run. */
static uint64_t launch_after(uint64_t after) {
    return order_after(after).index;
}

/* How a launch runs: on the emulator only, or also with its timing, in restored state or directly after the launch
 * before. A launch ahead, to which the plugin does not come in this pass, is executed. */
enum { EXECUTED, RESTORED, KEPT };

static int decide(uint64_t index) {
    const kp_order order = order_after(index == 0 ? KP_BEFORE_FIRST : index - 1);
    if (order.index != index || order.action != KP_SIMULATE) return EXECUTED;
    return (order.flags & KP_ORDER_RESTORE) != 0 ? RESTORED : KEPT;
}

static void complete(uint64_t index, uint64_t cycles) {
    kp_result result = {sizeof(result), 0, index};
    result.cycles = cycles;
    must(kp.complete(session, &result));
}

/* The run's counts, and its estimate of the total of cycles. */
static kp_summary finish(kp_estimate* cycles) {
    kp_summary summary = {sizeof(summary)};
    memset(cycles, 0, sizeof(*cycles));
    cycles->size = sizeof(*cycles);
    must(kp.finish(session, KP_ALL_PROCESSES, &summary));
    must(kp.estimate(session, KP_ALL_PROCESSES, 0, cycles));
    return summary;
}
