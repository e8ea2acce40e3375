// The plugin that a simulator opens: checks what the host gives, then hands it to the embedding. Links no Python.
#include <stdio.h>

#include <string>

#include "kernelpoint/printable.hpp"
#include "runtime/shim/versioned.h"

static_assert(sizeof(void*) == 8, "struct sizes are those of 64-bit hosts");

namespace kernelpoint::shim {
namespace {

constexpr uint32_t kMostProcesses = 1u << 16;
constexpr uint32_t kMostBytes = 1u << 20;  // of kp_kept.bytes

thread_local std::string t_reason = "no call has failed on this thread";

kp_status check_session(const kp_session* session) {
    if (session == nullptr) return fail(KP_EINVAL, "session is NULL: open one first");
    if (loaded_embedding() == nullptr) return fail(KP_EINVAL, "session is not one that `open` returned");
    return KP_OK;
}

kp_status check_counter_names(const kp_host& host) {
    if (host.counter_count > 0 && host.counter_names == nullptr)
        return fail(KP_EINVAL, "host.counter_names is NULL, counter_count is " + std::to_string(host.counter_count));
    for (uint32_t i = 0; i < host.counter_count; ++i)
        if (host.counter_names[i] == nullptr)
            return fail(KP_EINVAL, "host.counter_names[" + std::to_string(i) + "] is NULL");
    return KP_OK;
}

// Extents and features of one launch, far above what any launch has.
constexpr uint32_t kMostExtents = 16, kMostFeatures = 64;

kp_status check_description(const kp_description* given, uint64_t index, const kp_description& first) {
    const std::string where = "host.descriptions[" + std::to_string(index) + "]";
    if (given->size != first.size)
        return fail(KP_EINVAL, where + ".size is " + std::to_string(given->size) + ", the first one's is " +
                                   std::to_string(first.size) + ": all have the struct's sizeof");
    const kp_description one = copy_in(given);
    if (one.shape_count > kMostExtents || (one.shape_count > 0 && one.shape == nullptr))
        return fail(KP_EINVAL, where + ".shape_count is " + std::to_string(one.shape_count) + ", expected 0 to " +
                                   std::to_string(kMostExtents) + ", and shape not NULL");
    if (one.feature_count > kMostFeatures || (one.feature_count > 0 && one.features == nullptr))
        return fail(KP_EINVAL, where + ".feature_count is " + std::to_string(one.feature_count) + ", expected 0 to " +
                                   std::to_string(kMostFeatures) + ", and features not NULL");
    if (one.feature_count != copy_in(&first).feature_count)
        return fail(KP_EINVAL, where + ".feature_count is " + std::to_string(one.feature_count) +
                                   ", the first one's is " + std::to_string(copy_in(&first).feature_count) +
                                   ": every launch has the same features");
    return KP_OK;
}

kp_status check_descriptions(const kp_host& host) {
    if (host.descriptions == nullptr) return KP_OK;
    uint64_t launches = 0;
    for (uint32_t i = 0; host.launch_counts != nullptr && i < host.process_count; ++i)
        launches += host.launch_counts[i];
    if (launches == 0)
        return fail(KP_EINVAL, "host.descriptions is not NULL, but host.launch_counts names no launches");
    if (const kp_status status = check_size("host.descriptions[0]", host.descriptions)) return status;
    for (uint64_t i = 0; i < launches; ++i)
        if (const kp_status status = check_description(element(host.descriptions, i), i, *host.descriptions))
            return status;
    return KP_OK;
}

// Far above the number of architectures that any simulator knows.
constexpr uint64_t kMostArchitectures = 256;

kp_status check_architectures(const kp_host& host) {
    if (host.architecture_count > kMostArchitectures || (host.architecture_count > 0 && host.architectures == nullptr))
        return fail(KP_EINVAL, "host.architecture_count is " + std::to_string(host.architecture_count) +
                                   ", expected 0 to " + std::to_string(kMostArchitectures) +
                                   ", and architectures not NULL");
    return KP_OK;
}

kp_status check_host(const kp_host* host) {
    if (const kp_status status = check_size("host", host)) return status;
    if (host->process_count == 0 || host->process_count > kMostProcesses)
        return fail(KP_EINVAL, "host.process_count is " + std::to_string(host->process_count) + ", expected 1 to " +
                                   std::to_string(kMostProcesses));
    if (const kp_status status = check_counter_names(copy_in(host))) return status;
    if (const kp_status status = check_architectures(copy_in(host))) return status;
    return check_descriptions(copy_in(host));
}

kp_status check_kept(const kp_kept* kept) {
    if (const kp_status status = check_size("kept", kept)) return status;
    if (kept->byte_count > kMostBytes || (kept->byte_count > 0 && kept->bytes == nullptr))
        return fail(KP_EINVAL, "kept.byte_count is " + std::to_string(kept->byte_count) + ", expected 0 to " +
                                   std::to_string(kMostBytes) + ", and bytes not NULL");
    return KP_OK;
}

kp_status check_counters(const kp_result& result) {
    if (result.counter_count > 0 && result.counters == nullptr)
        return fail(KP_EINVAL, "result.counters is NULL, counter_count is " + std::to_string(result.counter_count));
    return KP_OK;
}

// Lets `body` fill a struct that the host gave; zeros where it fails.
template <typename Struct, typename Body>
kp_status fill(const char* what, const kp_session* session, Struct* given, Body body) {
    if (const kp_status status = check_session(session)) return status;
    if (const kp_status status = check_size(what, given)) return status;
    Struct full{};
    const kp_status status = body(&full);
    copy_out(full, given);
    return status;
}

kp_status open_checked(const char* config_path, const kp_host* host, const kp_kept* kept, kp_session** session) {
    if (const kp_status status = check_host(host)) return status;
    if (const kp_status status = load_embedding()) return status;
    const kp_host full = copy_in(host);
    return loaded_embedding()->open(config_path, &full, kept, session);
}

kp_status check_open(const char* config_path, kp_session** session) {
    if (session == nullptr) return fail(KP_EINVAL, "session is NULL: nowhere to put the session");
    *session = nullptr;
    return config_path != nullptr ? KP_OK : fail(KP_EINVAL, "config_path is NULL");
}

kp_status open(const char* config_path, const kp_host* host, kp_session** session) {
    if (const kp_status status = check_open(config_path, session)) return status;
    return open_checked(config_path, host, nullptr, session);
}

kp_status open_with_state(const char* config_path, const kp_host* host, const kp_kept* kept, kp_session** session) {
    if (const kp_status status = check_open(config_path, session)) return status;
    if (const kp_status status = check_kept(kept)) return status;
    const kp_kept full = copy_in(kept);
    return open_checked(config_path, host, &full, session);
}

kp_status next(kp_session* session, const kp_position* position, kp_order* order) {
    if (const kp_status status = check_size("order", order)) return status;
    kp_order answer{};  // simulate, unless the answer differs
    answer.index = KP_NO_LAUNCH;
    copy_out(answer, order);
    if (const kp_status status = check_session(session)) return status;
    if (const kp_status status = check_size("position", position)) return status;
    const kp_position full = copy_in(position);
    const kp_status status = loaded_embedding()->next(session, &full, &answer);
    copy_out(answer, order);
    return status;
}

kp_status complete(kp_session* session, const kp_result* result) {
    if (const kp_status status = check_session(session)) return status;
    if (const kp_status status = check_size("result", result)) return status;
    const kp_result full = copy_in(result);
    if (const kp_status status = check_counters(full)) return status;
    return loaded_embedding()->complete(session, &full);
}

kp_status abort(kp_session* session, uint32_t process, uint64_t index, const char* reason) {
    if (const kp_status status = check_session(session)) return status;
    return loaded_embedding()->abort(session, process, index, reason);
}

kp_status finish(kp_session* session, uint32_t process, kp_summary* summary) {
    return fill("summary", session, summary,
                [&](kp_summary* full) { return loaded_embedding()->finish(session, process, full); });
}

kp_status estimate(kp_session* session, uint32_t process, uint32_t index, kp_estimate* estimate) {
    return fill("estimate", session, estimate,
                [&](kp_estimate* full) { return loaded_embedding()->estimate(session, process, index, full); });
}

const char* last_error() {
    return t_reason.c_str();
}

kp_status progress(kp_session* session, const kp_progress* progress, uint32_t* action) {
    if (const kp_status status = check_session(session)) return status;
    if (const kp_status status = check_size("progress", progress)) return status;
    if (action == nullptr) return fail(KP_EINVAL, "action is NULL");
    *action = KP_CONTINUE;
    const kp_progress full = copy_in(progress);
    return loaded_embedding()->progress(session, &full, action);
}

kp_status cost(kp_session* session, uint32_t process, uint64_t index, kp_cost* cost) {
    return fill("cost", session, cost,
                [&](kp_cost* full) { return loaded_embedding()->cost(session, process, index, full); });
}

kp_status unpack(const char* pack, const char** list) {
    if (pack == nullptr || list == nullptr) return fail(KP_EINVAL, "pack or list is NULL");
    *list = nullptr;
    if (const kp_status status = load_embedding()) return status;
    return loaded_embedding()->unpack(pack, list);
}

kp_status before(kp_session* session, uint32_t process, uint64_t index, kp_replay* replay) {
    if (const kp_status status = check_session(session)) return status;
    if (const kp_status status = check_size("replay", replay)) return status;
    kp_replay full{};
    full.touch_size = replay->touch_size;
    full.grid_size = replay->grid_size;
    for (const uint32_t size : {full.touch_size, full.grid_size})
        if (size < sizeof(kp_touch) || size > kLargestSize)
            return fail(KP_EINVAL, "replay.touch_size and grid_size are " + std::to_string(full.touch_size) + " and " +
                                       std::to_string(full.grid_size) + ", expected sizeof(kp_touch) and (kp_grid)");
    const kp_status status = loaded_embedding()->before(session, process, index, &full);
    copy_out(full, replay);
    return status;
}
static_assert(sizeof(kp_touch) == 16 && sizeof(kp_grid) == 16, "the least sizes of version 3");

const kp_state kState = {sizeof(kp_state), open_with_state, before};

const void* extension(const char* name) {
    return name != nullptr && std::string(name) == KP_STATE ? &kState : nullptr;
}

const kp_core kCore = {sizeof(kp_core), KP_ABI_VERSION, open,      next,     complete, abort, finish,
                       estimate,        last_error,     extension, progress, cost,     unpack};

const char kPatchAgain[] =
    "build the simulator again with the installed headers (`kernelpoint doctor --include`); a patched one is patched "
    "again first: `kernelpoint patch SIMULATOR CHECKOUT`";

}  // namespace

kp_status fail(kp_status status, const std::string& reason) {
    t_reason = printable(reason);
    return status;
}

}  // namespace kernelpoint::shim

using namespace kernelpoint::shim;

const kp_core* kp_connect(uint32_t version, const char** reason) {
    if (version == KP_ABI_VERSION) return &kCore;
    fail(KP_EVERSION, "this KernelPoint speaks ABI version " + std::to_string(KP_ABI_VERSION) + ", the simulator " +
                          std::to_string(version) + ": " +
                          (version < KP_ABI_VERSION ? kPatchAgain : "install a newer KernelPoint"));
    if (reason != nullptr) *reason = last_error();
    return nullptr;
}

// Hosts up to version 2 call this first, compare, and stop with a message of their own, which names no command.
extern "C" __attribute__((visibility("default"))) uint32_t kp_abi_version(void) {
    fprintf(stderr, "kernelpoint: this simulator was built with an older KernelPoint: %s\n", kPatchAgain);
    return KP_ABI_VERSION;
}
