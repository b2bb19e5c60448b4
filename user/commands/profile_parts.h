/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * profile_parts.h - reads the files of a large profile set in parts at the same time, each
 * into a collection of its own, and joins these in the files' order.
 *
 * Parts are neighbours in the set and of about the same size, or a file each if files are large.
 * What comes out does not depend on how many threads there were: if joining is as if the files had
 * been read one after another.
 */
#ifndef TACHBPF_PROFILE_PARTS_H
#define TACHBPF_PROFILE_PARTS_H

#include <stdbool.h>

#include "commands/profile_set.h"

/* A set is read in parts if two of at least so many bytes come out, and then in at most so many. */
#define PROFILE_PART_BYTES (1u << 20)
/* And if its files have so many bytes on average: to open small ones is most of their time, and no
 * faster in several threads, which all change the one address space. */
#define PROFILE_PART_FILE_BYTES (64u << 10)
#define PROFILE_PARTS_MAX 16

/* How a collection (of a whole set, or of a part) is filled and joined. */
struct profile_parts_ops {
	/* The size of a part's collection, whose first member is its struct profile_set. */
	size_t bytes;
	/* Make a part of zeros like whole, without profiles. 0 or -ENOMEM. */
	int (*begin)(void *part, const void *whole);
	/* profile_set_each()'s; what it logs is printed when the parts are joined. */
	int (*add)(void *part, const struct profile_file *file, struct reader *r);
	/*
	 * profile_parts_read(): can all that was read be joined? NULL: always. first: the first
	 * part.
	 */
	bool (*fits)(const void *first, const void *part);
	/*
	 * Add all of part, which is the last one so far, but its set. 0 or -errno;
	 * profile_parts_in_turn(): 1: it does not fit, and nothing was changed.
	 */
	int (*join)(void *whole, void *part);
	/*
	 * profile_parts_in_turn(): read all of the set, a part of whole's, into whole. 0 or
	 * -errno.
	 */
	int (*read_again)(void *whole, struct profile_set *set);
	/* Free what the part has beside its set, also if begin() failed. */
	void (*end)(void *part);
};

/*
 * Read the set in parts, and join them to whole, which is empty. 0, or -errno of a join. 1: the
 * set is small, there is one CPU, or the parts do not fit each other: nothing was changed or
 * printed, and the caller reads it as one.
 */
int profile_parts_read(struct profile_set *set, const struct profile_parts_ops *ops, void *whole);

/*
 * The same for collections that take much memory: parts are small, each is joined in its turn while
 * others are read, and then freed, and only a few more than there are threads are there at a time.
 * One that does not fit, or that could not be read, is read again, into whole. Returns 0, or -errno
 * of the first part that failed; those behind it are left out. 1: the set is small, or there is one
 * CPU: nothing was changed or printed, and the caller reads it as one.
 */
int profile_parts_in_turn(struct profile_set *set, const struct profile_parts_ops *ops,
			  void *whole);

#endif
