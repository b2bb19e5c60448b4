// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* look_locals.c - see look_locals.h: sends the request, and matches the answer to frames. */
#include "look/look_locals.h"

#include <stdlib.h>
#include <string.h>

#include "look/look_question.h"
#include "look/look_worker.h"
#include "resolve/process.h"

/* A copy of an answer, with checked numbers: the worker is not trusted. */
struct look_process_locals {
	char *text;
	struct look_local *locals;
	struct look_found_frame *frames;
	uint32_t local_cnt, frame_cnt, text_len;
	struct look_variables **of_threads;	/* to free */
	size_t thread_cnt;
};

void look_locals_free(struct look_process_locals *l)
{
	size_t i;

	if (!l)
		return;
	for (i = 0; l->of_threads && i < l->thread_cnt; i++)
		free(l->of_threads[i]);
	free(l->of_threads);
	free(l->frames);
	free(l->locals);
	free(l->text);
	free(l);
}

static bool fits_text(struct look_span span, uint32_t len)
{
	return span.at <= len && span.len <= len - span.at;
}

/* Returns false if a number in it is impossible. */
static bool check_local(struct look_process_locals *l, const struct look_found_local *found)
{
	uint32_t i;

	for (i = 0; i < l->local_cnt; i++) {
		if (!fits_text(found[i].name, l->text_len) ||
		    !fits_text(found[i].value, l->text_len))
			return false;
		l->locals[i] = (struct look_local){
			.name = l->text + found[i].name.at, .name_len = found[i].name.len,
			.value = l->text + found[i].value.at, .value_len = found[i].value.len,
			.argument = *(const volatile unsigned char *)&found[i].argument & 1,
		};
	}
	for (i = 0; i < l->frame_cnt; i++)
		if (!fits_text(l->frames[i].function, l->text_len) ||
		    !fits_text((struct look_span){ l->frames[i].first, l->frames[i].local_cnt },
			       l->local_cnt))
			return false;
	return true;
}

/* Reads once: the worker may change it. */
static uint32_t at_most(const volatile uint32_t *v, uint32_t max)
{
	uint32_t once = *v;

	return once < max ? once : max;
}

/* Returns NULL if there is no memory, or the answer is malformed. */
static struct look_process_locals *copy_answer(const struct look_locals_answer *s,
					       size_t thread_cnt)
{
	struct look_process_locals *l = calloc(1, sizeof(*l));
	struct look_found_local *found;
	bool ok;

	if (!l)
		return NULL;
	l->text_len = at_most(&s->text_len, LOOK_TEXT_BYTES);
	l->local_cnt = at_most(&s->local_cnt, LOOK_LOCALS);
	l->frame_cnt = at_most(&s->frame_cnt, LOOK_FRAMES);
	l->thread_cnt = thread_cnt;
	l->text = malloc(l->text_len + 1);
	l->locals = calloc(l->local_cnt + 1, sizeof(*l->locals));
	l->frames = calloc(l->frame_cnt + 1, sizeof(*l->frames));
	l->of_threads = calloc(thread_cnt + 1, sizeof(*l->of_threads));
	found = calloc(l->local_cnt + 1, sizeof(*found));
	ok = l->text && l->locals && l->frames && l->of_threads && found;
	if (ok) {
		memcpy(l->text, s->text, l->text_len);
		memcpy(l->frames, s->frames, l->frame_cnt * sizeof(*l->frames));
		memcpy(found, s->locals, l->local_cnt * sizeof(*found));
		ok = check_local(l, found);
	}
	free(found);
	if (ok)
		return l;
	look_locals_free(l);
	return NULL;
}

static bool same_name(const struct look_process_locals *l, const struct look_found_frame *f,
		      const struct string_ref *name)
{
	return f->function.len == name->len &&
	       !memcmp(l->text + f->function.at, name->data, name->len);
}

/*
 * Returns the variables of a thread, if its functions are those of its stack, from the innermost
 * one on. NULL: they are not, or no memory.
 */
static struct look_variables *match_thread(const struct look_process_locals *l,
					   const struct look_frames_of *found,
					   const struct look_thread *t,
					   const struct profile_tables *tables)
{
	struct look_variables *v = calloc(1, sizeof(*v) + t->nframes * sizeof(*v->frames));
	uint32_t i, n = 0;

	for (i = 0; v && i < t->nframes; i++) {
		const struct frame *frame = &tables->frames[t->frames[i]];
		const struct look_found_frame *f = &l->frames[found->first + n];

		if (frame->kind != FRAME_PYTHON)
			continue;
		if (n == LOOK_THREAD_FRAMES)
			break;
		if (n == found->frame_cnt || !same_name(l, f, &tables->strings[frame->func]))
			goto other;
		v->frames[i].list = l->locals + f->first;
		v->frames[i].cnt = f->local_cnt;
		n++;
	}
	if (v && n == found->frame_cnt)
		return v;
other:
	free(v);
	return NULL;
}

/* Returns NULL if there is no answer. */
static const struct look_locals_answer *ask_worker(const struct process *p,
						   const struct look_thread *threads, size_t cnt)
{
	struct look_locals_answer *s = look_worker_locals(process_tgid(p));
	size_t i;

	if (!s)
		return NULL;
	s->tgid = process_tgid(p);
	s->nested = look_is_nested(p);
	s->at = look_frames_at(p);
	s->cnt = cnt < LOOK_THREADS_MAX ? (uint32_t)cnt : LOOK_THREADS_MAX;
	for (i = 0; i < s->cnt; i++)
		s->threads[i] = (struct look_frames_of){ .tid = (uint32_t)threads[i].tid };
	return look_worker_locals_answer(s->tgid) ? NULL : s;
}

struct look_process_locals *look_locals_of(const struct process *p, struct look_thread *threads,
					   size_t cnt, bool *full)
{
	const struct look_locals_answer *s =
		process_interps(p) ? ask_worker(p, threads, cnt) : NULL;
	struct look_process_locals *l = s ? copy_answer(s, cnt) : NULL;
	struct look_frames_of found;
	size_t i;

	*full = s && *(const volatile unsigned char *)&s->full & 1;
	for (i = 0; l && i < cnt && i < LOOK_THREADS_MAX; i++) {
		memcpy(&found, (const void *)&s->threads[i], sizeof(found));
		if (!(*(unsigned char *)&found.read & 1) ||
		    !fits_text((struct look_span){ found.first, found.frame_cnt }, l->frame_cnt))
			continue;
		l->of_threads[i] = match_thread(l, &found, &threads[i], process_tables(p));
		threads[i].variables = l->of_threads[i];
		if (l->of_threads[i])
			l->of_threads[i]->steady = *(unsigned char *)&found.steady & 1;
	}
	return l;
}
