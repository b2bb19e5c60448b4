/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * spool_dir.h - the spool: a directory of requests that servers did not take yet.
 *
 * One entry is one file, "<16 hexadecimal digits>.spool": its number, which only grows, says its
 * place in the order; no clock does. A file is written with the name "<number>.tmp" and renamed, so
 * whatever kills the agent leaves whole entries, and leftovers that the next start removes.
 *
 * Nothing is forced to the disk (no fsync): that would hold up the capture for as long as a slow
 * disk likes. Entries survive the end of the agent, kill -9 and a reboot. After a power cut those
 * of the last half minute may be missing or damaged; the checksums find the damaged ones.
 *
 * The spool is bounded in bytes and in entries: the oldest that is not being sent makes room. The
 * directory belongs to whoever runs the agent, alone. All functions run in the main process and
 * none waits for anything but the disk.
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
	uint64_t disk_bytes;		/* what it counts: whole pages */
	uint64_t created_ns;		/* wall clock */
	uint64_t samples, weight;
	uint32_t head_bytes, payload_bytes, payload_crc;
	uint16_t exporter;		/* for spool_dir_exporter() */
	bool busy;			/* the caller's: it is being sent, and does not make room */
	void *owner;			/* the caller's */
};

struct spool_limits {
	uint64_t bytes;		/* 0: the default */
	size_t entries;		/* 0: the default */
};

/* What was found at the start and since then; for metrics. */
struct spool_counts {
	uint64_t found;			/* whole entries at the start */
	uint64_t leftovers;		/* unfinished files that were removed */
	uint64_t damaged;		/* wrong checksum or size; removed */
	uint64_t other_version;		/* of another version of the agent; removed */
	uint64_t disk_failures;		/* entries that a full or broken disk did not take */
};

/* Called before an entry goes to make room for others. It must not call the spool. */
typedef void (*spool_gone_fn)(void *ctx, const struct spool_entry *e);

/*
 * Open or create the directory (and its parent), lock it, and read what is there. 0; -errno, which
 * was logged with the remedy: -EBUSY: another agent uses it; -EPERM: it is not ours alone. *out is
 * freed by spool_dir_close(). gone: NULL: nobody needs to know.
 */
int spool_dir_open(struct spool_dir **out, const char *path, const struct spool_limits *limits,
		   spool_gone_fn gone, void *ctx);
/* Forget the entries, which stay on the disk, and release the lock. NULL: nothing. */
void spool_dir_close(struct spool_dir *s);

/* Other limits from now on. What does not fit goes. */
void spool_dir_set_limits(struct spool_dir *s, const struct spool_limits *limits);

/* Take the next number, for a request that may have to be stored later, in its place. */
uint64_t spool_dir_take_seq(struct spool_dir *s);

/*
 * Store a request with a number that was taken, once. 0; -EFBIG: it is larger than the whole spool;
 * other -errno: the disk does not take it (counted; logged when that begins and ends); then nothing
 * has changed, but that older entries may have gone.
 */
int spool_dir_put(struct spool_dir *s, uint64_t seq, const struct request_info *info,
		  const void *payload, size_t len, struct spool_entry **out);

/*
 * Open an entry for reading and check all of it. Returns the descriptor, which is the caller's and
 * cannot be written to; its payload is behind e->head_bytes. -EBADMSG: it is damaged (counted);
 * other -errno: it cannot be read. In both cases the caller removes it.
 */
int spool_dir_get(struct spool_dir *s, const struct spool_entry *e, struct request_info *info);

/* Remove an entry, which was sent or is of no use. e is freed. */
void spool_dir_remove(struct spool_dir *s, struct spool_entry *e);

/* The oldest entry; NULL: none. The following ones are its TAILQ_NEXT(e, link). */
struct spool_entry *spool_dir_oldest(const struct spool_dir *s);
/* The name of an entry's exporter. */
const char *spool_dir_exporter(const struct spool_dir *s, const struct spool_entry *e);
/* How much is in the spool. */
uint64_t spool_dir_bytes(const struct spool_dir *s);
size_t spool_dir_cnt(const struct spool_dir *s);
const struct spool_counts *spool_dir_counts(const struct spool_dir *s);

#endif
