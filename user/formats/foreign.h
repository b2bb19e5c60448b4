/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* foreign.h - recognises files of other tools that are not read here. */
#ifndef TACHBPF_FOREIGN_H
#define TACHBPF_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>

struct input;

/*
 * If the file is of a known kind that is not read, sets why to a sentence that names it and says
 * what to do. Takes time: only for files that no reader has accepted.
 */
bool foreign_explain(const struct input *in, char *why, size_t why_size);

#endif
