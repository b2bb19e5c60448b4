// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * sample_filter.c - see sample_filter.h.
 *
 * Owns the results of the regular expressions: each string is matched at most once, however
 * many samples there are.
 */
#include "model/sample_filter.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/time.h"
#include "model/id_map.h"
#include "model/process_frame.h"
#include "model/region.h"
#include "model/service_map.h"

/*
 * Only this many bytes of a name are matched: regexec() needs memory for each byte, and names are
 * hostile.
 */
#define MATCH_MAX_BYTES 4096

/* What is known of a string or frame. */
enum verdict { FOCUS = 1, IGNORE = 2 };

struct sample_filter {
	const struct sample_filter_options *o;
	const struct profile_tables *tables;
	uint64_t from_us, to_us;	/* absolute times; to_us: the first moment that is not
					 * included */
	struct process_root root;	/* tables NULL: the whole profile belongs to a selected
					 * process */
	const struct service_map *services;	/* of processes in frames; NULL: unknown */
	struct id_map strings, frames;	/* enum verdict by id */
	/* The result for the last stack. */
	bool known, passes;
	uint32_t depth;
	uint32_t stack[EVENT_MAX_FRAMES];
	int (*on_event)(void *ctx, const struct event *ev);
	void *ctx;
};

static void free_regex(regex_t *re)
{
	if (re)
		regfree(re);
	free(re);
}

void sample_filter_options_free(struct sample_filter_options *o)
{
	free(o->threads);
	free(o->processes);
	free(o->services);
	free_regex(o->focus);
	free_regex(o->ignore);
	memset(o, 0, sizeof(*o));
}

bool sample_filter_is_empty(const struct sample_filter_options *o)
{
	return !o->thread_cnt && !o->process_cnt && !o->service_cnt && !o->status_set &&
	       !o->status_clear && !o->from.given && !o->to.given && !o->focus && !o->ignore;
}

bool sample_filter_has_time(const struct sample_filter_options *o)
{
	return o->from.given || o->to.given;
}

static bool is_number(const char *s)
{
	return *s && !s[strspn(s, "0123456789")];
}

bool sample_filter_wants_process(const struct sample_filter_options *o, uint32_t tgid,
				 const char *comm)
{
	size_t i;

	for (i = 0; i < o->process_cnt; i++) {
		const char *want = o->processes[i];

		if (is_number(want) && tgid && strtoull(want, NULL, 10) == tgid)
			return true;
		if (comm && !fnmatch(want, comm, 0))
			return true;
	}
	return !o->process_cnt;
}

bool sample_filter_wants_service(const struct sample_filter_options *o,
				 const struct named_service *service)
{
	size_t i;

	for (i = 0; service && i < o->service_cnt; i++) {
		if (named_service_matches(service, o->services[i]))
			return true;
	}
	return !o->service_cnt;
}

bool sample_filter_wants_tables(const struct sample_filter_options *o,
				const struct profile_tables *tables,
				const struct service_map *services)
{
	char comm[PROCESS_FRAME_BYTES];
	const char *container;
	uint32_t i, tgid;

	for (i = 0; i < tables->frame_cnt; i++)
		if (process_frame_parse(tables, i, &tgid, comm, &container) &&
		    sample_filter_wants_process(o, tgid, comm) &&
		    sample_filter_wants_service(o, service_map_get(services, tgid)))
			return true;
	return false;
}

/* none: the result without a limit. */
static uint64_t absolute_us(const struct sample_filter_time *t, const struct profile_meta *meta,
			    uint64_t none)
{
	if (!t->given)
		return none;
	if (t->absolute)
		return t->us;
	return add_capped(meta->start_us, t->us);
}

static bool thread_passes(const struct sample_filter_options *o, uint64_t thread_id)
{
	size_t i;

	for (i = 0; i < o->thread_cnt; i++)
		if (o->threads[i] == thread_id)
			return true;
	return !o->thread_cnt;
}

bool sample_filter_cut_region(const struct sample_filter_options *o,
			      const struct profile_meta *meta, struct profile_region *region)
{
	uint64_t from_ns = mul_capped(absolute_us(&o->from, meta, 0), NS_PER_US);
	uint64_t to_ns = mul_capped(absolute_us(&o->to, meta, UINT64_MAX), NS_PER_US);

	if (!thread_passes(o, region->thread_id) || region->begin_ns >= to_ns ||
	    (region->begin_ns < from_ns && region->end_ns <= from_ns))
		return false;
	if (region->begin_ns < from_ns)
		region->begin_ns = from_ns;
	if (region->end_ns > to_ns)
		region->end_ns = to_ns;
	return true;
}

