// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * capture_add.c - selects processes that may become Python, and descendants of the processes
 * that the user named; says why one that was named is not recorded.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "capture/capture_heap.h"
#include "capture/capture_inspect.h"
#include "capture/capture_state.h"
#include "host/proc.h"
#include "target/discover.h"
#include "tachbpf.skel.h"

/* How many ancestors of a process are checked. */
#define ANCESTORS_MAX 64

int capture_watch(struct capture *s, pid_t tgid, enum watch how)
{
	uint32_t key = tgid, value = how;

	capture_heap_choose(s, tgid);
	return bpf_map__update_elem(s->skel->maps.watched, &key, sizeof(key), &value, sizeof(value),
				    BPF_ANY);
}

static bool descends_from(pid_t tgid, pid_t ancestor)
{
	struct proc_stat st;
	int i;

	for (i = 0; i < ANCESTORS_MAX && !proc_stat(tgid, &st); i++) {
		if (st.ppid == ancestor)
			return true;
		tgid = st.ppid;
	}
	return false;
}

/* The first Python that a process has started. */
struct python_below {
	struct capture *s;
	pid_t ancestor;
	struct proc_info who;
};

static int find_below(void *ctx, pid_t tgid)
{
	struct python_below *b = ctx;
	struct discovered found;
	uint64_t files = 0;
	int err;

	if (tgid == b->ancestor || !descends_from(tgid, b->ancestor) ||
	    proc_info_read(tgid, &b->who))
		return 0;
	err = discovery_inspect(b->s->discovery, &b->who, &files, 0, &found);
	return !err || err == -EAGAIN || err == -ENOTSUP;
}

/* As of PyInstaller, whose programs start themselves again, or of a shell. */
static void say_not_python(struct capture *s, pid_t tgid)
{
	struct python_below b = { .s = s, .ancestor = tgid };
	char comm[4 * PROC_COMM_MAX];

	if (proc_each(find_below, &b) > 0)
		log_error("process %d is not Python, but it has started process %d (%s), which is: "
			  "give that one", tgid, b.who.tgid,
			  escape_text(b.who.stat.comm, strlen(b.who.stat.comm), comm, sizeof(comm)));
	else
		log_error("process %d is not Python: no interpreter and no libpython in it "
			  "(tachbpf -a lists what it finds)", tgid);
}

int capture_refuse(struct capture *s, pid_t tgid, int err, const char *why)
{
	if (s->life.err)
		return s->life.err;	/* its file cannot be created; that was logged */
	if (err == -ENOENT && s->args.children)
		log_warn("process %d is not Python: only what it starts is recorded", tgid);
	else if (err == -ENOENT)
		say_not_python(s, tgid);
	else if (err == -EACCES || err == -EPERM)
		log_error("process %d cannot be profiled: the kernel does not let this user read "
			  "its memory (%s); a security module, or a user namespace that it is in, "
			  "protects it", tgid, why);
	else
		log_error("process %d cannot be profiled: %s", tgid, why);
	return err;
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

	if (tgid == c->ancestor || !descends_from(tgid, c->ancestor))
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
