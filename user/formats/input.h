/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * input.h - the bytes of an input file, mapped.
 *
 * If somebody truncates the file while it is mapped, the process ends (SIGBUS). The size is the one
 * that fstat() returned.
 */
#ifndef TACHBPF_INPUT_H
#define TACHBPF_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct input {
	const char *path;	/* as the user gave it */
	const uint8_t *data;
	size_t size;		/* in bytes, > 0 */
};

/* Maps a file. Returns NULL with errno, and a one-line reason in why. Free it by input_unmap(). */
struct input *input_map(const char *path, char *why, size_t why_size);
void input_unmap(struct input *in);

/*
 * Maps a file that may be empty (data: NULL) or still be written; what is written to the mapping
 * stays in it. *locked, unless NULL: its writer holds a lock on it. Returns 0 or -errno.
 */
int input_map_private(struct input *in, const char *path, bool *locked);
void input_unmap_private(struct input *in);

#endif
