/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * spool_dir.h - the spool: a directory of requests that servers did not take yet.
 *
 * Each entry is one file, "<16 hexadecimal digits>.spool": its number, which only increases,
 * determines the order; no clock does. A file is written with the name "<number>.tmp" and renamed,
 * so whatever kills the agent leaves whole entries, and leftovers that the next start removes.
 *
 * Nothing is forced to the disk (no fsync): a slow disk could stop the capture for any time.
 * Entries survive the end of the agent, kill -9 and a reboot. After a power cut those of the last
 * half minute may be missing or damaged; the checksums find the damaged ones.
 *
 * The spool is limited in bytes and in entries: the oldest one that is not being sent makes room.
 * The directory belongs only to the user who runs the agent. All functions run in the main process
 * and none waits for anything except the disk.
 */
#ifndef TACHBPF_SPOOL_DIR_H
#define TACHBPF_SPOOL_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "delivery/spool_entry.h"

#define SPOOL_DIR_DEFAULT "/var/lib/tachbpf/spool"
#define SPOOL_BYTES_DEFAULT (256u << 20)
#define SPOOL_ENTRIES_DEFAULT 16384

struct spool_dir;

struct spool_entry {
	TAILQ_ENTRY(spool_entry) link;	/* from old to new, by seq */
	uint64_t seq;			/* its number */
	uint64_t disk_bytes;		/* its size for the limit: whole pages */
	uint64_t created_ns;		/* wall clock */
	uint64_t samples, weight;
	uint32_t head_bytes, payload_bytes, payload_crc;
	uint16_t exporter;		/* for spool_dir_exporter() */
	bool busy;			/* the caller's: it is being sent, and cannot make room */
	void *owner;			/* the caller's */
};

struct spool_limits {
	uint64_t bytes;		/* 0: the default */
	size_t entries;		/* 0: the default */
};

/* Results of the start and counts since then; for metrics. */
struct spool_counts {
	uint64_t found;			/* whole entries at the start */
	uint64_t leftovers;		/* unfinished files that were removed */
	uint64_t damaged;		/* wrong checksum or size; removed */
	uint64_t other_version;		/* of another version of the agent; removed */
	uint64_t disk_failures;		/* entries that a full or broken disk did not take */
};

/* Called before an entry is removed to make room for others. It must not call the spool. */
typedef void (*spool_gone_fn)(void *ctx, const struct spool_entry *e);

/*
 * Opens or creates the directory (and its parent), locks it, and reads its entries. Returns 0;
 * -errno, which was logged with the remedy: -EBUSY: another agent uses it; -EPERM: it is not ours
 * alone. *out is freed by spool_dir_close(). gone: NULL: not needed.
 */
int spool_dir_open(struct spool_dir **out, const char *path, const struct spool_limits *limits,
		   spool_gone_fn gone, void *ctx);
/* Frees the entries in memory, which stay on the disk, and releases the lock. NULL: nothing. */
void spool_dir_close(struct spool_dir *s);

/* Changes the limits. Entries that no longer fit are dropped. */
void spool_dir_set_limits(struct spool_dir *s, const struct spool_limits *limits);

/* Takes the next number, for a request that may have to be stored later, in its place. */
uint64_t spool_dir_take_seq(struct spool_dir *s);

/*
 * Stores a request with a number that was taken, once. Returns 0; -EFBIG: it is larger than the
 * whole spool; another -errno: the disk does not take it (counted; logged when that begins and
 * ends); then nothing has changed, except that older entries may be gone.
 */
int spool_dir_put(struct spool_dir *s, uint64_t seq, const struct request_info *info,
		  const void *payload, size_t len, struct spool_entry **out);

/*
 * Opens an entry for reading and checks all of it. Returns the descriptor, which the caller owns
 * and cannot write to; its payload follows e->head_bytes. -EBADMSG: it is damaged (counted);
 * another -errno: it cannot be read. In both cases the caller removes it.
 */
int spool_dir_get(struct spool_dir *s, const struct spool_entry *e, struct request_info *info);

/* Removes an entry, which was sent or is useless. e is freed. */
void spool_dir_remove(struct spool_dir *s, struct spool_entry *e);

/* Returns the oldest entry, or NULL. The following ones are its TAILQ_NEXT(e, link). */
struct spool_entry *spool_dir_oldest(const struct spool_dir *s);
/* Returns the name of an entry's exporter. */
const char *spool_dir_exporter(const struct spool_dir *s, const struct spool_entry *e);
/* The directory's descriptor, which stays the spool's, for other files in it (spool_draft.h). */
int spool_dir_fd(const struct spool_dir *s);
/* Return how much is in the spool. */
uint64_t spool_dir_bytes(const struct spool_dir *s);
size_t spool_dir_cnt(const struct spool_dir *s);
const struct spool_counts *spool_dir_counts(const struct spool_dir *s);

#endif
