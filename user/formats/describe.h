/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * describe.h - facts about a file, to be printed for people or as JSON.
 *
 * Readers call these functions; the printer implements them. Keys are JSON names, and words of a
 * heading for people ("peak_bytes": "peak bytes"). Values may have any bytes.
 */
#ifndef TACHBPF_DESCRIBE_H
#define TACHBPF_DESCRIBE_H

#include <stddef.h>
#include <stdint.h>

struct describe {
	void (*text)(struct describe *d, const char *key, const char *s, size_t len);
	void (*number)(struct describe *d, const char *key, uint64_t v);
	/* A list of objects: list, then (item, facts...) any number of times, then list_end. */
	void (*list)(struct describe *d, const char *key);
	void (*item)(struct describe *d);
	void (*list_end)(struct describe *d);
};

struct buf;
/* A list of one text each. texts: const char *, NUL-terminated. */
void describe_texts(struct describe *d, const char *list, const char *key, const struct buf *texts);

#endif
