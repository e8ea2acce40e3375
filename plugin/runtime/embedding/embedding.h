// Interface between the shim and the embedding library. Both are built and installed together.
#pragma once

#include "kernelpoint/state.h"

// Raised whenever this file changes, so that a half-finished upgrade is noticed.
#define KP_EMBEDDING_VERSION 6u
#define KP_EMBEDDING_START "kp_embedding_start"

// Functions that the shim calls. It has checked all arguments, and all structs have their full size.
struct kp_embedding {
    decltype(kp_state::open) open;  // kept: NULL where the host keeps no state
    decltype(kp_core::next) next;
    decltype(kp_core::complete) complete;
    decltype(kp_core::abort) abort;
    decltype(kp_core::finish) finish;
    decltype(kp_core::estimate) estimate;
    decltype(kp_core::progress) progress;
    decltype(kp_core::cost) cost;
    decltype(kp_core::unpack) unpack;
    decltype(kp_state::before) before;
};

// Sets the calling thread's last_error of kp_core.
typedef void (*kp_set_error_fn)(const char* reason);

// Returns NULL when `version` is another KP_EMBEDDING_VERSION. Starts no Python: that is left to open.
//   python, python_version  of the environment, whose libpython is open; empty where the process runs Python already
typedef const kp_embedding* (*kp_embedding_start_fn)(uint32_t version, kp_set_error_fn set_error, const char* python,
                                                     const char* python_version);
