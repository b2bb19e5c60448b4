// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * gil.c - see gil.h. Knows statuses and stacks. gil_holders.c finds the line at which the GIL was
 * held at a given time; cmd_gil.c shows the results.
 *
 * A place is a frame of our own intern table in which only file, function and line are set; a line
 * is a place in a process. Equal samples are often consecutive, so the last waiting stack is kept
 * together with its line and its number.
 */
#include "analysis/gil.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/gil_holders.h"
#include "base/pairs.h"
#include "base/util.h"
#include "bpf/abi.h"
#include "model/intern.h"
#include "model/thread_map.h"

#define NOWHERE "<no Python frame>"
#define COLLECTING "<GC>"
#define NATIVE_THREAD "<native thread"
#define NOT_YET UINT32_MAX
/* The last minor version of Python 3 whose interpreters all share one GIL. */
#define ONE_GIL_MINOR 11

#define AT(buf, type, i) (((type *)(void *)(buf).data)[i])
#define COUNT(buf, type) ((uint32_t)((buf).len / sizeof(type)))

struct gil {
	struct profile_meta meta;
	const struct profile_tables *tables;
	struct process_root root;
	uint32_t *process_of;		/* root frame -> 1 + process; NULL: there is only one
					 * process */
	uint32_t rest;			/* 1 + the process of samples without a process frame */
	uint32_t *place_of;		/* frame -> place; NOT_YET */
	uint32_t nowhere, other;	/* the place of empty stacks, and that of lines that do
					 * not fit; NOT_YET */
	struct thread_map *thread_map;
	struct gil_holders *holders;
	struct intern *names;		/* its frames are the places */
	struct intern *stack_keys;	/* process, place, place...: the id is the stack's number */
	struct pairs line_ids;		/* pairs of process and place */
	struct pairs pair_ids;		/* pairs of holder line and waiter line */
	struct buf processes, threads, lines;	/* struct gil_process, _thread, _line */
	struct gil_cells *cells;	/* NULL: not wanted */
	struct buf stacks, pairs;	/* uint64_t: number of samples that waited */
	size_t stack_bytes;		/* of stack_keys */
	/* The last waiting stack. */
	bool last;
	uint32_t last_process, last_n, last_line, last_stack;
	uint32_t last_frames[EVENT_MAX_FRAMES];
};

static uint32_t *new_ids(uint32_t n)
{
	uint32_t *ids = malloc(((size_t)n + 1) * sizeof(*ids));

	if (ids)
		memset(ids, 0xff, ((size_t)n + 1) * sizeof(*ids));
	return ids;
}

struct gil *gil_new(const struct profile_meta *meta, const struct profile_tables *tables,
		    bool shared)
{
	struct gil *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->meta = *meta;
	g->tables = g->root.tables = tables;
	g->nowhere = g->other = NOT_YET;
	if (shared)
		g->process_of = calloc((size_t)tables->frame_cnt + 1, sizeof(*g->process_of));
	g->place_of = new_ids(tables->frame_cnt);
	g->thread_map = thread_map_new();
	/* One and a half intervals, because ticks of different CPUs are not simultaneous. */
	g->holders = gil_holders_new(meta->interval_us + meta->interval_us / 2,
				     meta->python_major == 3 &&
				     meta->python_minor <= ONE_GIL_MINOR);
	g->names = intern_new();
	g->stack_keys = intern_new();
	if ((shared && !g->process_of) || !g->place_of || !g->thread_map || !g->holders ||
	    !g->names || !g->stack_keys) {
		gil_free(g);
		errno = ENOMEM;
		return NULL;
	}
	return g;
}

/* Frees the state that only the two passes need. */
static void free_pass_state(struct gil *g)
{
	free(g->process_of);
	free(g->place_of);
	thread_map_free(g->thread_map);
	gil_holders_free(g->holders);
	g->process_of = g->place_of = NULL;
	g->thread_map = NULL;
	g->holders = NULL;
	g->tables = g->root.tables = NULL;
}

