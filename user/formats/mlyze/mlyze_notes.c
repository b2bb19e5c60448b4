// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* mlyze_notes.c - see mlyze_notes.h. */
#include "formats/mlyze/mlyze_notes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "formats/mlyze/mlyze_marks.h"
#include "model/thread_names.h"

#define THREAD_NUMBERS (1u << 16)	/* an ALLOC has 16 bits for its thread */

/* Copies a text of a mark, unless there is one already. Returns 0 or -ENOMEM. */
static int keep_text(char **to, const struct mlyze_mark *m, const char *key)
{
	const char *value = mlyze_mark_value(m, key);

	if (!value || !*value || *to)
		return 0;
	*to = strdup(value);
	return *to ? 0 : -ENOMEM;
}

static int on_recording(struct mlyze_notes *n, const struct mlyze_mark *m, uint64_t time_us)
{
	const char *mode = mlyze_mark_value(m, "mode");

	n->recorded = true;
	n->exact = mode && !strcmp(mode, "exact");
	n->every_bytes = mlyze_mark_number(m, "every", 0);
	n->min_bytes = mlyze_mark_number(m, "min", 0);
	n->interval_us = mlyze_mark_number(m, "interval_us", 0);
	return 0;
}

static int on_process(struct mlyze_notes *n, const struct mlyze_mark *m, uint64_t time_us)
{
	const char *python = mlyze_mark_value(m, "python");
	uint64_t pid = mlyze_mark_number(m, "pid", 0);
	int err;

	n->pid = pid <= INT32_MAX ? (uint32_t)pid : 0;
	if (python && sscanf(python, "%3hhu.%3hhu.%3hhu", &n->python_major, &n->python_minor,
			     &n->python_micro) < 2)
		n->python_major = 0;
	err = keep_text(&n->comm, m, "comm");
	if (!err)
		err = keep_text(&n->container, m, "container");
	return err ? err : keep_text(&n->command, m, "command");
}

static int on_thread(struct mlyze_notes *n, const struct mlyze_mark *m, uint64_t time_us)
{
	uint64_t number = mlyze_mark_number(m, "n", UINT64_MAX);
	uint64_t tid = mlyze_mark_number(m, "tid", 0);
	const char *name = mlyze_mark_value(m, "name");
	int err;

	if (number >= THREAD_NUMBERS || !tid)
		return 0;
	if (!n->tids)
		n->tids = calloc(THREAD_NUMBERS, sizeof(*n->tids));
	if (!n->tids)
		return -ENOMEM;
	n->tids[number] = tid;
	if (!name || !*name)
		return 0;
	if (!n->names)
		n->names = thread_names_new();
	err = n->names ? thread_names_set(n->names, tid, name) : -ENOMEM;
	return err == -ENOSPC ? 0 : err;
}

/* Removes every second check. */
static void thin_out(struct buf *checks)
{
	struct mlyze_check *c = (struct mlyze_check *)(void *)checks->data;
	size_t i, cnt = checks->len / sizeof(*c);

	for (i = 0; 2 * i < cnt; i++)
		c[i] = c[2 * i];
	checks->len = i * sizeof(*c);
}

static int on_check(struct mlyze_notes *n, const struct mlyze_mark *m, uint64_t time_us)
{
	struct mlyze_check c = {
		.time_us = time_us,
		.rss_anon = mlyze_mark_number(m, "rss_anon", 0),
		.swapped = mlyze_mark_number(m, "swapped", 0),
		.held = mlyze_mark_number(m, "held", 0),
		.unchecked = mlyze_mark_number(m, "unchecked", 0),
	};

	if (n->checks.len / sizeof(c) >= MLYZE_CHECKS_MAX)
		thin_out(&n->checks);
	return buf_add(&n->checks, &c, sizeof(c));
}

static int on_gc(struct mlyze_notes *n, const struct mlyze_mark *m, uint64_t time_us)
{
	uint64_t generation = mlyze_mark_number(m, "generation", 0);
	uint64_t *runs;

	if (generation >= MLYZE_GENERATIONS)
		generation = MLYZE_GENERATIONS - 1;
	runs = &n->runs[generation];
	*runs = add_capped(*runs, mlyze_mark_number(m, "runs", 1));
	n->uncollectable = add_capped(n->uncollectable, mlyze_mark_number(m, "uncollectable", 0));
	n->collecting_us = add_capped(n->collecting_us, mlyze_mark_number(m, "duration_us", 0));
	return 0;
}

/* As in losses.h: nothing in them needs to be escaped. */
static bool is_cause(const char *s)
{
	return s && *s && !s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_")];
}

static int on_lost(struct mlyze_notes *n, const struct mlyze_mark *m, uint64_t time_us)
{
	const char *cause = mlyze_mark_value(m, "cause");
	uint64_t cnt = mlyze_mark_number(m, "cnt", 0);
	size_t i;

	if (!is_cause(cause) || !cnt)
		return 0;
	for (i = 0; i < n->loss_cnt; i++)
		if (!strncmp(n->losses[i].cause, cause, sizeof(n->losses[i].cause) - 1))
			break;
	if (i == MLYZE_LOSSES_MAX)
		return 0;
	if (i == n->loss_cnt)
		snprintf(n->losses[n->loss_cnt++].cause, sizeof(n->losses[i].cause), "%.47s",
			 cause);
	n->losses[i].cnt = add_capped(n->losses[i].cnt, cnt);
	return 0;
}

