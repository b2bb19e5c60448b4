// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * capture_add.c - selects processes that may become Python, and descendants of the processes
 * that the user named.
 */
#include <bpf/libbpf.h>

#include "capture/capture_heap.h"
#include "capture/capture_inspect.h"
#include "capture/capture_state.h"
#include "host/proc.h"
#include "tachbpf.skel.h"

int capture_watch(struct capture *s, pid_t tgid, enum watch how)
{
	uint32_t key = tgid, value = how;

	capture_heap_choose(s, tgid);
	return bpf_map__update_elem(s->skel->maps.watched, &key, sizeof(key), &value, sizeof(value),
				    BPF_ANY);
}

struct children {
	struct capture *s;
	pid_t ancestor;
};

static int add_child(void *ctx, pid_t tgid)
{
	struct children *c = ctx;
	struct tracked *t;
	int err;

	if (tgid == c->ancestor || !proc_descends_from(tgid, c->ancestor))
		return 0;
	err = capture_watch(c->s, tgid, WATCH_CHILDREN);
	if (err || lifecycle_process(&c->s->life, tgid))
		return err;
	t = lifecycle_ask(&c->s->life, tgid, 0);
	if (!t)
		return c->s->life.err;
	capture_inspect(c->s, t);
	return 0;
}

int capture_add_children(struct capture *s, pid_t tgid)
{
	struct children children = { s, tgid };
	int err = capture_watch(s, tgid, WATCH_CHILDREN);

	/* Twice: a child may have forked before it was watched, to a lower pid. */
	if (!err)
		err = proc_each(add_child, &children);
	return err ? err : proc_each(add_child, &children);
}
