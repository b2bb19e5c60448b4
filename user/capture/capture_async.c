// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * capture_async.c - the part of a capture for --async: finds where asyncio keeps the tasks of each
 * profiled process, and tells the BPF side (bpf/abi_await.h).
 *
 * A process is looked at when it begins. If it has not loaded asyncio yet, the BPF side reports
 * when it has mapped more code (RAW_CHANGED), and it is looked at again. A forked child has its
 * parent's tasks, and so its parent's place. From 3.14 on a file says where the tasks are; up to
 * 3.13 the reader finds the objects of a module.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "asyncio/coroutine.h"
#include "base/text.h"
#include "base/util.h"
#include "bpf/abi_await.h"
#include "capture/capture_state.h"
#include "capture/known_chains.h"
#include "host/proc.h"
#include "memory/remote_mem.h"
#include "target/inspector.h"
#include "tachbpf.skel.h"

static int async_configure(struct capture *s)
{
	s->skel->rodata->cfg_async = s->args.async;
	s->skel->rodata->cfg_task_names = s->args.async && s->args.task_names;
	int err;

	if (!s->args.async)
		return 0;
	err = bpf_map__set_max_entries(s->skel->maps.async_places,
				       bpf_map__max_entries(s->skel->maps.py_procs));
	/* A task's name is read with its chain. */
	if (!err && !s->args.task_names)
		err = bpf_map__set_max_entries(s->skel->maps.async_chains, KNOWN_CHAINS_MAX);
	return err;
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

/* ---- CPython 3.8 to 3.13 ---- */

static bool has_homes(const struct tracked *t)
{
	const struct cpython_image *image = process_image(t->process);

	return image->major == 3 && image->minor >= 8 && image->minor <= 13;
}

/* What the BPF side needs of it. False: an offset is too large for a place. */
static bool old_layout(const struct async_homes *homes, const struct cpython_image *image,
		       struct async_old_layout *out)
{
	const struct async_fields *f = &homes->fields;
	uint16_t head = image->objects.str_length, frame;	/* sizeof(PyObject) */
	bool points;
	uint32_t i;

	if (!coroutine_frame_at(image->minor, head, &points, &frame))
		return false;
	*out = (struct async_old_layout){
		.dict_keys = (uint8_t)(head + 16),
		.keys_log2 = image->minor >= 11,
		.keys_entries = image->minor >= 11 ? 24 : 32,
		.keys_indices = image->minor >= 11 ? 32 : 40,
		.coro = (uint8_t)f->coro,
		.callback0 = (uint8_t)f->callback0,
		.callbacks = (uint8_t)f->callbacks,
		.name = (uint8_t)f->name,
		.task_bytes = (uint8_t)f->task_bytes,
		.coro_frame = (uint8_t)frame,
		.frame_points = points,
	};
	/* A place without homes, of a process with trio alone, has no use for the rest. */
	for (i = 0; i < homes->cnt && i < ASYNC_PLACE_HOMES; i++)
		out->home[out->cnt++] = (struct async_place_home){
			.interp = homes->home[i].interp,
			.current = homes->home[i].current,
			.step = homes->home[i].py_step,
		};
	return head <= 64 && f->coro <= 240 && f->callback0 <= 240 && f->callbacks <= 240 &&
	       f->name <= 240 && f->task_bytes <= 248 && frame <= 240;
}

static int keep_homes(struct tracked *t, const struct async_homes *homes)
{
	if (!t->homes)
		t->homes = malloc(sizeof(*t->homes));
	if (!t->homes)
		return -ENOMEM;
	*t->homes = *homes;
	t->homes->musl = process_py(t->process)->tstate_how == PY_TSTATE_TSS_MUSL ||
			 process_image(t->process)->needs_musl;
	return 0;
}

static void put_trio(const struct trio_steps *found, struct async_place *place)
{
	uint32_t i;

	_Static_assert(TRIO_STEPS_MAX <= ASYNC_PLACE_HOMES, "a place has room");
	for (i = 0; i < found->cnt; i++)
		place->trio[i] = (struct async_trio_step){
			.interp = found->step[i].interp,
			.code = found->step[i].code,
			.local = 8 * found->step[i].local,
		};
	place->trio_cnt = found->cnt;
}

/*
 * Finds asyncio's homes (3.8 to 3.13), and trio. -ENOENT: neither is loaded so far; -EOPNOTSUPP:
 * never will be known.
 */
static int find_modules(struct tracked *t, struct async_place *place)
{
	const struct cpython_image *image = process_image(t->process);
	const struct tasks_at at = {
		.l = image->layout, .objects = image->objects,
		.interps = process_interps(t->process), .library = TASKS_TRIO,
	};
	struct async_homes homes;
	int err = at.interps ? remote_async_homes(t->tgid, &at, &homes) : -EBUSY;

	if (err)
		return err;
	put_trio(&homes.trio, place);
	if (!homes.cnt)
		return homes.trio.cnt ? 0 : -ENOENT;
	return old_layout(&homes, image, &place->old) ? keep_homes(t, &homes) : -EOPNOTSUPP;
}

/* From 3.14 on; *place may have asyncio's already. Returns as find_modules(). */
static int find_section(struct tracked *t, struct async_place *place)
{
	int err = place->l.valid ? 0 : inspector_async(t->tgid, &place->l), trio;

	if (err && err != -ENOENT)
		return err;
	trio = find_modules(t, place);
	/* What cannot be read now is asked for again: whole is 0. */
	return place->l.valid || !trio ? 0 : trio == -EOPNOTSUPP ? err : trio;
}

/* ---- discovery ---- */

/* Something is missing, which may be loaded soon after code was mapped. */
static void look_while_young(struct tracked *t)
{
	if (inspect_is_young(&t->async))
		inspect_backoff(&t->async, now_ns());
	else
		inspect_no_more(&t->async);
}

/*
 * Asyncio is not loaded yet: from now on the BPF side reports when code is mapped. exec_pages is 0
 * at first, so the next tick reports once in any case: code may have been mapped since the look.
 */
static void wait_for_change(struct capture *s, struct tracked *t)
{
	struct async_place place;

	s->async_minor = process_image(t->process)->minor;
	if (!get_place(s, t, &place))
		put_place(s, t, &(struct async_place){ .start_ns = t->start_ns });
	/*
	 * Up to 3.13 it has loaded asyncio only when the last of its modules is there, after the
	 * code was mapped; or that is part of the interpreter. So it is with trio.
	 */
	if (has_homes(t))
		inspect_backoff(&t->async, now_ns());
	else
		look_while_young(t);
}

/* l is valid in *place, or old, or trio. */
static void take_place(struct capture *s, struct tracked *t, struct async_place *place)
{
	place->whole = place->trio_cnt && (place->l.valid || place->old.cnt);
	if (place->whole)
		inspect_no_more(&t->async);
	else
		look_while_young(t);
	s->async_found_cnt++;
	place->start_ns = t->start_ns;
	if (!place->l.valid || fits_bpf_objects(&place->l, &process_image(t->process)->layout,
						&place->coro_bytes))
		put_place(s, t, place);
	else
		log_debug("process %d: asyncio's objects are too large", t->tgid);
}

static void look_for_asyncio(struct capture *s, struct tracked *t)
{
	struct async_place place;
	bool known = get_place(s, t, &place);
	int err;

	if (known && place.l.valid && place.whole) {	/* its parent's */
		inspect_no_more(&t->async);
		return;
	}
	if (!known)
		place = (struct async_place){ 0 };
	err = has_homes(t) ? find_modules(t, &place) : find_section(t, &place);
	if (!err)
		take_place(s, t, &place);
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

void capture_async_look(struct capture *s, struct tracked *t)
{
	uint64_t begin = cpu_ns();

	look_for_asyncio(s, t);
	inspect_done(&t->async, now_ns(), cpu_ns() - begin, false);
}

/* ---- where there is nothing to find ---- */

/* Up to 3.7 what asyncio has of its tasks differs, and is not known here. */
static bool can_have_tasks(const struct tracked *t)
{
	return process_image(t->process)->coro.gen_frame || has_homes(t);
}

/* Logs the first process without tasks; with -a there may be many: async_stop() says how many. */
static void remark_old(struct capture *s, struct tracked *t)
{
	if (t->async_old)
		return;
	t->async_old = true;
	if (!s->async_old_cnt++ && !s->args.all)
		log_warn("--async needs Python 3.8, and process %d runs 3.%u: its samples show "
			 "the event loop instead of tasks", t->tgid,
			 process_image(t->process)->minor);
}

static void async_stop(struct capture *s)
{
	if (s->async_old_cnt > !s->args.all)
		log_warn("--async needs Python 3.8, and %u %s an older one: their samples show "
			 "the event loop instead of tasks", s->async_old_cnt,
			 text_plural(s->async_old_cnt, "process runs", "processes run"));
	if (s->async_minor && !s->async_found_cnt)
		log_warn("--async found nothing: no process has loaded asyncio (Python 3.%u)",
			 s->async_minor);
}

/* ---- the part ---- */

/* Looks at the processes that are due: asks a worker, about 1 ms a process. */
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
			capture_async_look(s, t);
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
	t->async.tries = 0;		/* its modules come one after another */
	inspect_changed(&t->async);
	if (t->async.next_ns < s->async_next_ns)
		s->async_next_ns = t->async.next_ns;
}

bool capture_async_at(const struct capture *s, const struct tracked *t, struct tasks_at *at)
{
	struct async_place place;

	*at = (struct tasks_at){
		.l = process_image(t->process)->layout,
		.objects = process_image(t->process)->objects,
		.interps = process_interps(t->process),
	};
	if (t->homes)
		at->homes = *t->homes;
	else if (get_place(s, t, &place) && place.l.valid)
		at->async = place.l;
	else
		return false;
	return at->interps;
}

const struct source_ops capture_async_source = {
	.configure = async_configure,
	.prepare = async_poll,
	.poll = async_poll,
	.wait_ns = async_wait_ns,
	.stop = async_stop,
};
