/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * remarks.h - remarks of a capture on processes that are not, or only partly, profiled: mostly
 * unsupported Python versions.
 */
#ifndef TACHBPF_REMARKS_H
#define TACHBPF_REMARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/event.h"

/* Limits: of all, and of one user other than root. */
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
	size_t cnt, cap, more;	/* more: dropped ones */
};

/*
 * Adds a remark; comm and why are copied. Returns true if the user must be told now: nothing said
 * the same of this process, or of another one of uid and that name. Without room it counts in more.
 */
bool remarks_add(struct remarks *r, pid_t tgid, uint32_t uid, const char *comm, const char *why);
/* Adds those in from whose processes are still alive. */
void remarks_add_living(struct remarks *r, const struct remarks *from);
void remarks_free(struct remarks *r);

#endif
