/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* heap_diff.h - tachbpf diff of two censuses that tachbpf heap --json has written: what grew. */
#ifndef TACHBPF_HEAP_DIFF_H
#define TACHBPF_HEAP_DIFF_H

#include <stdbool.h>

struct diff_options;

/* Returns true if one of the two files is such a census. */
bool heap_diff_takes(const struct diff_options *opts);

/* Compares them. Returns the exit status; each error was logged. */
int heap_diff_run(const struct diff_options *opts);

#endif
