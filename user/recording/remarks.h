/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * remarks.h - what a capture has said of processes that are not profiled, or not all of them:
 * mostly Pythons that are not supported.
 */
#ifndef TACHBPF_REMARKS_H
#define TACHBPF_REMARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/event.h"

/* How many are kept; of one user other than root. */
#define REMARKS_MAX 1000
#define REMARKS_OF_USER 250

struct remark {
	pid_t tgid;
	uint32_t uid;
	char comm[PROC_COMM_MAX];
	char why[256];
};

/* Zero-initialise; freed by remarks_free(). */
struct remarks {
	struct remark *list;
	size_t cnt, cap, more;	/* more: those that are not kept */
};

/*
 * Add one; comm and why are copied. True: it is new; false: it is there already, or there is no
 * room, which counts in more.
 */
bool remarks_add(struct remarks *r, pid_t tgid, uint32_t uid, const char *comm, const char *why);
/* Add those of from whose processes still live. */
void remarks_add_living(struct remarks *r, const struct remarks *from);
void remarks_free(struct remarks *r);

#endif
