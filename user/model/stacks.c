// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * stacks.c - the distinct stacks of profiles and their weights. See stacks.h.
 *
 * For each event: if the thread's last event has the same frames, its stack is used again.
 * Otherwise frame ids of the profile become labels, which are ids of our own, and then group,
 * status and labels form a key, interned as a string of bytes.
 *
 * stack_frame.h defines which frames are left out and when two frames are the same.
 */
#include "model/stacks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/u64map.h"
#include "model/id_map.h"
#include "model/intern.h"
#include "model/native_library.h"

/* The recorder's frame for callers beyond EVENT_MAX_FRAMES. */
#define TRUNCATED "<truncated>"

/* Instead of a label: the frame is not shown. */
#define HIDDEN UINT32_MAX

struct stack_key {
	uint32_t group;
	uint32_t status;
	uint32_t labels[EVENT_MAX_FRAMES];
};
#define KEY_HEAD_BYTES offsetof(struct stack_key, labels)

/* A thread of the current profile: its group, and its last event. */
struct seen_thread {
	uint32_t group;
	uint32_t id, n, cap;
	bool any;
	uint8_t status;
	uint32_t *frames;
};

struct total {
	uint64_t weight, events;
};

/* The lines of all frames of a label. 0: unknown. */
struct label_lines {
	uint32_t lowest;	/* of the sampled ones */
	uint32_t first;		/* of the function; the lowest if several functions have the name */
};

struct stacks {
	struct stacks_config config;
	struct intern *names;		/* labels as frames, and their strings */
	struct intern *keys;		/* strings: struct stack_key */
	struct buf totals;		/* struct total, indexed by the key's id */
	struct buf lines;		/* struct label_lines, indexed by label */
	struct buf groups;		/* struct stack_group */
	struct buf processes;		/* struct stack_process */
	/* The current profile. */
	uint32_t process;		/* that its events are added to */
	const struct profile_tables *tables;
	struct id_map labels;		/* frame id -> label, or HIDDEN */
	struct u64map threads;		/* struct seen_thread */
	uint64_t last_tid;
	struct seen_thread *last;	/* the thread last_tid */
};

#define AT(buf, type, i) (((type *)(void *)(buf).data)[i])
#define COUNT(buf, type) ((uint32_t)((buf).len / sizeof(type)))

struct stacks *stacks_new(const struct stacks_config *config)
{
	struct stacks *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->config = *config;
	s->names = intern_new();
	s->keys = intern_new();
	if (!s->names || !s->keys) {
		stacks_free(s);
		errno = ENOMEM;
		return NULL;
	}
	return s;
}

int stacks_libraries(struct stacks *s)
{
	return s->tables ? native_libraries_copy(s->tables, s->names) : 0;
}

void stacks_end(struct stacks *s)
{
	struct seen_thread *th;
	size_t pos = 0;

	while ((th = u64map_next(&s->threads, &pos))) {
		free(th->frames);
		free(th);
	}
	u64map_free(&s->threads);
	memset(&s->threads, 0, sizeof(s->threads));
	id_map_clear(&s->labels);
	s->last = NULL;
	s->tables = NULL;
}

static void drop_all(struct stacks *s)
{
	uint32_t i;

	stacks_end(s);
	for (i = 0; i < COUNT(s->processes, struct stack_process); i++) {
		sink_meta_free(&AT(s->processes, struct stack_process, i).meta);
	}
	buf_free(&s->totals);
	buf_free(&s->lines);
	buf_free(&s->groups);
	buf_free(&s->processes);
	intern_free(s->names);
	intern_free(s->keys);
	s->names = s->keys = NULL;
}

void stacks_free(struct stacks *s)
{
	if (!s)
		return;
	drop_all(s);
	id_map_free(&s->labels);
	free(s);
}

int stacks_reset(struct stacks *s)
{
	drop_all(s);
	s->names = intern_new();
	s->keys = intern_new();
	return s->names && s->keys ? 0 : -ENOMEM;
}

static void process_name(struct stack_process *p)
{
	const struct profile_meta *m = &p->meta;
	char comm[64] = "", container[400] = "", pid[16] = "";
	bool is_container = m->of_container;

	/* A container's label may be as long as a name can be. */
	if (is_container)
		escape_text(m->comm, strlen(m->comm), container, sizeof(container));
	else if (m->comm)
		escape_text(m->comm, strlen(m->comm), comm, sizeof(comm));
	if (m->container && (m->tgid || *comm))
		escape_text(m->container, strlen(m->container), container, sizeof(container));
	if (m->tgid)
		snprintf(pid, sizeof(pid), "%u%s", m->tgid, *comm ? " " : "");
	snprintf(p->name, sizeof(p->name), "%s%s%s%s", pid, comm,
		 *container && !is_container ? " @" : "", container);
}

static int add_group(struct stacks *s, uint64_t thread_id, uint32_t *group)
{
	struct stack_group g = { s->process, thread_id };

	*group = COUNT(s->groups, g);
	return buf_add(&s->groups, &g, sizeof(g));
}