void gil_free(struct gil *g)
{
	if (!g)
		return;
	free_pass_state(g);
	intern_free(g->names);
	intern_free(g->stack_keys);
	pairs_free(&g->line_ids);
	pairs_free(&g->pair_ids);
	gil_cells_free(g->cells);
	buf_free(&g->processes);
	buf_free(&g->threads);
	buf_free(&g->lines);
	buf_free(&g->stacks);
	buf_free(&g->pairs);
	free(g);
}

int gil_collect_cells(struct gil *g)
{
	g->cells = gil_cells_new();
	return g->cells ? 0 : -ENOMEM;
}

const struct gil_cells *gil_cells(const struct gil *g)
{
	return g->cells;
}

/* ---- the process and place of a sample ---- */

/* Finds or adds a sample's process; *n: number of its frames without the process frame. */
static int find_process(struct gil *g, const struct event *ev, uint32_t *process, uint32_t *n)
{
	bool named = g->process_of && process_root_of(&g->root, ev);
	uint32_t *known = named ? &g->process_of[g->root.frame] : &g->rest;
	struct gil_process fresh = { .first_us = UINT64_MAX };

	*n = ev->nframes - named;
	if (!*known) {
		if (named) {
			fresh.tgid = g->root.tgid;
			memcpy(fresh.comm, g->root.comm, sizeof(fresh.comm));
		}
		if (buf_add(&g->processes, &fresh, sizeof(fresh)))
			return -ENOMEM;
		*known = COUNT(g->processes, struct gil_process);
	}
	*process = *known - 1;
	return 0;
}

static int find_thread(struct gil *g, const struct event *ev, uint32_t process, uint32_t *thread)
{
	struct gil_thread fresh = { .thread_id = ev->thread_id, .interp_id = ev->interp_id,
				    .process = process, .first_us = UINT64_MAX };
	int err = thread_map_get(g->thread_map, ev->thread_id, ev->interp_id, thread);

	if (!err && *thread == COUNT(g->threads, struct gil_thread))
		err = buf_add(&g->threads, &fresh, sizeof(fresh));
	return err;
}

static int make_place(struct gil *g, uint32_t frame, uint32_t *place)
{
	const struct frame *f = &g->tables->frames[frame];
	const struct string_ref *file = &g->tables->strings[f->file];
	const struct string_ref *func = &g->tables->strings[f->func];
	struct frame cut = { .line = f->line, .end_line = f->line, .column = COLUMN_NONE,
			     .end_column = COLUMN_NONE, .opcode = OPCODE_NONE,
			     .kind = f->kind };
	int err = intern_string(g->names, file->data, file->len, &cut.file);

	if (!err)
		err = intern_string(g->names, func->data, func->len, &cut.func);
	return err ? err : intern_frame(g->names, &cut, place);
}

static int place_of(struct gil *g, uint32_t frame, uint32_t *place)
{
	int err = g->place_of[frame] == NOT_YET ? make_place(g, frame, &g->place_of[frame]) : 0;

	*place = g->place_of[frame];
	return err;
}

static bool is_text(const struct string_ref *s, const char *text)
{
	return s->len == strlen(text) && !memcmp(s->data, text, s->len);
}

/* Returns true if the frame has a place in the program. C and kernel frames have none. */
static bool has_place(const struct gil *g, const struct frame *f)
{
	return (f->line > 0 && f->kind == FRAME_PYTHON) || (f->kind == FRAME_SYNTHETIC &&
			       is_text(&g->tables->strings[f->func], COLLECTING));
}

