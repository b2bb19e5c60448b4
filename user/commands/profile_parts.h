/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * profile_parts.h - reads the files of a large profile set in parallel parts, each into a
 * collection of its own, and joins these in the files' order.
 *
 * Parts are consecutive in the set and of about the same size, or one file each if files are large.
 * The result does not depend on the number of threads, if joining is equivalent to reading the
 * files one after another.
 */
#ifndef TACHBPF_PROFILE_PARTS_H
#define TACHBPF_PROFILE_PARTS_H

#include <stdbool.h>

#include "commands/profile_set.h"

/* A set is read in parts if there are at least two of this many bytes, and in at most this many. */
#define PROFILE_PART_BYTES (1u << 20)
/*
 * Minimum average size of its files: opening small ones takes most of their time, and is not faster
 * in several threads, which all change the same address space.
 */
#define PROFILE_PART_FILE_BYTES (64u << 10)
#define PROFILE_PARTS_MAX 16

/* How a collection (of a whole set, or of a part) is filled and joined. */
struct profile_parts_ops {
	/* Size of a part's collection, whose first member is its struct profile_set. */
	size_t bytes;
	/* Initialises a zeroed part like whole, without profiles. 0 or -ENOMEM. */
	int (*begin)(void *part, const void *whole);
	/* As for profile_set_each(); its messages are printed when the parts are joined. */
	int (*add)(void *part, const struct profile_file *file, struct reader *r);
	/*
	 * profile_parts_read(): returns true if everything that was read can be joined. NULL:
	 * always. first: the first part.
	 */
	bool (*fits)(const void *first, const void *part);
	/*
	 * Adds all of part, the last one so far, except its set. 0 or -errno;
	 * profile_parts_in_turn(): 1: it does not fit, and nothing was changed.
	 */
	int (*join)(void *whole, void *part);
	/*
	 * profile_parts_in_turn(): reads the whole set, a part of whole's, into whole. 0 or -errno.
	 */
	int (*read_again)(void *whole, struct profile_set *set);
	/* Frees what the part has besides its set, also if begin() failed. */
	void (*end)(void *part);
};

/*
 * Reads the set in parts, and joins them to whole, which is empty. 0, or -errno of a join. 1: the
 * set is small, there is one CPU, or the parts do not fit each other: nothing was changed or
 * printed, and the caller reads it as one.
 */
int profile_parts_read(struct profile_set *set, const struct profile_parts_ops *ops, void *whole);

/*
 * The same for collections that take much memory: parts are small, each is joined in order while
 * others are read, and then freed, and only a few more exist at a time than there are threads. One
 * that does not fit, or that could not be read, is read again, into whole. Returns 0, or -errno of
 * the first part that failed; the following ones are left out. 1: the set is small, or there is one
 * CPU: nothing was changed or printed, and the caller reads it as one.
 */
int profile_parts_in_turn(struct profile_set *set, const struct profile_parts_ops *ops,
			  void *whole);

#endif
