// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * capture_add.c - the processes that a capture is asked for: with -a all that run on the host when
 * it begins; those that may become Python, and descendants of those that the user named; and those
 * whose thread contexts are read.
 *
 * An inspection takes some 0.2 ms, and a host may have tens of thousands of processes. Where only
 * running processes are sampled, the ticks begin after FIND_FIRST of them, or FIND_FIRST_NS if that
 * comes later; the others are inspected while it records. One that runs meanwhile is inspected at
 * its first tick, which counts as lost (late_discovery).
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "capture/capture_filter.h"
#include "capture/capture_inspect.h"
#include "capture/capture_state.h"
#include "capture/memory_need.h"
#include "capture/proc_table.h"
#include "host/proc.h"
#include "tachbpf.skel.h"
#include "target/thread_ctx_place.h"

#define FIND_FIRST 256
#define FIND_FIRST_NS 50000000ull
/* Processes are found in slices of this length while it records. */
#define FIND_SLICE_NS 5000000ull

/* ---- all processes of the host ---- */

/*
 * Maps of which only some entries are used take the memory of these alone, where the kernel can do
 * that. Programs in process context and user space insert them.
 */
static int let_maps_grow(struct tachbpf_bpf *skel)
{
	struct bpf_map *const growing[] = {
		skel->maps.py_procs, skel->maps.watched, skel->maps.known_exes, skel->maps.marks,
		skel->maps.burst_procs,
	};
	size_t i;
	int err = 0;

	for (i = 0; !err && i < ARRAY_SIZE(growing); i++)
		err = bpf_map__set_map_flags(growing[i], bpf_map__map_flags(growing[i]) |
							 BPF_F_NO_PREALLOC);
	return err;
}

static int processes_configure(struct capture *s)
{
	uint32_t cnt = memory_need_processes(&s->host);

	s->skel->rodata->cfg_all = s->args.all;
	s->skel->rodata->cfg_reads_begin = s->args.reads_begin || s->args.native ||
					   s->args.trace_context || s->args.async;
	s->skel->rodata->cfg_trace_context = s->args.trace_context;
	bpf_map__set_max_entries(s->skel->maps.py_procs, cnt);
	bpf_map__set_max_entries(s->skel->maps.watched, cnt);
	return s->host.grows ? let_maps_grow(s->skel) : 0;
}

static int list_process(void *ctx, pid_t tgid)
{
	struct capture *s = ctx;

	return buf_add(&s->found, &tgid, sizeof(tgid));
}

static size_t found_left(const struct capture *s)
{
	return s->found.len / sizeof(pid_t) - s->found_at;
}

static void inspect_one(struct capture *s, pid_t tgid)
{
	struct proc_info who;
	struct tracked *t;

	/* Tracked processes are known from a record. */
	if (tgid == getpid() || lifecycle_find(&s->life, tgid) || proc_info_read(tgid, &who) ||
	    who.stat.kernel_thread || !capture_filter_meets(s, tgid))
		return;
	t = lifecycle_ask(&s->life, tgid, 0);
	if (!t)
		return;
	t->selected = true;
	capture_inspect_read(s, t, &who);
}

static void forget_found(struct capture *s)
{
	buf_free(&s->found);
	s->found_at = 0;
}

/* Inspects `least` of the remaining processes, or more until until_ns (CLOCK_MONOTONIC). */
static void inspect_some(struct capture *s, size_t least, uint64_t until_ns)
{
	size_t cnt;
	pid_t tgid;

	for (cnt = 0; found_left(s) && !s->life.err && (cnt < least || now_ns() < until_ns);
	     cnt++) {
		memcpy(&tgid, s->found.data + s->found_at++ * sizeof(tgid), sizeof(tgid));
		inspect_one(s, tgid);
	}
	if (!found_left(s))
		forget_found(s);
}

bool capture_finds_late(const struct record_mode_def *mode)
{
	return mode->ticks && !mode->waits && !mode->scan_only && !mode->memory && !mode->events;
}

/* With -a, lists all processes of the host, and inspects the first ones, or all. */
static void processes_find(struct capture *s)
{
	if (!s->args.all)
		return;
	lifecycle_fail(&s->life, proc_each(list_process, s));
	inspect_some(s, capture_finds_late(s->mode) ? FIND_FIRST : SIZE_MAX,
		     now_ns() + FIND_FIRST_NS);
	if (s->life.err)
		log_error("cannot list the processes in /proc: %s", strerror(-s->life.err));
	else if (found_left(s))
		log_debug("%zu processes remain to be inspected during the "
			  "recording", found_left(s));
}

static void processes_inspect(struct capture *s)
{
	if (found_left(s))
		inspect_some(s, 1, now_ns() + FIND_SLICE_NS);
	capture_inspect_due(s);
}

static uint64_t processes_wait_ns(struct capture *s, uint64_t now_ns, uint64_t limit_ns)
{
	return found_left(s) ? 0 : lifecycle_wait_ns(&s->life, now_ns, limit_ns);
}

const struct source_ops capture_processes_source = {
	.scans = true,
	.configure = processes_configure,
	.prepare = processes_find,
	.poll = processes_inspect,
	.wait_ns = processes_wait_ns,
	.free = forget_found,
};

/* ---- processes that the user named ---- */

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

/* ---- thread contexts ---- */

/*
 * Writes the place into the process's entry. If the process executes a program at this moment, the
 * BPF side has deleted the entry, and an old one may be written back. It must not look like one
 * that the BPF side has made at that exec (odd ident, exe): reinstate() in capture_records.c, or
 * the inspection that follows the exec, then writes the right one.
 */
static int put_trace(struct capture *s, const struct tracked *t,
		     const struct thread_ctx_place *place)
{
	struct py_proc py;

	if (!proc_table_get(s->life.table, t->tgid, &py) ||
	    (t->start_ns && py.start_ns && py.start_ns != t->start_ns))
		return -EAGAIN;		/* lost, or another process's */
	if (py.state != PY_PROC_PYTHON)
		return -EAGAIN;		/* its libpython is not found yet */
	if (!memcmp(&py.trace, place, sizeof(py.trace)))
		return 0;
	py.trace = *place;
	py.exe = 0;
	if (py.ident & 1)
		py.ident = lifecycle_new_ident(t->tgid);
	return proc_table_put(s->life.table, t->tgid, &py);
}

int capture_trace_process(struct capture *s, pid_t tgid)
{
	struct tracked *t = lifecycle_find(&s->life, tgid);
	struct thread_ctx_place place;
	int err;

	if (!s->args.trace_context)
		return -EOPNOTSUPP;
	if (!t || !t->process)
		return -ESRCH;
	err = thread_ctx_find(tgid, &place);
	if (!err)
		err = put_trace(s, t, &place);
	if (!err)
		process_set_trace(t->process, &place);
	return err;
}