/* Finds the place of a stack's first n frames: that of the innermost frame which has one. */
static int find_place(struct gil *g, const struct event *ev, uint32_t n, uint32_t *place)
{
	uint32_t i = 0;
	int err = 0;

	while (i < n && !has_place(g, &g->tables->frames[ev->frames[i]]))
		i++;
	if (n)
		return place_of(g, ev->frames[i < n ? i : 0], place);
	if (g->nowhere == NOT_YET)
		err = intern_synthetic(g->names, FRAME_SYNTHETIC, NOWHERE, &g->nowhere);
	*place = g->nowhere;
	return err;
}

/* Finds or adds a line. Without room, *line is the process's line for all that do not fit. */
static int add_line(struct gil *g, uint32_t process, uint32_t place, uint32_t *line)
{
	struct gil_line fresh = { .process = process, .place = place };
	int err = 0;

	if (pairs_find(&g->line_ids, (struct pair){ process, place }, line))
		return 0;
	if (g->line_ids.cnt >= GIL_LINES_MAX && place != g->other) {
		if (g->other == NOT_YET)
			err = intern_synthetic(g->names, FRAME_SYNTHETIC, GIL_OTHER_LINES,
					       &g->other);
		return err ? err : add_line(g, process, g->other, line);
	}
	err = pairs_add(&g->line_ids, (struct pair){ process, place }, line);
	return err ? err : buf_add(&g->lines, &fresh, sizeof(fresh));
}

static int find_line(struct gil *g, const struct event *ev, uint32_t process, uint32_t n,
		     uint32_t *line)
{
	uint32_t place;
	int err = find_place(g, ev, n, &place);

	return err ? err : add_line(g, process, place, line);
}

/* ---- the first pass ---- */

static void extend_times(uint64_t time_us, uint64_t *first_us, uint64_t *last_us)
{
	if (time_us < *first_us)
		*first_us = time_us;
	if (time_us > *last_us)
		*last_us = time_us;
}

static int add_holder(struct gil *g, const struct event *ev, uint32_t process, uint32_t thread,
		      uint32_t n)
{
	struct gil_process *p = &AT(g->processes, struct gil_process, process);
	struct gil_thread *th = &AT(g->threads, struct gil_thread, thread);
	struct gil_moment m = { ev->time_us, process, ev->interp_id, thread, 0 };
	int err = find_line(g, ev, process, n, &m.line);

	if (err)
		return err;
	p->held += ev->weight;
	th->held += ev->weight;
	AT(g->lines, struct gil_line, m.line).held += ev->weight;
	err = gil_holders_add(g->holders, &m, &th->open);
	if (err != -ENOSPC)
		return err;
	p->holds_left_out += ev->weight;
	return 0;
}

/* Returns true for a thread without a Python state, which never uses the GIL. */
static bool is_of_native_thread(const struct gil *g, const struct event *ev, uint32_t n)
{
	const struct frame *f = n ? &g->tables->frames[ev->frames[n - 1]] : NULL;
	const struct string_ref *name = f ? &g->tables->strings[f->func] : NULL;

	return f && ev->status == STATUS_ON_CPU && f->kind == FRAME_SYNTHETIC &&
	       name->len >= strlen(NATIVE_THREAD) &&
	       !memcmp(name->data, NATIVE_THREAD, strlen(NATIVE_THREAD));
}

int gil_hold_event(void *ctx, const struct event *ev)
{
	uint32_t process, thread, n;
	struct gil_process *p;
	struct gil_thread *th;
	struct gil *g = ctx;
	int err;

	err = find_process(g, ev, &process, &n);
	if (err)
		return err;
	p = &AT(g->processes, struct gil_process, process);
	p->samples += ev->weight;
	extend_times(ev->time_us, &p->first_us, &p->last_us);
	if (ev->status & (STATUS_ON_CPU | STATUS_UNKNOWN))
		p->on_cpu += ev->weight;
	if (is_of_native_thread(g, ev, n))
		return 0;
	err = find_thread(g, ev, process, &thread);
	if (err)
		return err;
	th = &AT(g->threads, struct gil_thread, thread);
	th->samples += ev->weight;
	th->is_main |= !!(ev->status & STATUS_MAIN_THREAD);
	extend_times(ev->time_us, &th->first_us, &th->last_us);
	if (ev->status & STATUS_HAS_GIL)
		return add_holder(g, ev, process, thread, n);
	if (ev->status & STATUS_GIL_REQUESTED)
		p->wanted += ev->weight;
	return 0;
}

