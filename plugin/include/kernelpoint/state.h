/* State that launches leave in what a simulator keeps between launches, as kp_replay_before of abi.h hands it over. */
#ifndef KERNELPOINT_STATE_H
#define KERNELPOINT_STATE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KP_LINE_BYTES 128u  /* of a line of memory: four sectors */
#define KP_SECTOR_BYTES 32u /* of a sector */

/* Effect of one launch, or one copy from the host, on one line of memory. Masks have a bit for each sector. */
typedef struct kp_touch {
    uint64_t line;   /* address of its first byte */
    uint8_t touched; /* sectors read or written */
    uint8_t written; /* of those, written: by stores or atomics */
    uint8_t filled;  /* of those, read, or written in every byte: complete without what DRAM holds */
    uint8_t copied;  /* 1: by a copy from the host: clean and filled, whatever the line was before */
    uint16_t sm;     /* with KP_HOST_KEEPS_L1, the SM of the access: a CTA's number modulo kp_host_info.sms; else 0 */
    uint8_t path;    /* kp_path */
    uint8_t reserved;
} kp_touch;

/* Way of an access to what all SMs share, for kp_touch.path. */
typedef enum kp_path {
    KP_PATH_DATA = 0,  /* through the SM's L1, or not told */
    KP_PATH_FETCH = 1, /* of instructions, through the SM's instruction cache */
    KP_PATH_AROUND = 2 /* around both: code; or a store to generic or local memory, which some L1s take after all */
} kp_path;

/* Branch predictor of one SM: see kp_host_info.predictor_history_bits. */
typedef struct kp_predictor {
    uint32_t history; /* the last branch in the highest bit, as predicted; taken: 1 */
    uint32_t counter_count;
    const uint8_t* counters; /* indexed by the highest history bits, exclusive or the address of the branch / 4 */
} kp_predictor;

/* The CTAs of a launch; none where its trace cannot be read. */
typedef struct kp_grid {
    uint64_t ctas;
    uint32_t warps, last_warp; /* of a CTA; last_warp ends last, if an instruction takes a step and a load some more */
} kp_grid;

/* Flags of kp_replay. */
enum {
    KP_REPLAY_COVERED = 1u << 0 /* the touches name state_lines distinct lines; else all that could add something */
};

typedef struct kp_replay {
    uint32_t size;         /* set by the host: sizeof(kp_replay) */
    uint32_t flags;        /* KP_REPLAY_* */
    uint64_t launches;     /* earlier launches looked at */
    uint64_t unreadable;   /* of their distinct traces, those that cannot be read; each is named once in the log */
    uint64_t earlier_ctas; /* CTAs of all earlier launches of the process; 0 without KP_HOST_COUNTS_CTAS */
    uint64_t touch_count;
    /* With KP_HOST_KEEPS_ROWS, without KP_REPLAY_COVERED: first what earlier launches were the first to read, in their
     * order, and the copies between; it came from DRAM. */
    const kp_touch* touches;
    uint64_t predictor_count; /* SMs; 0 where the host has no predictors that learn */
    const kp_predictor* predictors;
    uint64_t grid_count;  /* of the launches right before, back to kp_host_info.sms CTAs; as earlier_ctas */
    const kp_grid* grids; /* the last launch first */
} kp_replay;

#ifdef __cplusplus
}
#endif
#endif
