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

kp_status open(const char* path, const kp_host_info* info, kp_session** session) {
    require(path != nullptr && info->size == sizeof(kp_host_info) && info->abi_version == KP_ABI_VERSION);
    require(info->process_count > 0 && info->process_count <= 1u << 16);
    for (uint32_t i = 0; (info->flags & KP_HOST_NAMES_COUNTERS) != 0 && i < info->counter_count; ++i)
        require(info->counter_names[i] != nullptr);
    if (const kp_status status = answer()) return status;
    *session = &g_session;
    return KP_OK;
}

kp_status on_launch(kp_session* session, const kp_launch* launch, kp_decision* decision) {
    require(session == &g_session && launch->size == sizeof(kp_launch) && decision->action == KP_SIMULATE);
    const kp_status status = answer();
    if (status == KP_OK) *decision = {sizeof(kp_decision), g_choices->byte(), 1, 2, 1, 0, 0};
    return status;
}

kp_status next(kp_session* session, uint32_t, uint64_t, uint64_t* index) {
    require(session == &g_session && *index == KP_NO_LAUNCH);
    const kp_status status = answer();
    if (status == KP_OK) *index = g_choices->number();
    return status;
}

kp_status on_progress(kp_session* session, const kp_progress* progress, uint32_t* action) {
    require(session == &g_session && progress->size == sizeof(kp_progress) && *action == KP_CONTINUE);
    return answer();
}

kp_status on_complete(kp_session* session, const kp_result* result) {
    require(session == &g_session && result->size == sizeof(kp_result));
    for (uint32_t i = 0; i < result->counter_count; ++i) require(result->counters[i].name != nullptr);
    return answer();
}

kp_status on_abort(kp_session* session, uint32_t, uint64_t, const char*) {
    require(session == &g_session);
    return answer();
}

kp_status launch_name(kp_session* session, uint32_t, uint64_t, const char** name) {
    require(session == &g_session && *name == nullptr);
    return answer();
}

kp_status finish(kp_session* session, kp_summary* summary) {
    return fill(session, summary);
}

template <typename Struct>
kp_status fill_one(kp_session* session, uint32_t, uint64_t, Struct* full) {
    return fill(session, full);
}

kp_status process_summary(kp_session* session, uint32_t, kp_process* counts) {
    return fill(session, counts);
}

kp_status estimate_at(kp_session* session, uint32_t, uint32_t, kp_estimate* estimate) {
    return fill(session, estimate);
}

kp_status replay_before(kp_session* session, uint32_t, uint64_t, kp_replay* replay) {
    require(session == &g_session && replay->touch_count == 0);
    static const kp_touch touch{128, 3, 1, 1, 0, 0, 0, 0};
    const kp_status status = answer();
    if (status == KP_OK) replay->touch_count = 1, replay->touches = &touch;
    return status;
}

const kp_embedding kDouble = {open,        on_launch,         next,        on_progress, on_complete,
                              on_abort,    fill_one<kp_cost>, launch_name, finish,      process_summary,
                              estimate_at, replay_before};

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
