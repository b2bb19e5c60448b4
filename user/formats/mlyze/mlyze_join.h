/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * mlyze_join.h - makes a .mlyze file from the two files of mlyze_stream.h: of a recording that has
 * ended, or of one that was killed. Neither file is trusted: everything from the first incomplete
 * or invalid record on is left out.
 */
#ifndef TACHBPF_MLYZE_JOIN_H
#define TACHBPF_MLYZE_JOIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mlyze_joined {
	uint64_t events;	/* in the new file */
	uint64_t dropped;	/* bytes at the end of the events that were left out */
	bool ended;		/* its last event says that the recording ended regularly */
};

/*
 * Joins NAME.events and NAME.names in dirfd to the file that is open as out (empty, seekable), and
 * leaves them as they are. Returns 0; -ENOENT: one of them is missing; -EFBIG: the metadata would
 * exceed 4 GiB; -EBADMSG: NAME.names is no journal; other -errno. why: the reason in one line.
 */
int mlyze_join_to(int out, int dirfd, const char *name, struct mlyze_joined *joined, char *why,
		  size_t why_size);

/*
 * Likewise, to the file NAME next to them, completely or not at all; then removes them. why "": it
 * was logged.
 */
int mlyze_join(int dirfd, const char *name, struct mlyze_joined *joined, char *why,
	       size_t why_size);

/* Returns true if they are still written: a writer has locked their names, or the directory. */
bool mlyze_is_live(int dirfd, const char *name);

/* Removes the two files. */
void mlyze_remove_parts(int dirfd, const char *name);

#endif
