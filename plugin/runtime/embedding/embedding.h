// Interface between the shim and the embedding library. Both are built and installed together.
#pragma once

#include "kernelpoint/abi.h"

// Raised whenever this file changes, so that a half-finished upgrade is noticed.
#define KP_EMBEDDING_VERSION 3u
#define KP_EMBEDDING_START "kp_embedding_start"

// The functions of abi.h behind the shim: arguments are checked, structs are full-size.
struct kp_embedding {
    decltype(&kp_open) open;
    decltype(&kp_on_launch) on_launch;
    decltype(&kp_next) next;
    decltype(&kp_on_progress) on_progress;
    decltype(&kp_on_complete) on_complete;
    decltype(&kp_on_abort) on_abort;
    decltype(&kp_launch_estimate) launch_estimate;
    decltype(&kp_launch_name) launch_name;
    decltype(&kp_finish) finish;
    decltype(&kp_process_summary) process_summary;
    decltype(&kp_estimate_at) estimate_at;
    decltype(&kp_replay_before) replay_before;
};

// Sets the calling thread's kp_last_error().
typedef void (*kp_set_error_fn)(const char* reason);

// Returns NULL when `version` is another KP_EMBEDDING_VERSION. Starts no Python: that is left to open.
typedef const kp_embedding* (*kp_embedding_start_fn)(uint32_t version, kp_set_error_fn set_error);
