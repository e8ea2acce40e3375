// Structs whose size the host states: read and written only as far as both sides know them.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>

#include "runtime/shim/shim.h"

namespace kernelpoint::shim {

// Size of each struct in ABI version 3, the least that every host states. It never changes within the version.
template <typename Struct>
constexpr uint32_t kFirstSize = 0;
template <>
inline constexpr uint32_t kFirstSize<kp_host> = 112;
template <>
inline constexpr uint32_t kFirstSize<kp_description> = 56;
template <>
inline constexpr uint32_t kFirstSize<kp_kept> = 56;
template <>
inline constexpr uint32_t kFirstSize<kp_position> = 24;
template <>
inline constexpr uint32_t kFirstSize<kp_order> = 32;
template <>
inline constexpr uint32_t kFirstSize<kp_result> = 48;
template <>
inline constexpr uint32_t kFirstSize<kp_progress> = 56;
template <>
inline constexpr uint32_t kFirstSize<kp_summary> = 72;
template <>
inline constexpr uint32_t kFirstSize<kp_estimate> = 40;
template <>
inline constexpr uint32_t kFirstSize<kp_cost> = 48;
template <>
inline constexpr uint32_t kFirstSize<kp_replay> = 88;

// No struct will ever be this large; a larger size is memory that the host forgot to set.
constexpr uint32_t kLargestSize = 4096;

template <typename Struct>
kp_status check_size(const char* what, const Struct* given) {
    if (given == nullptr) return fail(KP_EINVAL, std::string(what) + " is NULL");
    if (given->size >= kFirstSize<Struct> && given->size <= kLargestSize) return KP_OK;
    return fail(KP_EINVAL, std::string(what) + ".size is " + std::to_string(given->size) + ", expected at least " +
                               std::to_string(kFirstSize<Struct>) + ": set it to the struct's sizeof");
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

}  // namespace kernelpoint::shim
