/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * replay.h - remembers all reads of a walk, to find out later whether it would end as it did.
 *
 * A walk is a function of what it reads. If all of that is unchanged, so is its answer, and all can
 * be read again with one system call, instead of one after the other.
 */
#ifndef TACHBPF_CPYTHON_REPLAY_H
#define TACHBPF_CPYTHON_REPLAY_H

#include <stdbool.h>

#include "cpython/code.h"

/* Limits of one walk: on reads, as many as process_vm_readv() takes at a time, and on bytes. */
#define REPLAY_READS_MAX 1024
#define REPLAY_BYTES_MAX 65536u

struct replay_read {
	uint64_t addr;
	uint32_t at, len;	/* in bytes[] */
};

/* While a walk is recorded. */
struct replay {
	struct target_mem mem;		/* to read from */
	bool whole;			/* so far everything was recorded, and readable */
	uint32_t read_cnt, byte_cnt;
	struct replay_read reads[REPLAY_READS_MAX];
	uint8_t bytes[REPLAY_BYTES_MAX];
};

/* A walk that was recorded. */
struct replay_kept {
	uint32_t read_cnt, byte_cnt;
	struct replay_read *reads;
	uint8_t *bytes;
};

/*
 * Read all places of a process into buf, one after another: len bytes in total. 0 or -errno. ctx:
 * that of the walk's target_mem.
 */
typedef int (*replay_gather_fn)(void *ctx, const struct replay_read *reads, uint32_t cnt,
				uint8_t *buf, size_t len);

/* Record from now on what is read with replay_read_mem(), whose ctx is r; it reads from *mem. */
void replay_begin(struct replay *r, const struct target_mem *mem);
int replay_read_mem(void *ctx, uint64_t addr, void *buf, size_t len);

/*
 * Keep what was recorded; *kept, which replay_drop() frees, is overwritten. Returns false if it is
 * not whole, or there is no memory: then *kept is 0.
 */
bool replay_keep(const struct replay *r, struct replay_kept *kept);
/* Returns true if everything would be read as it was then. */
bool replay_is_same(const struct replay_kept *kept, replay_gather_fn gather, void *ctx);
void replay_drop(struct replay_kept *kept);

#endif
