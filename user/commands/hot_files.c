// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* hot_files.c - see hot_files.h. */
#include "commands/hot_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/util.h"
#include "commands/profile_set.h"
#include "formats/readers.h"
#include "host/identity.h"
#include "model/process_frame.h"
#include "model/stack_frame.h"
#include "recording/recording.h"

#define FILES_MAX 4096		/* further ones are ignored: 64 are kept */
#define EVENTS_A_LOOK 256	/* at the clock */
/* A file is cold below both of these percentages of all samples. */
#define COLD_SELF 0.5
#define COLD_TOTAL 1

/* ---- processes ---- */

/* Returns the world with this key, a new one if necessary; NULL: no memory. */
static struct file_world *world_of(struct hot_files *h, uint64_t key)
{
	struct file_world *w = u64map_get(&h->worlds, key);

	if (w)
		return w;
	w = calloc(1, sizeof(*w));
	if (!w || u64map_put(&h->worlds, key, w)) {
		free(w);
		return NULL;
	}
	return w;
}

/* Keys: 0 for ours, a container's address, or 1 + 2 * tgid: no address is odd. */
static uint64_t world_key(const struct recording_process *p)
{
	if (p->identity->root == IDENTITY_ROOT_OURS)
		return 0;
	if (p->identity->container && container_is(p->identity->container))
		return (uintptr_t)p->identity->container;
	return 1 + 2 * (uint64_t)p->tgid;
}

/* Of a process that has ended unseen it is not known what it saw. */
static bool is_known(const struct recording_process *p)
{
	return p->identity->root != IDENTITY_ROOT_UNKNOWN || p->alive_ns;
}

struct begin {
	struct hot_files *h;
	int err;
};

/* If the pid was used twice, in two worlds, nothing is known of either. */
static void add_process(void *ctx, const struct recording_process *p)
{
	struct begin *b = ctx;
	struct hot_process *known = u64map_get(&b->h->processes, (uint64_t)p->tgid);
	struct file_world *w = is_known(p) ? world_of(b->h, world_key(p)) : NULL;
	bool again = known;

	if (!known) {
		known = calloc(1, sizeof(*known));
		if (!known || u64map_put(&b->h->processes, (uint64_t)p->tgid, known)) {
			free(known);
			b->err = -ENOMEM;
			return;
		}
	}
	*known = (struct hot_process){
		.world = again && known->world != w ? NULL : w, .tgid = (uint32_t)p->tgid,
		.uid = p->identity->uid, .alive_ns = p->alive_ns,
	};
	if (w)
		w->ours = !world_key(p);
	if (w && p->alive_ns) {
		w->alive_tgid = (uint32_t)p->tgid;
		w->alive_ns = p->alive_ns;
	}
}

int hot_files_begin(struct hot_files *h, const struct recording *r)
{
	struct begin b = { .h = h };

	*h = (struct hot_files){ 0 };
	recording_each_process(r, add_process, &b);
	return b.err;
}

/* ---- files ---- */

/* Returns the file of this path in this world; NULL: there are too many, or no memory. */
static struct hot_file *find_file(struct hot_files *h, struct string_ref path,
				  const struct file_world *world)
{
	uint64_t key = hash_bytes(path.data, path.len) ^ hash_u64((uintptr_t)world);
	struct hot_file *f;
	char *copy;

	while ((f = u64map_get(&h->by_path, key)) &&
	       (f->world != world || f->path.len != path.len ||
		memcmp(f->path.data, path.data, path.len)))
		key = hash_u64(key + 1);
	if (f || h->cnt == FILES_MAX)
		return f;
	f = calloc(1, sizeof(*f));
	copy = malloc((size_t)path.len + 1);
	if (!f || !copy || u64map_put(&h->by_path, key, f)) {
		free(copy);
		free(f);
		return NULL;
	}
	memcpy(copy, path.data, path.len);
	*f = (struct hot_file){ .path = { copy, path.len }, .world = world };
	if (!array_add(h->list, h->cnt, h->cap, f))
		return f;
	u64map_remove(&h->by_path, key);
	free(copy);
	free(f);
	return NULL;
}

/* ---- samples ---- */

/* The profile that is read. */
struct reading {
	struct hot_files *h;
	struct profile_set set;
	const struct profile_tables *tables;
	uint32_t tgid;			/* 0: process frames say it */
	struct process_root root;
	struct u64map seen;		/* tgid and string -> struct hot_file, or &none */
	/* The last sample: its thread, the files of its frames, outermost first, and of its self */
	uint64_t thread_id;
	uint32_t interp_id, depth;
	struct hot_file *stack[EVENT_MAX_FRAMES], *self;
	unsigned int place;
	uint64_t deadline_ns;
};

static struct hot_file none;

/* Looks a file up once for each process. */
static struct hot_file *new_file(struct reading *r, uint32_t tgid, uint32_t string)
{
	const struct hot_process *p = u64map_get(&r->h->processes, tgid);
	struct string_ref path = r->tables->strings[string];
	struct hot_file *f = NULL;

	if (p && p->world && path.len && *path.data == '/')
		f = find_file(r->h, path, p->world);
	if (f) {
		f->places |= 1u << r->place;
		if (f->had_cnt < HOT_FILE_PROCESSES)
			f->had[f->had_cnt++] = p;
		if (!f->world->ours && saved_source_add_pid(&f->saved, tgid))
			f = NULL;
	}
	return f ? f : &none;
}

