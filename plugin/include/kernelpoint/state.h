/* The extension kp_state: a simulator that keeps state between launches begins each simulated launch with the state
 * that all launches before it leave, whichever of them were simulated. C99.
 *
 * A host that can empty its caches and fill them line by line opens its session with kp_state.open, which takes a
 * kp_kept beside the kp_host. Before a launch with KP_ORDER_RESTORE it empties its state, calls kp_state.before, and
 * applies the touches in their order. A host that restores state by its own means sets KP_KEPT_RESTORES, and only has
 * to do so before such a launch. Any other launch begins with whatever the simulator holds.
 */
#ifndef KERNELPOINT_STATE_H
#define KERNELPOINT_STATE_H

#include "abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KP_STATE "kp_state" /* name of the extension, for kp_core.extension */

#define KP_LINE_BYTES 128u  /* of a line of memory: four sectors */
#define KP_SECTOR_BYTES 32u /* of a sector */

/* Flags of kp_kept. */
enum {
    KP_KEPT_RESTORES = 1u << 0,    /* the host makes the state itself: from a copy, or by simulating launches before */
    KP_KEPT_COPIES_FILL = 1u << 1, /* copies of the list (MemcpyHtoD) fill the state */
    KP_KEPT_ROWS = 1u << 2,        /* rows of DRAM stay open: touches begin with first reads, see kp_replay.touches */
    KP_KEPT_COUNTS_CTAS = 1u << 3  /* kp_replay.earlier_ctas and .grids are wanted */
};

/* The state that the simulator keeps between launches, and what decides the order in which CTAs touch it. */
typedef struct kp_kept {
    uint32_t size;
    uint32_t flags; /* KP_KEPT_* */
    uint64_t lines; /* of memory in the state (L2: its size / KP_LINE_BYTES; more where its sets fill unevenly) */
    uint32_t sms;   /* these five: capacity of the simulated GPU; 0 where unknown */
    uint32_t ctas_per_sm;
    uint32_t warps_per_sm;
    uint32_t registers_per_sm;
    uint32_t shared_memory_per_sm; /* bytes */
    uint32_t byte_count;
    /* Options, with their values, under which a full run keeps state that replay does not put back: the bound is then
     * on the sampling error only. NULL: none. */
    const char* not_replayed;
    /* Between a simulator's hook and the folders NAME of plugin/simulators and python/kernelpoint/simulators. */
    const void* bytes;
} kp_kept;

/* Effect of one launch, or one copy from the host, on one line of memory. Masks have a bit for each sector. */
typedef struct kp_touch {
    uint64_t line;   /* address of its first byte */
    uint8_t touched; /* sectors read or written */
    uint8_t written; /* of those, written: by stores or atomics */
    uint8_t filled;  /* of those, read, or written in every byte: complete without what DRAM holds */
    uint8_t copied;  /* 1: by a copy from the host: clean and filled, whatever the line was before */
    uint32_t opaque; /* as kp_kept.bytes; 0 for hosts that state none */
} kp_touch;

/* The CTAs of a launch; none where its trace cannot be read. */
typedef struct kp_grid {
    uint64_t ctas;
    uint32_t warps, last_warp; /* of a CTA; last_warp ends last, if an instruction takes a step and a load some more */
} kp_grid;

enum { KP_REPLAY_COVERED = 1u << 0 /* flag of kp_replay: touches name `lines` distinct lines; else all there are */ };

/* Arrays live until the next call on the session. The host states the size of their elements, as it knows them. */
typedef struct kp_replay {
    uint32_t size;
    uint32_t flags;        /* KP_REPLAY_* */
    uint32_t touch_size;   /* set by the host: sizeof(kp_touch) */
    uint32_t grid_size;    /* set by the host: sizeof(kp_grid) */
    uint64_t launches;     /* earlier launches looked at */
    uint64_t unreadable;   /* of their distinct traces, those that cannot be read; each is named once in the log */
    uint64_t earlier_ctas; /* of all earlier launches of the process; 0 without KP_KEPT_COUNTS_CTAS */
    uint64_t touch_count;
    /* Oldest first. Each acts as a launch would: the touched sectors are valid and were used last, the written ones are
     * dirty, and a sector that was dirty before stays so unless it is copied. A line comes more than once where an
     * older touch adds something. With KP_KEPT_ROWS and without KP_REPLAY_COVERED the first ones are what earlier
     * launches were the first to read, in their order, with the copies between: that came from DRAM. */
    const kp_touch* touches;
    uint64_t grid_count;
    const kp_grid* grids; /* of the launches right before, the last one first, back to kp_kept.sms CTAs */
    uint64_t byte_count;
    const void* bytes; /* as kp_kept.bytes */
} kp_replay;

typedef struct kp_state {
    uint32_t size;
    /* kp_core.open, of a host that keeps state. */
    kp_status (*open)(const char* config_path, const kp_host* host, const kp_kept* kept, kp_session** session);
    /* The state that the launches before one leave: functional warming.
     * KP_OK | KP_EINVAL: unknown launch, no lines, no trace list on disk | KP_EFAILED. */
    kp_status (*before)(kp_session* session, uint32_t process, uint64_t index, kp_replay* replay);
} kp_state;

#ifdef __cplusplus
}
#endif
#endif
