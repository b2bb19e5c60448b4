/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * input.h - the bytes of a file that is read, mapped.
 *
 * A file that is cut short by somebody else while it is mapped ends the process
 * (SIGBUS); we take the size that fstat() told.
 */
#ifndef TACHBPF_INPUT_H
#define TACHBPF_INPUT_H

#include <stddef.h>
#include <stdint.h>

struct input {
	const char *path;	/* as it was given */
	const uint8_t *data;
	size_t size;		/* not 0 */
};

/* NULL with errno and a one-line reason in why. */
struct input *input_map(const char *path, char *why, size_t why_size);
void input_unmap(struct input *in);

#endif