int gil_holds_done(struct gil *g)
{
	struct event none = { .time_us = 0 };
	uint32_t process, n;

	gil_holders_sort(g->holders);
	for (process = 0; process < COUNT(g->processes, struct gil_process); process++)
		AT(g->processes, struct gil_process, process).crowded =
			gil_holders_crowded(g->holders, process);
	/* A profile without samples has a process, too. */
	return g->processes.len ? 0 : find_process(g, &none, &process, &n);
}

/* ---- the second pass ---- */

/* Finds or adds a stack; NOT_YET: it is new and there is no room. */
static int find_stack(struct gil *g, const struct event *ev, uint32_t process, uint32_t n,
		      uint32_t *stack)
{
	uint32_t key[1 + EVENT_MAX_FRAMES] = { process }, i;
	uint64_t none = 0;
	int err = 0;

	/*
	 * intern_string() adds what it does not find, so a full table is not searched. Then
	 * look_up() finds only repetitions of the last stack.
	 */
	*stack = NOT_YET;
	for (i = 0; !err && i < n; i++)
		err = place_of(g, ev->frames[i], &key[1 + i]);
	if (err || g->stack_bytes >= GIL_STACKS_MAX_BYTES)
		return err;
	err = intern_string(g->stack_keys, (const char *)key, (1 + n) * sizeof(key[0]), stack);
	if (err || *stack < COUNT(g->stacks, uint64_t))
		return err;
	g->stack_bytes += (1 + n) * sizeof(key[0]);
	return buf_add(&g->stacks, &none, sizeof(none));
}

static bool is_repeat(const struct gil *g, const struct event *ev, uint32_t process, uint32_t n)
{
	return g->last && g->last_process == process && g->last_n == n &&
	       (!n || !memcmp(g->last_frames, ev->frames, n * sizeof(*ev->frames)));
}

/* Finds a waiting sample's line and stack, and sets g->last_line and g->last_stack. */
static int look_up(struct gil *g, const struct event *ev, uint32_t process, uint32_t n)
{
	int err;

	if (is_repeat(g, ev, process, n))
		return 0;
	g->last = false;
	err = find_line(g, ev, process, n, &g->last_line);
	if (!err)
		err = find_stack(g, ev, process, n, &g->last_stack);
	if (err)
		return err;
	g->last = true;
	g->last_process = process;
	g->last_n = n;
	if (n)
		memcpy(g->last_frames, ev->frames, n * sizeof(*ev->frames));
	return 0;
}

static int add_pair(struct gil *g, struct gil_process *p, uint32_t holder, uint64_t weight)
{
	struct pair key = { holder, g->last_line };
	uint64_t none = 0;
	uint32_t id;
	int err = 0;

	if (!pairs_find(&g->pair_ids, key, &id)) {
		if (COUNT(g->pairs, uint64_t) >= GIL_PAIRS_MAX) {
			p->pairs_left_out += weight;
			return 0;
		}
		err = pairs_add(&g->pair_ids, key, &id);
		if (!err)
			err = buf_add(&g->pairs, &none, sizeof(none));
	}
	if (!err)
		AT(g->pairs, uint64_t, id) += weight;
	return err;
}

static int add_cell(struct gil *g, struct gil_process *p, const struct gil_moment *m,
		    uint32_t holder, uint64_t weight)
{
	const struct gil_cell cell = { holder, m->thread, m->line, g->last_line, weight };
	int err = g->cells ? gil_cells_add(g->cells, &cell) : 0;

	if (err != -ENOSPC)
		return err;
	p->cells_left_out += weight;
	return 0;
}