static int on_burst(struct mlyze_notes *n, const struct mlyze_mark *m, uint64_t time_us)
{
	n->exact = false;
	n->sampled.bursts++;
	return n->bursts.len / sizeof(time_us) < MLYZE_BURSTS_MAX ?
	       buf_add(&n->bursts, &time_us, sizeof(time_us)) : 0;
}

static bool is_word(const char *s)
{
	return s && *s && !s[strspn(s, "abcdefghijklmnopqrstuvwxyz")];
}

static int on_sampled(struct mlyze_notes *n, const struct mlyze_mark *m, uint64_t time_us)
{
	const char *allocator = mlyze_mark_value(m, "allocator");

	n->sampled.watched_us = mlyze_mark_number(m, "watched_us", 0);
	n->sampled.over_us = mlyze_mark_number(m, "over_us", 0);
	n->sampled.found = mlyze_mark_number(m, "found", 0);
	n->sampled.used = mlyze_mark_number(m, "used", 0);
	n->sampled.again = mlyze_mark_number(m, "again", 0);
	n->sampled.again_error = mlyze_mark_number(m, "again_error", 0);
	snprintf(n->sampled.allocator, sizeof(n->sampled.allocator), "%.15s",
		 is_word(allocator) ? allocator : "unknown");
	return 0;
}

static int on_census(struct mlyze_notes *n, const struct mlyze_mark *m, uint64_t time_us)
{
	return mlyze_types_census(&n->types, m, time_us);
}

static int on_type(struct mlyze_notes *n, const struct mlyze_mark *m, uint64_t time_us)
{
	return mlyze_types_type(&n->types, m);
}

static int on_fate(struct mlyze_notes *n, const struct mlyze_mark *m, uint64_t time_us)
{
	return mlyze_fate_take(&n->fates, m);
}

static int on_end(struct mlyze_notes *n, const struct mlyze_mark *m, uint64_t time_us)
{
	n->ended = true;
	n->exited = mlyze_mark_number(m, "exited", 0);
	return 0;
}

static int (*const takers[])(struct mlyze_notes *n, const struct mlyze_mark *m,
			     uint64_t time_us) = {
	[MARK_RECORDING] = on_recording, [MARK_PROCESS] = on_process, [MARK_THREAD] = on_thread,
	[MARK_CHECK] = on_check,	 [MARK_GC] = on_gc,	      [MARK_LOST] = on_lost,
	[MARK_END] = on_end,		 [MARK_CENSUS] = on_census,   [MARK_TYPE] = on_type,
	[MARK_FATE] = on_fate,		 [MARK_BURST] = on_burst,     [MARK_SAMPLED] = on_sampled,
};

int mlyze_notes_read(const struct mlyze_file *f, struct mlyze_notes *notes)
{
	const struct profile_tables *tables = mlyze_tables(f);
	struct mlyze_error error;
	struct mlyze_cursor at;
	struct mlyze_event ev;
	struct mlyze_mark mark;
	int err = 0;

	memset(notes, 0, sizeof(*notes));
	notes->end_us = mlyze_start_us(f);
	mlyze_rewind(&at, f);
	while (!err && mlyze_next(&at, &ev, &error) > 0) {
		notes->end_us = ev.time_us;
		if (ev.type != MLYZE_MARKER)
			continue;
		mlyze_mark_parse(tables->strings[ev.name].data, tables->strings[ev.name].len,
				 &mark);
		/* Only what follows "tachbpf recording" is ours. */
		if (mark.word == MARK_RECORDING || (mark.word && notes->recorded))
			err = takers[mark.word](notes, &mark, ev.time_us);
	}
	return err;
}

void mlyze_notes_free(struct mlyze_notes *notes)
{
	free(notes->comm);
	free(notes->container);
	free(notes->command);
	thread_names_drop(notes->names);
	free(notes->tids);
	buf_free(&notes->checks);
	buf_free(&notes->bursts);
	mlyze_types_free(&notes->types);
	buf_free(&notes->fates);
	memset(notes, 0, sizeof(*notes));
}

const struct mlyze_check *mlyze_notes_checks(const struct mlyze_notes *notes, size_t *cnt)
{
	*cnt = notes->checks.len / sizeof(struct mlyze_check);
	return (const struct mlyze_check *)(const void *)notes->checks.data;
}

const uint64_t *mlyze_notes_bursts(const struct mlyze_notes *notes, size_t *cnt)
{
	*cnt = notes->bursts.len / sizeof(uint64_t);
	return (const uint64_t *)(const void *)notes->bursts.data;
}

const struct mlyze_fate *mlyze_notes_fates(const struct mlyze_notes *notes, size_t *cnt)
{
	*cnt = notes->fates.len / sizeof(struct mlyze_fate);
	return (const struct mlyze_fate *)(const void *)notes->fates.data;
}

uint64_t mlyze_notes_tid(const struct mlyze_notes *notes, uint16_t number)
{
	return notes->tids && notes->tids[number] ? notes->tids[number] : number;
}
