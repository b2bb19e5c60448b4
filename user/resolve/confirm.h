/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * confirm.h - holds the records of a process back until the names of their stacks are certain.
 *
 * The BPF side reads the code objects of CPython up to 3.11 once in a while, not with each sample
 * (bpf/pywindow.bpf.h). A stack that has such code objects (raw_head.codes_ns is not 0) waits here
 * until each of them was read again after it: by the BPF side for a later stack, or from the
 * process when that takes too long. If it is the same, the frame keeps its name. If it is another
 * one, or cannot be read any more, the frame becomes <unresolved>, and is counted. All records of
 * the process that come later wait behind it, so their order stays.
 */
#ifndef TACHBPF_CONFIRM_H
#define TACHBPF_CONFIRM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct confirm;

struct confirm_ops {
	/* Take a record whose names are certain. Its memory is the caller's. 0 or -errno. */
	int (*take)(void *ctx, const void *record, size_t len);
	/*
	 * Read a code object of the process. 0: it has this fingerprint; -ESTALE: it has not;
	 * -EBUSY: there is no time now; another -errno: it cannot be read.
	 */
	int (*check)(void *ctx, uint64_t code, uint32_t id);
};

/* Has the record, of len bytes, a stack with code objects that were not read with it? */
bool confirm_is_unread(const void *record, size_t len);

/* ops and ctx outlive it. NULL: no memory. */
struct confirm *confirm_new(const struct confirm_ops *ops, void *ctx);
/* What it still holds is dropped: call confirm_settle() first. */
void confirm_free(struct confirm *c);

/*
 * The next record of the process, which begins with a struct raw_header. It is taken at once, or
 * copied and held. Returns what take() has returned for the records that were taken, 0 or the first
 * -errno; -ENOMEM: the record is lost.
 */
int confirm_record(struct confirm *c, const void *record, size_t len);
bool confirm_holds(const struct confirm *c);
/* Read what records wait for that are late at now_ns (CLOCK_MONOTONIC). As confirm_record(). */
int confirm_late(struct confirm *c, uint64_t now_ns);
/* Take all records now; what cannot be read becomes <unresolved>. As confirm_record(). */
int confirm_settle(struct confirm *c);

/* Frames that became <unresolved> so far. */
uint64_t confirm_unconfirmed(const struct confirm *c);

#endif