int gil_wait_event(void *ctx, const struct event *ev)
{
	uint32_t process, thread, holder, n;
	struct gil_process *p;
	struct gil *g = ctx;
	struct gil_moment m;
	int err;

	if (ev->status & STATUS_HAS_GIL || !(ev->status & STATUS_GIL_REQUESTED))
		return 0;
	err = find_process(g, ev, &process, &n);
	if (!err)
		err = find_thread(g, ev, process, &thread);
	if (!err)
		err = look_up(g, ev, process, n);
	if (err)
		return err;
	p = &AT(g->processes, struct gil_process, process);
	p->waited += ev->weight;
	AT(g->threads, struct gil_thread, thread).waited += ev->weight;
	AT(g->lines, struct gil_line, g->last_line).waited += ev->weight;
	if (g->last_stack == NOT_YET)
		p->stacks_left_out += ev->weight;
	else
		AT(g->stacks, uint64_t, g->last_stack) += ev->weight;
	m = (struct gil_moment){ ev->time_us, process, ev->interp_id, thread, 0 };
	m.line = gil_holders_find(g->holders, &m, &holder);
	if (m.line != GIL_NOBODY)
		AT(g->lines, struct gil_line, m.line).blamed += ev->weight;
	err = add_cell(g, p, &m, holder, ev->weight);
	return err ? err : add_pair(g, p, m.line, ev->weight);
}

void gil_waits_done(struct gil *g)
{
	free_pass_state(g);
}

/* ---- results ---- */

enum gil_known gil_known(const struct gil *g, const struct gil_process *p, bool free_threaded)
{
	enum profile_mode mode = g->meta.mode;

	if (free_threaded || (p->crowded && !p->wanted))
		return GIL_NO_GIL;
	/* In profiles of these modes, threads request the GIL and run, but none waits. */
	if (mode == MODE_CPU || mode == MODE_EXCEPTION ||
	    ((mode == MODE_UNKNOWN || mode == MODE_OFFCPU) && !p->wanted))
		return GIL_NOT_RECORDED;
	return p->held || p->wanted ? GIL_KNOWN : GIL_NEVER_SEEN;
}

bool gil_holders_known(const struct gil_process *p)
{
	return p->on_cpu > 0;
}

const struct gil_process *gil_processes(const struct gil *g, uint32_t *cnt)
{
	*cnt = COUNT(g->processes, struct gil_process);
	return &AT(g->processes, const struct gil_process, 0);
}

const struct gil_thread *gil_threads(const struct gil *g, uint32_t *cnt)
{
	*cnt = COUNT(g->threads, struct gil_thread);
	return &AT(g->threads, const struct gil_thread, 0);
}

const struct gil_line *gil_lines(const struct gil *g, uint32_t *cnt)
{
	*cnt = COUNT(g->lines, struct gil_line);
	return &AT(g->lines, const struct gil_line, 0);
}

uint32_t gil_pair_cnt(const struct gil *g)
{
	return COUNT(g->pairs, uint64_t);
}

struct gil_pair gil_pair(const struct gil *g, uint32_t i)
{
	struct pair pair = g->pair_ids.list[i];

	return (struct gil_pair){ pair.a, pair.b, AT(g->pairs, uint64_t, i) };
}

uint32_t gil_stack_cnt(const struct gil *g)
{
	return COUNT(g->stacks, uint64_t);
}

struct gil_stack gil_stack(const struct gil *g, uint32_t i)
{
	const struct string_ref *key = &intern_tables(g->stack_keys)->strings[i];
	/* Keys in the arena are aligned because they consist of whole words: see stacks.c. */
	const uint32_t *words = (const uint32_t *)(const void *)key->data;

	return (struct gil_stack){ words[0], key->len / sizeof(*words) - 1, words + 1,
				   AT(g->stacks, uint64_t, i) };
}

const struct profile_tables *gil_tables(const struct gil *g)
{
	return intern_tables(g->names);
}
