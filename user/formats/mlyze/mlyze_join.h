/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * mlyze_join.h - makes a .mlyze file of the two files of mlyze_stream.h: of a recording that has
 * ended, or of one that was killed. Neither file is trusted: what follows the first record that is
 * not whole, or makes no sense, is left out.
 */
#ifndef TACHBPF_MLYZE_JOIN_H
#define TACHBPF_MLYZE_JOIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mlyze_joined {
	uint64_t events;	/* in the new file */
	uint64_t dropped;	/* bytes at the end of the events that are not in it */
	bool ended;		/* its last event says that the recording ended regularly */
};

/*
 * Join NAME.events and NAME.names in dirfd to the file that is open as out (empty, seekable), and
 * leave them as they are. 0; -ENOENT: one of them is not there; -EFBIG: the metadata would exceed
 * 4 GiB; -EBADMSG: NAME.names is no journal; other -errno. why: in one line, why not.
 */
int mlyze_join_to(int out, int dirfd, const char *name, struct mlyze_joined *joined, char *why,
		  size_t why_size);

/*
 * The same, to the file NAME beside them, whole or not at all; then they are removed. why "": it was
 * logged.
 */
int mlyze_join(int dirfd, const char *name, struct mlyze_joined *joined, char *why,
	       size_t why_size);

/* Are the two files still written: has a writer locked their names, or the directory? */
bool mlyze_is_live(int dirfd, const char *name);

/* Remove the two files. */
void mlyze_remove_parts(int dirfd, const char *name);

#endif
