// The plugin that a simulator opens: checks what the host gives, then hands it to the embedding. Links no Python.
#include <string>

#include "kernelpoint/printable.hpp"
#include "runtime/shim/versioned.h"

static_assert(sizeof(void*) == 8, "struct sizes are those of 64-bit hosts");

namespace kernelpoint::shim {
namespace {

constexpr uint32_t kMostProcesses = 1u << 16;

thread_local std::string t_reason = "no call has failed on this thread";

kp_status check_session(const kp_session* session) {
    if (session == nullptr) return fail(KP_EINVAL, "session is NULL: open one with kp_open");
    if (loaded_embedding() == nullptr) return fail(KP_EINVAL, "session is not one that kp_open returned");
    return KP_OK;
}

kp_status check_counter_names(const kp_host_info& info) {
    if (!(info.flags & KP_HOST_NAMES_COUNTERS)) return KP_OK;
    if (info.counter_count > 0 && info.counter_names == nullptr)
        return fail(KP_EINVAL, "info.counter_names is NULL, counter_count is " + std::to_string(info.counter_count));
    for (uint32_t i = 0; i < info.counter_count; ++i)
        if (info.counter_names[i] == nullptr)
            return fail(KP_EINVAL, "info.counter_names[" + std::to_string(i) + "] is NULL");
    return KP_OK;
}

// Extents and features of one launch, far above what any launch has.
constexpr uint32_t kMostExtents = 16, kMostFeatures = 64;

kp_status check_description(const kp_description* given, uint64_t index, const kp_description& first) {
    const std::string where = "info.descriptions[" + std::to_string(index) + "]";
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

kp_status check_descriptions(const kp_host_info& info) {
    if (info.description_count == 0) return KP_OK;
    if (info.descriptions == nullptr)
        return fail(KP_EINVAL,
                    "info.descriptions is NULL, description_count is " + std::to_string(info.description_count));
    uint64_t launches = 0;
    for (uint32_t i = 0; info.launch_counts != nullptr && i < info.process_count; ++i)
        launches += info.launch_counts[i];
    if (info.description_count != launches)
        return fail(KP_EINVAL, "info.description_count is " + std::to_string(info.description_count) +
                                   ", info.launch_counts add up to " + std::to_string(launches) +
                                   ": there is one description for each launch, or none at all");
    if (const kp_status status = check_size("info.descriptions[0]", info.descriptions)) return status;
    for (uint64_t i = 0; i < info.description_count; ++i)
        if (const kp_status status = check_description(element(info.descriptions, i), i, *info.descriptions))
            return status;
    return KP_OK;
}

// Far above the number of architectures that any simulator knows.
constexpr uint64_t kMostArchitectures = 256;

kp_status check_architectures(const kp_host_info& info) {
    if (info.architecture_count > kMostArchitectures || (info.architecture_count > 0 && info.architectures == nullptr))
        return fail(KP_EINVAL, "info.architecture_count is " + std::to_string(info.architecture_count) +
                                   ", expected 0 to " + std::to_string(kMostArchitectures) +
                                   ", and architectures not NULL");
    return KP_OK;
}

kp_status check_host(const kp_host_info* info) {
    if (info == nullptr) return fail(KP_EINVAL, "info is NULL");
    if (info->size >= 2 * sizeof(uint32_t) && info->abi_version != KP_ABI_VERSION)
        return fail(KP_EVERSION, "the host was built for ABI version " + std::to_string(info->abi_version) +
                                     ", this plugin speaks version " + std::to_string(KP_ABI_VERSION) +
                                     ": build the host again with the installed kernelpoint/abi.h");
    if (const kp_status status = check_size("info", info)) return status;
    if (info->process_count == 0 || info->process_count > kMostProcesses)
        return fail(KP_EINVAL, "info.process_count is " + std::to_string(info->process_count) + ", expected 1 to " +
                                   std::to_string(kMostProcesses));
    if (const kp_status status = check_counter_names(copy_in(info))) return status;
    if (const kp_status status = check_architectures(copy_in(info))) return status;
    return check_descriptions(copy_in(info));
}

kp_status check_counters(const kp_result& result) {
    if (result.counter_count > 0 && result.counters == nullptr)
        return fail(KP_EINVAL, "result.counters is NULL, counter_count is " + std::to_string(result.counter_count));
    for (uint32_t i = 0; i < result.counter_count; ++i)
        if (result.counters[i].name == nullptr)
            return fail(KP_EINVAL, "result.counters[" + std::to_string(i) + "].name is NULL");
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

}  // namespace

kp_status fail(kp_status status, const std::string& reason) {
    t_reason = printable(reason);
    return status;
}

}  // namespace kernelpoint::shim

using namespace kernelpoint::shim;

uint32_t kp_abi_version(void) {
    return KP_ABI_VERSION;
}

const char* kp_last_error(void) {
    return t_reason.c_str();
}

kp_status kp_open(const char* config_path, const kp_host_info* info, kp_session** session) {
    if (session == nullptr) return fail(KP_EINVAL, "session is NULL: nowhere to put the session");
    *session = nullptr;
    if (config_path == nullptr) return fail(KP_EINVAL, "config_path is NULL");
    if (const kp_status status = check_host(info)) return status;
    if (const kp_status status = load_embedding()) return status;
    const kp_host_info full = copy_in(info);
    return loaded_embedding()->open(config_path, &full, session);
}

kp_status kp_on_launch(kp_session* session, const kp_launch* launch, kp_decision* decision) {
    if (const kp_status status = check_size("decision", decision)) return status;
    kp_decision answer{};  // simulate, until told otherwise
    copy_out(answer, decision);
    if (const kp_status status = check_session(session)) return status;
    if (const kp_status status = check_size("launch", launch)) return status;
    const kp_launch full = copy_in(launch);
    const kp_status status = loaded_embedding()->on_launch(session, &full, &answer);
    copy_out(answer, decision);
    return status;
}

kp_status kp_replay_before(kp_session* session, uint32_t process, uint64_t index, kp_replay* replay) {
    return fill("replay", session, replay,
                [&](kp_replay* full) { return loaded_embedding()->replay_before(session, process, index, full); });
}

kp_status kp_next(kp_session* session, uint32_t process, uint64_t after, uint64_t* next) {
    if (const kp_status status = check_session(session)) return status;
    if (next == nullptr) return fail(KP_EINVAL, "next is NULL");
    *next = KP_NO_LAUNCH;
    return loaded_embedding()->next(session, process, after, next);
}

kp_status kp_on_progress(kp_session* session, const kp_progress* progress, uint32_t* action) {
    if (const kp_status status = check_session(session)) return status;
    if (const kp_status status = check_size("progress", progress)) return status;
    if (action == nullptr) return fail(KP_EINVAL, "action is NULL");
    *action = KP_CONTINUE;
    const kp_progress full = copy_in(progress);
    return loaded_embedding()->on_progress(session, &full, action);
}

kp_status kp_on_complete(kp_session* session, const kp_result* result) {
    if (const kp_status status = check_session(session)) return status;
    if (const kp_status status = check_size("result", result)) return status;
    const kp_result full = copy_in(result);
    if (const kp_status status = check_counters(full)) return status;
    return loaded_embedding()->on_complete(session, &full);
}

kp_status kp_on_abort(kp_session* session, uint32_t process, uint64_t index, const char* reason) {
    if (const kp_status status = check_session(session)) return status;
    return loaded_embedding()->on_abort(session, process, index, reason);
}

kp_status kp_launch_estimate(kp_session* session, uint32_t process, uint64_t index, kp_cost* cost) {
    return fill("cost", session, cost,
                [&](kp_cost* full) { return loaded_embedding()->launch_estimate(session, process, index, full); });
}

kp_status kp_launch_name(kp_session* session, uint32_t process, uint64_t index, const char** name) {
    if (const kp_status status = check_session(session)) return status;
    if (name == nullptr) return fail(KP_EINVAL, "name is NULL");
    *name = nullptr;
    return loaded_embedding()->launch_name(session, process, index, name);
}

kp_status kp_finish(kp_session* session, kp_summary* summary) {
    return fill("summary", session, summary,
                [&](kp_summary* full) { return loaded_embedding()->finish(session, full); });
}

kp_status kp_process_summary(kp_session* session, uint32_t process, kp_process* counts) {
    return fill("counts", session, counts,
                [&](kp_process* full) { return loaded_embedding()->process_summary(session, process, full); });
}

kp_status kp_estimate_at(kp_session* session, uint32_t process, uint32_t index, kp_estimate* estimate) {
    return fill("estimate", session, estimate,
                [&](kp_estimate* full) { return loaded_embedding()->estimate_at(session, process, index, full); });
}