int stacks_begin(struct stacks *s, const struct profile_meta *meta,
		 const struct profile_tables *tables)
{
	struct stack_process p = { .meta = *meta };
	uint32_t group;

	stacks_end(s);
	process_name(&p);
	if (!sink_meta_copy(&p.meta, meta))
		return -ENOMEM;
	if (buf_add(&s->processes, &p, sizeof(p))) {
		sink_meta_free(&p.meta);
		return -ENOMEM;
	}
	s->process = COUNT(s->processes, struct stack_process) - 1;
	s->tables = tables;
	return s->config.by_thread ? 0 : add_group(s, 0, &group);
}

void stacks_resume(struct stacks *s, uint32_t process, const struct profile_tables *tables)
{
	stacks_end(s);
	s->process = process;
	s->tables = tables;
}

/* Adds a thread of this profile. */
static int add_thread(struct stacks *s, uint64_t tid, struct seen_thread **out)
{
	struct seen_thread *th = calloc(1, sizeof(*th));
	int err;

	if (!th)
		return -ENOMEM;
	th->group = s->process;		/* unless by_thread, there is a group for each process */
	err = s->config.by_thread ? add_group(s, tid, &th->group) : 0;
	if (!err)
		err = u64map_put(&s->threads, tid, th);
	if (err) {
		free(th);
		return err;
	}
	*out = th;
	return 0;
}

static int find_thread(struct stacks *s, uint64_t tid, struct seen_thread **out)
{
	int err;

	if (s->last && s->last_tid == tid) {
		*out = s->last;
		return 0;
	}
	*out = u64map_get(&s->threads, tid);
	if (!*out) {
		err = add_thread(s, tid, out);
		if (err)
			return err;
	}
	s->last = *out;
	s->last_tid = tid;
	return 0;
}

/* Returns the frame as a label, without names. Omits what CPython's exports leave out. */
static struct frame cut_frame(enum stack_detail detail, const struct frame *f)
{
	struct frame cut = stack_frame_cut(detail, f);

	if (cut.line == LINE_NONE)
		cut.line = 0;
	if (cut.end_line <= 0)
		cut.end_line = LINE_NONE;
	if (cut.column < 0)
		cut.column = COLUMN_NONE;
	if (cut.end_column < 0)
		cut.end_column = COLUMN_NONE;
	return cut;
}

static void note_lowest(uint32_t *lowest, int32_t line)
{
	if (line > 0 && (!*lowest || (uint32_t)line < *lowest))
		*lowest = (uint32_t)line;
}

static int note_lines(struct stacks *s, uint32_t label, const struct frame *f)
{
	const struct label_lines none = { 0 };
	struct label_lines *lines;

	if (label == COUNT(s->lines, struct label_lines) && buf_add(&s->lines, &none, sizeof(none)))
		return -ENOMEM;
	lines = &AT(s->lines, struct label_lines, label);
	note_lowest(&lines->lowest, f->line);
	note_lowest(&lines->first, f->first_line);
	return 0;
}

static int make_label(struct stacks *s, uint32_t id, uint32_t *label)
{
	const struct frame *f = &s->tables->frames[id];
	const struct string_ref *file, *func;
	struct frame cut = cut_frame(s->config.detail, f);

	if (f->file >= s->tables->string_cnt || f->func >= s->tables->string_cnt)
		return -EINVAL;
	file = &s->tables->strings[f->file];
	func = &s->tables->strings[f->func];
	if (stack_frame_internal(file)) {
		*label = HIDDEN;
		return id_map_set(&s->labels, id, HIDDEN);
	}
	/* The function's string first: so ids have the same order as in CPython's JSONL. */
	if (intern_string(s->names, func->data, func->len, &cut.func) ||
	    intern_string(s->names, file->data, file->len, &cut.file) ||
	    intern_frame(s->names, &cut, label) || note_lines(s, *label, f))
		return -ENOMEM;
	return id_map_set(&s->labels, id, *label);
}

static int fill_key(struct stacks *s, const struct event *ev, struct stack_key *key, uint32_t *n)
{
	uint32_t i, frame, label;
	int err;

	*n = 0;
	for (i = 0; i < ev->nframes; i++) {
		frame = ev->frames[i];
		if (!id_map_get(&s->labels, frame, &label)) {
			if (frame >= s->tables->frame_cnt)
				return -EINVAL;
			err = make_label(s, frame, &label);
			if (err)
				return err;
		}
		if (label != HIDDEN)
			key->labels[(*n)++] = label;
	}
	return 0;
}

static int remember_stack(struct seen_thread *th, const struct event *ev, uint32_t id)
{
	uint32_t *frames;

	if (ev->nframes > th->cap) {
		frames = reallocarray(th->frames, ev->nframes, sizeof(*frames));
		if (!frames)
			return -ENOMEM;
		th->frames = frames;
		th->cap = ev->nframes;
	}
	if (ev->nframes)
		memcpy(th->frames, ev->frames, ev->nframes * sizeof(*th->frames));
	th->n = ev->nframes;
	th->status = ev->status;
	th->id = id;
	th->any = true;
	return 0;
}

