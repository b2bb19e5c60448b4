// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* remarks.c - see remarks.h. */
#include "recording/remarks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "host/proc.h"

/*
 * Returns true if there is room for one more. One user's processes leave some for those of others.
 */
static bool has_room(const struct remarks *r, uint32_t uid)
{
	size_t i, its = 0;

	for (i = 0; i < r->cnt; i++)
		its += r->list[i].uid == uid;
	return r->cnt < REMARKS_MAX && (!uid || its < REMARKS_OF_USER);
}

bool remarks_add(struct remarks *r, pid_t tgid, uint32_t uid, const char *comm, const char *why)
{
	struct remark new = { .tgid = tgid, .uid = uid };
	bool said = false;
	size_t i;

	for (i = 0; i < r->cnt; i++) {
		if (strcmp(r->list[i].why, why) != 0)
			continue;
		if (r->list[i].tgid == tgid)
			return false;
		said |= r->list[i].uid == uid && !strcmp(r->list[i].comm, comm);
	}
	if (!has_room(r, uid)) {
		r->more++;
		return false;
	}
	snprintf(new.comm, PROC_COMM_MAX, "%s", comm);
	snprintf(new.why, sizeof(new.why), "%s", why);
	/* Without memory it is reported, but not kept. */
	(void)array_add(r->list, r->cnt, r->cap, new);
	return !said;
}

void remarks_add_living(struct remarks *r, const struct remarks *from)
{
	const struct remark *one;
	size_t i;

	for (i = 0; i < from->cnt; i++) {
		one = &from->list[i];
		if (proc_living_task(one->tgid))
			remarks_add(r, one->tgid, one->uid, one->comm, one->why);
	}
}

void remarks_free(struct remarks *r)
{
	free(r->list);
	*r = (struct remarks){ 0 };
}