struct sample_filter *sample_filter_new(void)
{
	return calloc(1, sizeof(struct sample_filter));
}

void sample_filter_begin(struct sample_filter *f, const struct sample_filter_options *o,
			 const struct profile_meta *meta, const struct profile_tables *tables,
			 int (*on_event)(void *ctx, const struct event *ev), void *ctx)
{
	id_map_clear(&f->strings);
	id_map_clear(&f->frames);
	f->known = false;
	f->root = (struct process_root){ 0 };
	f->o = o;
	f->tables = tables;
	f->from_us = absolute_us(&o->from, meta, 0);
	f->to_us = absolute_us(&o->to, meta, UINT64_MAX);
	f->on_event = on_event;
	f->ctx = ctx;
}

void sample_filter_free(struct sample_filter *f)
{
	if (!f)
		return;
	id_map_free(&f->strings);
	id_map_free(&f->frames);
	free(f);
}

void sample_filter_by_process_frames(struct sample_filter *f, const struct service_map *services)
{
	f->root.tables = f->tables;
	f->services = services;
}

static bool name_matches(const regex_t *re, const struct string_ref *s)
{
	/* Names are not NUL-terminated, which sanitizers require, and may contain NULs. */
	regmatch_t range = { 0, s->len < MATCH_MAX_BYTES ? (regoff_t)s->len : MATCH_MAX_BYTES };
	char text[MATCH_MAX_BYTES + 1];

	if (!re)
		return false;
	memcpy(text, s->data, range.rm_eo);
	text[range.rm_eo] = '\0';
	return !regexec(re, text, 1, &range, REG_STARTEND);
}

/* Adds the verdict of a string to *all. Returns 0 or -ENOMEM. */
static int string_verdict(struct sample_filter *f, uint32_t id, uint32_t *all)
{
	const struct string_ref *s = &f->tables->strings[id];
	uint32_t verdict;
	int err = 0;

	if (!id_map_get(&f->strings, id, &verdict)) {
		verdict = (name_matches(f->o->focus, s) ? FOCUS : 0) |
			  (name_matches(f->o->ignore, s) ? IGNORE : 0);
		err = id_map_set(&f->strings, id, verdict);
	}
	*all |= verdict;
	return err;
}

/* Adds the verdict of a frame to *all. Returns 0 or -ENOMEM. */
static int frame_verdict(struct sample_filter *f, uint32_t id, uint32_t *all)
{
	const struct frame *fr = &f->tables->frames[id];
	uint32_t verdict = 0;
	int err = 0;

	if (!id_map_get(&f->frames, id, &verdict)) {
		err = string_verdict(f, fr->func, &verdict);
		if (!err)
			err = string_verdict(f, fr->file, &verdict);
		if (!err)
			err = id_map_set(&f->frames, id, verdict);
	}
	*all |= verdict;
	return err;
}

/* Sets f->passes for the event's stack. Returns 0 or -ENOMEM. */
static int judge_stack(struct sample_filter *f, const struct event *ev)
{
	size_t bytes = ev->nframes * sizeof(*ev->frames);
	uint32_t all = 0, i;
	int err = 0;

	if (f->known && ev->nframes == f->depth &&
	    (!bytes || !memcmp(ev->frames, f->stack, bytes)))
		return 0;
	for (i = 0; !err && i < ev->nframes; i++)
		err = frame_verdict(f, ev->frames[i], &all);
	f->known = !err;
	f->depth = ev->nframes;
	if (bytes)
		memcpy(f->stack, ev->frames, bytes);
	f->passes = !(all & IGNORE) && (!f->o->focus || all & FOCUS);
	return err;
}

static bool process_passes(struct sample_filter *f, const struct event *ev)
{
	return !f->root.tables ||
	       (process_root_of(&f->root, ev) &&
		sample_filter_wants_process(f->o, f->root.tgid, f->root.comm) &&
		sample_filter_wants_service(f->o, service_map_get(f->services, f->root.tgid)));
}

int sample_filter_event(void *ctx, const struct event *ev)
{
	struct sample_filter *f = ctx;
	uint8_t must = f->o->status_set, must_not = f->o->status_clear;
	int err;

	if ((ev->status & must) != must || ev->status & must_not || ev->time_us < f->from_us ||
	    (f->o->to.given && ev->time_us >= f->to_us) || !thread_passes(f->o, ev->thread_id) ||
	    !process_passes(f, ev))
		return 0;
	if (f->o->focus || f->o->ignore) {
		err = judge_stack(f, ev);
		if (err || !f->passes)
			return err;
	}
	return f->on_event(f->ctx, ev);
}
