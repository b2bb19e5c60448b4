/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * qualify.h - "mod.func": names of functions for readers that take two functions
 * of one name for the same, as all of pprof's do.
 *
 * A function gets the name of its module, and as many directories before it as
 * it takes to be no other file's. Which of two files gets the shorter name is a
 * matter of who comes first.
 */
#ifndef TACHBPF_QUALIFY_H
#define TACHBPF_QUALIFY_H

#include <stdint.h>

struct qualifier;

/* NULL with errno. */
struct qualifier *qualifier_new(void);
void qualifier_free(struct qualifier *q);

/*
 * The name of func in the file with this number and (printable) path; *name is to be
 * freed. 0 or -ENOMEM.
 */
int qualify_name(struct qualifier *q, uint32_t file, const char *path, const char *func,
		 char **name);

#endif