static struct hot_file *file_of(struct reading *r, uint32_t tgid, const struct frame *frame)
{
	uint64_t key = (uint64_t)tgid << 32 | frame->file;
	struct hot_file *f = u64map_get(&r->seen, key);

	if (f)
		return f;
	f = new_file(r, tgid, frame->file);
	u64map_put(&r->seen, key, f);	/* without memory it is looked up again */
	return f;
}

/*
 * Leaves all frames except the outermost `keep`. A file's total is the weight of all samples
 * between its first frame's entry and its last one's leave.
 */
static void leave_frames(struct reading *r, uint32_t keep)
{
	while (r->depth > keep) {
		struct hot_file *f = r->stack[--r->depth];

		if (f != &none && !--f->entered)
			f->total += r->h->weight;
	}
}

/* Enters the inner frames of a stack whose outermost ones are entered. */
static void enter_frames(struct reading *r, const struct event *ev)
{
	uint32_t tgid = r->tgid, left = ev->nframes - r->depth;

	if (!tgid && process_root_of(&r->root, ev))
		tgid = r->root.tgid;
	while (left--) {
		const struct frame *frame = &r->tables->frames[ev->frames[left]];
		struct hot_file *f = &none;

		if (frame->kind == FRAME_PYTHON)
			f = file_of(r, tgid, frame);
		if (f != &none && !f->entered++)
			f->total -= r->h->weight;
		r->stack[r->depth++] = f;
	}
}

/* Makes the event's stack the current one. */
static void take_stack(struct reading *r, const struct event *ev)
{
	bool same = r->thread_id == ev->thread_id && r->interp_id == ev->interp_id;
	uint32_t least = r->depth < ev->nframes ? r->depth : ev->nframes;
	uint32_t keep = same && ev->kept_1 ? ev->kept_1 - 1 : 0;

	keep = keep < least ? keep : least;
	if (keep == r->depth && keep == ev->nframes && keep)
		return;
	leave_frames(r, keep);
	enter_frames(r, ev);
	r->thread_id = ev->thread_id;
	r->interp_id = ev->interp_id;
	r->self = &none;
	if (ev->nframes)
		r->self = r->stack[ev->nframes - 1 - self_frame(r->tables, ev->frames, ev->nframes,
								SELF_OF_PYTHON)];
}

static int add_event(void *ctx, const struct event *ev)
{
	struct reading *r = ctx;
	struct hot_files *h = r->h;
	uint64_t weight = ev->weight * ((uint64_t)ev->more + 1);

	if (!(++h->events % EVENTS_A_LOOK) && now_ns() >= r->deadline_ns)
		return -ETIME;
	take_stack(r, ev);
	h->weight += weight;
	if (r->self != &none)
		r->self->self += weight;
	return 0;
}

static int add_profile(void *ctx, const struct profile_file *file, struct reader *reader)
{
	struct reading *r = ctx;
	int err;

	r->tables = reader_tables(reader);
	r->tgid = file->process.tgid;
	r->root = (struct process_root){ .tables = r->tables };
	reader_take(reader, EVENT_KEPT | EVENT_RUNS);
	err = profile_set_run(&r->set, file, reader, add_event, r);
	leave_frames(r, 0);
	r->thread_id = 0;
	u64map_free(&r->seen);
	r->seen = (struct u64map){ 0 };
	return err;
}

int hot_files_read(struct hot_files *h, char *path, unsigned int place, uint64_t deadline_ns)
{
	struct reading r = { .h = h, .place = place, .deadline_ns = deadline_ns };
	struct buf said = { 0 };
	int err;

	log_hold(&said);
	err = profile_set_open(&r.set, &path, 1, NULL);
	if (!err)
		err = profile_set_each(&r.set, add_profile, &r);
	profile_set_free(&r.set);
	log_hold(NULL);
	buf_free(&said);
	return err == -ETIME || err == -ENOENT ? 0 : err;
}

/* ---- the hottest ---- */

static int compare_files(const void *a, const void *b)
{
	const struct hot_file *x = *(struct hot_file *const *)a, *y = *(struct hot_file *const *)b;

	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	return x->total < y->total ? 1 : x->total > y->total ? -1 : 0;
}

static void free_file(struct hot_file *f)
{
	free((char *)f->path.data);
	free(f->saved.pids);
	free(f);
}

void hot_files_sort(struct hot_files *h)
{
	size_t i, kept = 0;

	for (i = 0; i < h->cnt; i++) {
		struct hot_file *f = h->list[i];

		if (percent(f->self, h->weight) < COLD_SELF &&
		    percent(f->total, h->weight) < COLD_TOTAL)
			free_file(f);
		else
			h->list[kept++] = f;
	}
	h->cnt = kept;
	if (kept)
		qsort(h->list, kept, sizeof(struct hot_file *), compare_files);
	/* It still has files that were dropped. */
	u64map_free(&h->by_path);
	h->by_path = (struct u64map){ 0 };
}

void hot_files_free(struct hot_files *h)
{
	size_t pos = 0;
	void *p;

	while ((p = u64map_next(&h->processes, &pos)))
		free(p);
	for (pos = 0; (p = u64map_next(&h->worlds, &pos));)
		free(p);
	while (h->cnt)
		free_file(h->list[--h->cnt]);
	free(h->list);
	u64map_free(&h->processes);
	u64map_free(&h->worlds);
	u64map_free(&h->by_path);
}
