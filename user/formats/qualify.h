/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * qualify.h - "mod.func": names of functions for readers that take functions with the same
 * name for the same, as all of pprof's do.
 *
 * A function's name is preceded by that of its module, and by as many directories as are
 * needed to distinguish it from other files. If two files compete for a name, the first one
 * gets the shorter name.
 */
#ifndef TACHBPF_QUALIFY_H
#define TACHBPF_QUALIFY_H

#include <stdint.h>

struct qualifier;

/* NULL with errno. Freed by qualifier_free(). */
struct qualifier *qualifier_new(void);
void qualifier_free(struct qualifier *q);

/*
 * The name of func in the file with this number and (printable) path; the caller frees
 * *name. 0 or -ENOMEM.
 */
int qualify_name(struct qualifier *q, uint32_t file, const char *path, const char *func,
		 char **name);

#endif
