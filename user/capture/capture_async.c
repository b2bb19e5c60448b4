// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * capture_async.c - the part of a capture for --async: finds where asyncio keeps the tasks of each
 * profiled process, and tells the BPF side (bpf/abi_await.h).
 *
 * A process is looked at when it begins. If it has not loaded asyncio yet, the BPF side reports
 * when it has mapped more code (RAW_CHANGED), and it is looked at again. A forked child has its
 * parent's tasks, and so its parent's place.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <time.h>

#include "base/text.h"
#include "base/util.h"
#include "bpf/abi_await.h"
#include "capture/capture_state.h"
#include "host/proc.h"
#include "target/inspector.h"
#include "tachbpf.skel.h"

static int async_configure(struct capture *s)
{
	s->skel->rodata->cfg_async = s->args.async;
	s->skel->rodata->cfg_task_names = s->args.async && s->args.task_names;
	if (!s->args.async)
		return 0;
	return bpf_map__set_max_entries(s->skel->maps.async_places,
					bpf_map__max_entries(s->skel->maps.py_procs));
}

/* ---- the place of a process ---- */

static bool get_place(const struct capture *s, const struct tracked *t, struct async_place *place)
{
	uint32_t key = t->tgid;

	return !bpf_map__lookup_elem(s->skel->maps.async_places, &key, sizeof(key), place,
				     sizeof(*place), 0) &&
	       (!t->start_ns || !place->start_ns || place->start_ns == t->start_ns);
}

/*
 * The BPF side deletes the place when the process ends. If it ends now, the BPF side may have
 * looked for the place before it was written.
 */
static void put_place(const struct capture *s, const struct tracked *t,
		      const struct async_place *place)
{
	struct bpf_map *map = s->skel->maps.async_places;
	struct proc_stat st;
	uint32_t key = t->tgid;

	bpf_map__update_elem(map, &key, sizeof(key), place, sizeof(*place), BPF_ANY);
	if (proc_stat(t->tgid, &st) || st.zombie || st.exiting)
		bpf_map__delete_elem(map, &key, sizeof(key), 0);
}

/* Returns true if the BPF side has room for what it reads of an object. */
static bool fits_bpf_objects(const struct async_layout *l, const struct py_layout *py,
			     uint32_t *coro_bytes)
{
	uint32_t frame = l->coro.gen_frame + py->fr_bytes;
	uint32_t top = l->coro.gen_frame + l->coro.fr_stack;

	*coro_bytes = frame > top + 8 ? frame : top + 8;
	return *coro_bytes <= ASYNC_OBJECT_BYTES && l->task.task_bytes <= ASYNC_OBJECT_BYTES &&
	       l->coro.gen_state < *coro_bytes && l->coro.ob_type + 8u <= *coro_bytes;
}

/* ---- discovery ---- */

/*
 * Asyncio is not loaded yet: from now on the BPF side reports when code is mapped. exec_pages is 0
 * at first, so the next tick reports once in any case: code may have been mapped since the look.
 */
static void wait_for_change(const struct capture *s, struct tracked *t)
{
	struct async_place place;

	if (!get_place(s, t, &place))
		put_place(s, t, &(struct async_place){ .start_ns = t->start_ns });
	inspect_no_more(&t->async);
}

static void take_layout(struct capture *s, struct tracked *t, const struct async_layout *l)
{
	struct async_place place = { .start_ns = t->start_ns, .l = *l };

	inspect_no_more(&t->async);
	if (fits_bpf_objects(l, &process_image(t->process)->layout, &place.coro_bytes))
		put_place(s, t, &place);
	else
		log_debug("process %d: asyncio's objects are too large", t->tgid);
}

static void look_for_asyncio(struct capture *s, struct tracked *t)
{
	struct async_place place;
	struct async_layout l;
	int err;

	if (get_place(s, t, &place) && place.l.valid) {	/* its parent's */
		inspect_no_more(&t->async);
		return;
	}
	err = inspector_async(t->tgid, &l);
	if (!err)
		take_layout(s, t, &l);
	else if (err == -ENOENT)
		wait_for_change(s, t);
	else if (err == -EOPNOTSUPP || err == -ESRCH)
		inspect_no_more(&t->async);
	else
		inspect_backoff(&t->async, now_ns());
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void look_and_time(struct capture *s, struct tracked *t)
{
	uint64_t begin = cpu_ns();

	look_for_asyncio(s, t);
	inspect_done(&t->async, now_ns(), cpu_ns() - begin, false);
}

/* Before 3.14 asyncio does not expose its tasks. */
static bool can_have_tasks(const struct tracked *t)
{
	return process_image(t->process)->coro.gen_frame;
}

/* Logs the first process without tasks; with -a there may be many: async_stop() says how many. */
static void remark_old(struct capture *s, struct tracked *t)
{
	if (t->async_old)
		return;
	t->async_old = true;
	if (!s->async_old_cnt++ && !s->args.all)
		log_warn("--async needs Python 3.14, and process %d runs 3.%u: its samples show "
			 "the event loop instead of tasks", t->tgid,
			 process_image(t->process)->minor);
}

static void async_stop(struct capture *s)
{
	if (s->async_old_cnt > !s->args.all)
		log_warn("--async needs Python 3.14, and %u %s an older one: their samples show "
			 "the event loop instead of tasks", s->async_old_cnt,
			 text_plural(s->async_old_cnt, "process runs", "processes run"));
}

/* Looks at the processes that are due: asks the inspector, about 1 ms a process. */
static void async_poll(struct capture *s)
{
	struct tracked *t;
	size_t pos = 0;

	if (!s->args.async ||
	    (s->async_next_ns > now_ns() && s->async_begun == s->life.begun_cnt))
		return;
	s->async_begun = s->life.begun_cnt;
	s->async_next_ns = INSPECT_NEVER;
	while ((t = lifecycle_next_profiled(&s->life, &pos))) {
		if (t->state != PROC_PROFILED)
			continue;
		if (!can_have_tasks(t)) {
			remark_old(s, t);
			continue;
		}
		if (t->async.next_ns <= now_ns())
			look_and_time(s, t);
		if (t->async.next_ns < s->async_next_ns)
			s->async_next_ns = t->async.next_ns;
	}
}

static uint64_t async_wait_ns(struct capture *s, uint64_t now_ns, uint64_t limit_ns)
{
	if (!s->args.async || s->async_next_ns >= now_ns + limit_ns)
		return limit_ns;
	return s->async_next_ns > now_ns ? s->async_next_ns - now_ns : 0;
}

void capture_async_changed(struct capture *s, struct tracked *t)
{
	inspect_changed(&t->async);
	if (t->async.next_ns < s->async_next_ns)
		s->async_next_ns = t->async.next_ns;
}

bool capture_async_layout(const struct capture *s, const struct tracked *t,
			  struct async_layout *out)
{
	struct async_place place;

	if (!get_place(s, t, &place) || !place.l.valid)
		return false;
	*out = place.l;
	return true;
}

const struct source_ops capture_async_source = {
	.configure = async_configure,
	.prepare = async_poll,
	.poll = async_poll,
	.wait_ns = async_wait_ns,
	.stop = async_stop,
};