/* Returns true if the outermost frame shows that the stack was cut. */
static bool is_truncated(const struct stacks *s, const struct event *ev)
{
	const struct frame *f;
	const struct string_ref *func;

	if (!ev->nframes)
		return false;
	f = &s->tables->frames[ev->frames[ev->nframes - 1]];
	func = &s->tables->strings[f->func];
	return f->kind == FRAME_SYNTHETIC && func->len == strlen(TRUNCATED) &&
	       !memcmp(func->data, TRUNCATED, func->len);
}

static int find_stack(struct stacks *s, struct seen_thread *th, const struct event *ev,
		      uint32_t *id)
{
	struct stack_key key = { .group = th->group };
	struct total none = { 0 };
	uint32_t n;
	int err;

	key.status = s->config.by_status ? ev->status : 0;
	err = fill_key(s, ev, &key, &n);
	if (!err)
		err = intern_string(s->keys, (const char *)&key,
				    KEY_HEAD_BYTES + n * sizeof(key.labels[0]), id);
	if (!err && *id == COUNT(s->totals, struct total))
		err = buf_add(&s->totals, &none, sizeof(none));
	return err ? err : remember_stack(th, ev, *id);
}

static bool is_repeat(const struct stacks *s, const struct seen_thread *th, const struct event *ev)
{
	return th->any && th->n == ev->nframes &&
	       (th->status == ev->status || !s->config.by_status) &&
	       (!th->n || !memcmp(th->frames, ev->frames, th->n * sizeof(*th->frames)));
}

int stacks_add(struct stacks *s, const struct event *ev, uint32_t *id)
{
	struct stack_process *p;
	struct seen_thread *th;
	struct total *total;
	int err;

	if (!s->tables || ev->nframes > EVENT_MAX_FRAMES)
		return -EINVAL;
	err = find_thread(s, ev->thread_id, &th);
	if (err)
		return err;
	if (is_repeat(s, th, ev)) {
		*id = th->id;
	} else {
		err = find_stack(s, th, ev, id);
		if (err)
			return err;
	}
	if (is_truncated(s, ev)) {
		p = &AT(s->processes, struct stack_process, s->process);
		p->truncated = add_capped(p->truncated, ev->weight);
	}
	total = &AT(s->totals, struct total, *id);
	total->weight = add_capped(total->weight, ev->weight);
	total->events++;
	return 0;
}

uint32_t stacks_cnt(const struct stacks *s)
{
	return COUNT(s->totals, struct total);
}

struct stack_view stacks_get(const struct stacks *s, uint32_t id)
{
	const struct string_ref *bytes = &intern_tables(s->keys)->strings[id];
	const struct total *total = &AT(s->totals, struct total, id);
	struct stack_view v = {
		.n = (uint32_t)((bytes->len - KEY_HEAD_BYTES) / sizeof(uint32_t)),
		/*
		 * Keys in the arena are aligned because they consist of whole words: see
		 * intern_string().
		 */
		.labels = (const uint32_t *)(const void *)(bytes->data + KEY_HEAD_BYTES),
		.weight = total->weight,
		.events = total->events,
	};
	uint32_t head[2];

	memcpy(head, bytes->data, sizeof(head));
	v.group = head[0];
	v.status = (uint8_t)head[1];
	return v;
}

uint64_t stacks_bytes(const struct stacks *s, bool names, uint32_t frame_bytes)
{
	const struct profile_tables *t = stacks_tables(s);
	uint32_t i, k, cnt = stacks_cnt(s);
	uint64_t bytes = 0;

	for (i = 0; i < cnt; i++) {
		struct stack_view v = stacks_get(s, i);

		bytes += (uint64_t)v.n * frame_bytes;
		for (k = 0; names && k < v.n; k++) {
			const struct frame *f = &t->frames[v.labels[k]];

			bytes += t->strings[f->func].len + path_base(t->strings[f->file]).len;
		}
	}
	return bytes;
}

const struct profile_tables *stacks_tables(const struct stacks *s)
{
	return intern_tables(s->names);
}

uint32_t stacks_line(const struct stacks *s, uint32_t label)
{
	const struct label_lines *lines = &AT(s->lines, struct label_lines, label);

	return s->config.detail == DETAIL_FUNCTION && lines->first ? lines->first : lines->lowest;
}

uint32_t stacks_first_line(const struct stacks *s, uint32_t label)
{
	return AT(s->lines, struct label_lines, label).first;
}

uint32_t stacks_group_cnt(const struct stacks *s)
{
	return COUNT(s->groups, struct stack_group);
}

const struct stack_group *stacks_group(const struct stacks *s, uint32_t group)
{
	return &AT(s->groups, struct stack_group, group);
}

uint32_t stacks_process_cnt(const struct stacks *s)
{
	return COUNT(s->processes, struct stack_process);
}

const struct stack_process *stacks_process(const struct stacks *s, uint32_t process)
{
	return &AT(s->processes, struct stack_process, process);
}

struct string_ref path_base(struct string_ref path)
{
	const char *slash = path.len ? memrchr(path.data, '/', path.len) : NULL;

	if (slash) {
		path.len -= (uint32_t)(slash + 1 - path.data);
		path.data = slash + 1;
	}
	return path;
}
