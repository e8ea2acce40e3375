// The plugin that a simulator opens: checks what the host gives, then hands it to the embedding. Links no Python.
#include "runtime/shim/shim.h"

#include <stdio.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "kernelpoint/printable.hpp"

static_assert(sizeof(void*) == 8, "struct sizes are those of 64-bit hosts");

namespace kernelpoint::shim {
namespace {

// ---- structs whose size the host states: read and written only as far as both sides know them

// Size of each struct in ABI version 3, the least that every host states. It never changes within the version.
struct FirstSize {
    static constexpr uint32_t of(const kp_host*) { return 112; }
    static constexpr uint32_t of(const kp_description*) { return 56; }
    static constexpr uint32_t of(const kp_kept*) { return 56; }
    static constexpr uint32_t of(const kp_position*) { return 24; }
    static constexpr uint32_t of(const kp_order*) { return 32; }
    static constexpr uint32_t of(const kp_result*) { return 48; }
    static constexpr uint32_t of(const kp_progress*) { return 56; }
    static constexpr uint32_t of(const kp_summary*) { return 72; }
    static constexpr uint32_t of(const kp_estimate*) { return 40; }
    static constexpr uint32_t of(const kp_cost*) { return 48; }
    static constexpr uint32_t of(const kp_replay*) { return 88; }
};

// No struct will ever be this large; a larger size is memory that the host forgot to set.
constexpr uint32_t kLargestSize = 4096;

template <typename Struct>
kp_status check_size(const char* what, const Struct* given) {
    if (given == nullptr) return fail(KP_EINVAL, std::string(what) + " is NULL");
    if (given->size >= FirstSize::of(given) && given->size <= kLargestSize) return KP_OK;
    return fail(KP_EINVAL, std::string(what) + ".size is " + std::to_string(given->size) + ", expected at least " +
                               std::to_string(FirstSize::of(given)) + ": set it to the struct's sizeof");
}

// Copies a struct from the host: fields that the host does not know become 0 or NULL.
template <typename Struct>
Struct copy_in(const Struct* given) {
    Struct copy{};
    std::memcpy(&copy, given, std::min<size_t>(given->size, sizeof(Struct)));
    copy.size = sizeof(Struct);
    return copy;
}

// Finds element `index` of an array of structs, using the host's size of one.
template <typename Struct>
const Struct* element(const Struct* first, uint64_t index) {
    return reinterpret_cast<const Struct*>(reinterpret_cast<const char*>(first) + index * first->size);
}

// Copies a struct to the host: fields that the plugin does not know become 0 or NULL; `size` stays the host's.
template <typename Struct>
void copy_out(const Struct& full, Struct* given) {
    const uint32_t size = given->size;
    std::memset(static_cast<void*>(given), 0, size);
    std::memcpy(given, &full, std::min<size_t>(size, sizeof(Struct)));
    given->size = size;
}

// ---- checks of arguments from the host

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
        if (host.counter_names[i] == nullptr) return fail(KP_EINVAL, "host.counter_names[" + std::to_string(i) + "] is NULL");
    return KP_OK;
}

// Refuses a count above `most`, and one of elements that are not there.
kp_status check_array(const std::string& name, uint64_t count, uint64_t most, const char* array, const void* given) {
    if (count <= most && (count == 0 || given != nullptr)) return KP_OK;
    return fail(KP_EINVAL, name + " is " + std::to_string(count) + ", expected 0 to " + std::to_string(most) + ", and " +
                               array + " not NULL");
}

// All of these far above what any host has: extents and features of one launch, architectures.
constexpr uint32_t kMostExtents = 16, kMostFeatures = 64, kMostArchitectures = 256;

kp_status check_description(const kp_description* given, uint64_t index, const kp_description& first) {
    const std::string where = "host.descriptions[" + std::to_string(index) + "]";
    if (given->size != first.size)
        return fail(KP_EINVAL, where + ".size is " + std::to_string(given->size) + ", the first one's is " +
                                   std::to_string(first.size) + ": all have the struct's sizeof");
    const kp_description one = copy_in(given);
    if (const kp_status status = check_array(where + ".shape_count", one.shape_count, kMostExtents, "shape", one.shape))
        return status;
    if (const kp_status status =
            check_array(where + ".feature_count", one.feature_count, kMostFeatures, "features", one.features))
        return status;
    if (one.feature_count != copy_in(&first).feature_count)
        return fail(KP_EINVAL, where + ".feature_count is " + std::to_string(one.feature_count) + ", the first one's is " +
                                   std::to_string(copy_in(&first).feature_count) + ": every launch has the same features");
    return KP_OK;
}

kp_status check_descriptions(const kp_host& host) {
    if (host.descriptions == nullptr) return KP_OK;
    uint64_t launches = 0;
    for (uint32_t i = 0; host.launch_counts != nullptr && i < host.process_count; ++i) launches += host.launch_counts[i];
    if (launches == 0) return fail(KP_EINVAL, "host.descriptions is not NULL, but host.launch_counts names no launches");
    if (const kp_status status = check_size("host.descriptions[0]", host.descriptions)) return status;
    for (uint64_t i = 0; i < launches; ++i)
        if (const kp_status status = check_description(element(host.descriptions, i), i, *host.descriptions)) return status;
    return KP_OK;
}

kp_status check_host(const kp_host* given) {
    if (const kp_status status = check_size("host", given)) return status;
    const kp_host host = copy_in(given);
    if (host.process_count == 0 || host.process_count > kMostProcesses)
        return fail(KP_EINVAL, "host.process_count is " + std::to_string(host.process_count) + ", expected 1 to " +
                                   std::to_string(kMostProcesses));
    if (const kp_status status = check_counter_names(host)) return status;
    if (const kp_status status = check_array("host.architecture_count", host.architecture_count, kMostArchitectures,
                                             "architectures", host.architectures))
        return status;
    return check_descriptions(host);
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
    if (const kp_status status = check_size("kept", kept)) return status;
    const kp_kept full = copy_in(kept);
    if (const kp_status status = check_array("kept.byte_count", full.byte_count, kMostBytes, "bytes", full.bytes))
        return status;
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
    if (full.counter_count > 0 && full.counters == nullptr)
        return fail(KP_EINVAL, "result.counters is NULL, counter_count is " + std::to_string(full.counter_count));
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
    return fill("cost", session, cost, [&](kp_cost* full) { return loaded_embedding()->cost(session, process, index, full); });
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
