// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* look_locals_answer.c - the worker's part of look_locals.h. */
#include <stdlib.h>
#include <string.h>

#include "base/u64map.h"
#include "cpython/locals.h"
#include "cpython/pages.h"
#include "host/proc.h"
#include "look/look_locals.h"
#include "look/look_status.h"

/* Memory reads for one answer: about a µs each. */
#define READS_MAX 400000

struct answer {
	struct look_locals_answer *s;
	struct py_walk walk;
	struct py_thread *states;	/* by tid */
	uint32_t state_cnt;
	uint32_t value_bytes;	/* so far */
	struct pages pages;
	struct u64map functions;	/* code object -> 1 + the index of a frame of it */
};

/* Appends to the text. Returns false if it is full. */
static bool add_text(struct look_locals_answer *s, const char *text, uint32_t len,
		     struct look_span *out)
{
	if (len > sizeof(s->text) - s->text_len) {
		s->full = true;
		return false;
	}
	*out = (struct look_span){ s->text_len, len };
	memcpy(s->text + s->text_len, text, len);
	s->text_len += len;
	return true;
}

/* py_local_fn */
static bool add_local(void *ctx, const char *name, uint32_t len, bool argument,
		      const struct py_value *value)
{
	struct answer *a = ctx;
	struct look_locals_answer *s = a->s;
	struct look_found_local *l = &s->locals[s->local_cnt];

	if (s->local_cnt == LOOK_LOCALS || a->value_bytes + value->len > LOOK_VALUE_BYTES)
		s->full = true;
	if (s->full || !add_text(s, name, len, &l->name) ||
	    !add_text(s, value->text, value->len, &l->value))
		return false;
	l->argument = argument;
	a->value_bytes += value->len;
	s->local_cnt++;
	s->frames[s->frame_cnt].local_cnt++;
	return true;
}

/* Adds the name of a frame's function; the text has that of each code object once. */
static bool add_function(struct answer *a, const struct py_frame *frame, struct look_span *out)
{
	uintptr_t known = (uintptr_t)u64map_get(&a->functions, frame->code);
	uint64_t name;
	uint32_t len;
	char *text;
	bool added;

	if (known) {
		*out = a->s->frames[known - 1].function;
		return true;
	}
	if (py_pointer(&a->walk, frame->code + a->s->at.layout.co_qualname, &name) ||
	    code_read_string(a->walk.mem, a->walk.o, name, &text, &len))
		return false;
	added = add_text(a->s, text, len, out);
	free(text);
	return added && !u64map_put(&a->functions, frame->code,
				    (void *)(uintptr_t)(a->s->frame_cnt + 1));
}

static bool add_frame(struct answer *a, const struct py_frame *frame)
{
	struct look_locals_answer *s = a->s;
	struct look_found_frame *f = &s->frames[s->frame_cnt];

	if (s->frame_cnt == LOOK_FRAMES || !a->walk.reads_left) {
		s->full = true;
		return false;
	}
	*f = (struct look_found_frame){ .first = s->local_cnt };
	if (!add_function(a, frame, &f->function))
		return false;
	py_locals_read(&a->walk, &s->at, frame, add_local, a);
	s->frame_cnt++;
	return !s->full;
}

static bool same_frames(const struct py_frame *x, const struct py_frame *y, uint32_t cnt)
{
	return !memcmp(x, y, cnt * sizeof(*x));
}

/* Adds a thread state's frames, maybe none; returns false if they changed, or do not fit. */
static bool add_frames(struct answer *a, uint64_t state)
{
	static struct py_frame frames[LOOK_THREAD_FRAMES], again[LOOK_THREAD_FRAMES];
	uint32_t cnt, cnt_again, i;
	bool whole;

	py_frames_list(&a->walk, &a->s->at, state, frames, LOOK_THREAD_FRAMES, &cnt, &whole);
	if (!cnt)
		return true;
	if (!whole && cnt < LOOK_THREAD_FRAMES)
		return false;
	for (i = 0; i < cnt && add_frame(a, &frames[i]); i++)
		;
	pages_begin(&a->pages, &a->pages.mem);
	py_frames_list(&a->walk, &a->s->at, state, again, LOOK_THREAD_FRAMES, &cnt_again, &whole);
	return i == cnt && cnt == cnt_again && same_frames(frames, again, cnt);
}

/* Adds all the thread's states, if it runs nested interpreters: see bpf/pyouter.bpf.h. */
static void add_thread(struct answer *a, struct look_frames_of *t)
{
	pid_t tgid = a->s->tgid;
	uint32_t own = a->s->nested ? look_own_tid(tgid, t->tid) : t->tid;
	const struct py_thread *state = py_threads_find(a->states, a->state_cnt, own);
	uint64_t before = look_switches(tgid, t->tid);
	bool whole = true;

	t->first = a->s->frame_cnt;
	pages_begin(&a->pages, &a->pages.mem);	/* nothing is cached from before */
	for (; whole && state && state < a->states + a->state_cnt && state->tid == own; state++)
		whole = add_frames(a, state->state);
	t->frame_cnt = a->s->frame_cnt - t->first;
	t->read = whole && t->frame_cnt;
	t->steady = t->read && before && look_switches(tgid, t->tid) == before;
}

void look_locals_answer(struct look_locals_answer *s)
{
	static struct answer a;
	const struct target_mem direct = { proc_mem_read, (void *)(intptr_t)s->tgid };
	const struct target_mem mem = { pages_read, &a.pages };
	uint32_t i;

	a.s = s;
	a.states = calloc(PY_THREADS_MAX, sizeof(*a.states));
	a.state_cnt = a.value_bytes = 0;
	pages_begin(&a.pages, &direct);

	s->frame_cnt = s->local_cnt = s->text_len = 0;
	s->full = false;
	py_walk_init(&a.walk, &mem, &s->at.objects, READS_MAX);
	if (a.states && s->cnt <= LOOK_THREADS_MAX)
		py_threads_list(&a.walk, &s->at, a.states, PY_THREADS_MAX, &a.state_cnt);
	py_threads_sort(a.states, a.state_cnt);
	for (i = 0; a.state_cnt && i < s->cnt && !s->full; i++)
		add_thread(&a, &s->threads[i]);
	u64map_free(&a.functions);
	free(a.states);
}
