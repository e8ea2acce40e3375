// The ABI's call sequences before the shim: a double stands in the embedding's place, answers what the input says, and
// checks what the shim promises it. Needs no Python.
#include "abi_calls.h"
#include "runtime/shim/shim.h"

struct kp_session {};

namespace {

using fuzz::require;

fuzz::Choices* g_choices = nullptr;
kp_session g_session;

kp_status answer() {
    const kp_status status = g_choices->of({KP_OK, KP_OK, KP_OK, KP_EINVAL, KP_ECONFIG, KP_EVERSION, KP_EFAILED});
    return status < 0 ? kernelpoint::shim::fail(status, "the double says so") : status;
}

// Fills a struct with bytes of the input; what the shim hands on is full-size and zero.
template <typename Struct>
kp_status fill(const kp_session* session, Struct* full) {
    require(session == &g_session && full->size == 0);
    if (const kp_status status = answer()) return status;
    char bytes[sizeof(Struct)];
    for (char& byte : bytes) byte = static_cast<char>(g_choices->byte());
    std::memcpy(full, bytes, sizeof bytes);
    return KP_OK;
}

kp_status open(const char* path, const kp_host* host, const kp_kept* kept, kp_session** session) {
    require(path != nullptr && host->size == sizeof(kp_host));
    require(host->process_count > 0 && host->process_count <= 1u << 16);
    for (uint32_t i = 0; i < host->counter_count; ++i) require(host->counter_names[i] != nullptr);
    require(kept == nullptr || (kept->size == sizeof(kp_kept) && (kept->byte_count == 0 || kept->bytes != nullptr)));
    if (const kp_status status = answer()) return status;
    *session = &g_session;
    return KP_OK;
}

kp_status next(kp_session* session, const kp_position* position, kp_order* order) {
    require(session == &g_session && position->size == sizeof(kp_position));
    require(order->action == KP_SIMULATE && order->index == KP_NO_LAUNCH);
    const kp_status status = answer();
    if (status == KP_OK) *order = {sizeof(kp_order), g_choices->byte(), g_choices->number(), 1, 2, 1};
    return status;
}

kp_status complete(kp_session* session, const kp_result* result) {
    require(session == &g_session && result->size == sizeof(kp_result));
    require(result->counter_count == 0 || result->counters != nullptr);
    return answer();
}

kp_status abort(kp_session* session, uint32_t, uint64_t, const char*) {
    require(session == &g_session);
    return answer();
}

kp_status finish(kp_session* session, uint32_t, kp_summary* summary) {
    return fill(session, summary);
}

kp_status estimate(kp_session* session, uint32_t, uint32_t, kp_estimate* estimate) {
    return fill(session, estimate);
}

kp_status progress(kp_session* session, const kp_progress* progress, uint32_t* action) {
    require(session == &g_session && progress->size == sizeof(kp_progress) && *action == KP_CONTINUE);
    return answer();
}

// A plugin that leaves texts and arrays empty.
kp_status cost(kp_session* session, uint32_t, uint64_t, kp_cost* cost) {
    const kp_status status = fill(session, cost);
    cost->kernel = nullptr;
    return status;
}

kp_status before(kp_session* session, uint32_t, uint64_t, kp_replay* replay) {
    require(session == &g_session && replay->touch_count == 0);
    require(replay->touch_size >= sizeof(kp_touch) && replay->grid_size >= sizeof(kp_grid));
    static const char touches[4096] = {};
    const kp_status status = answer();
    if (status == KP_OK) replay->touch_count = 1, replay->touches = reinterpret_cast<const kp_touch*>(touches);
    return status;
}

kp_status unpack(const char* path, const char** folder) {
    *folder = path;
    return answer();
}

const kp_embedding kDouble = {open, next, complete, abort, finish, estimate, progress, cost, unpack, before};

}  // namespace

kp_status kernelpoint::shim::load_embedding() {
    return KP_OK;
}

const kp_embedding* kernelpoint::shim::loaded_embedding() {
    return &kDouble;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    fuzz::Choices choices(data, size);
    g_choices = &choices;
    fuzz::Calls calls(choices, 6);
    while (choices.left()) {
        if (calls.session == nullptr || choices.seldom()) calls.open("kernelpoint.yaml", "kernelslist.g");
        calls.step();
    }
    return 0;
}
