/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * process_test.h - a process whose code objects are made up, and a sink that keeps what it gets:
 * begin(), stack() and take() for each sample, end(). One at a time, so its state is here.
 */
#ifndef TACHBPF_TESTS_PROCESS_TEST_H
#define TACHBPF_TESTS_PROCESS_TEST_H

#include "resolve/process.h"
#include "tests/unit/resolve/fake_code.h"

#include "host/kallsyms.h"
#include "resolve/process.h"
#include "tests/unit/resolve/fake_code.h"

/* A sink that keeps what it gets, and can refuse. */
struct fake_sink {
	struct sink sink;
	const struct profile_meta *meta;
	const struct profile_tables *tables;
	struct events events;
	int begin_err, event_err, flushes, ends, closes;
};

static int fake_begin(struct sink *s, const struct profile_meta *meta,
		      const struct profile_tables *tables)
{
	struct fake_sink *f = (struct fake_sink *)s;

	f->meta = meta;
	f->tables = tables;
	return f->begin_err;
}

static int fake_event(struct sink *s, const struct event *ev)
{
	struct fake_sink *f = (struct fake_sink *)s;
	uint32_t i;

	if (f->event_err)
		return f->event_err;
	assert_in_range(ev->nframes, 0, EVENT_MAX_FRAMES);
	for (i = 0; i < ev->nframes; i++)
		assert_in_range(ev->frames[i], 0, f->tables->frame_cnt - 1);
	return keep_event(&f->events, ev);
}

static int fake_flush(struct sink *s)
{
	((struct fake_sink *)s)->flushes++;
	return 0;
}

static int fake_end(struct sink *s, const struct profile_stats *stats)
{
	((struct fake_sink *)s)->ends++;
	return ((struct fake_sink *)s)->event_err;
}

static int fake_close(struct sink *s)
{
	((struct fake_sink *)s)->closes++;
	return 0;
}

static const struct sink_ops fake_ops = {
	.name = "fake", .begin = fake_begin, .event = fake_event, .flush = fake_flush,
	.end = fake_end, .close = fake_close,
};

#define CODES 400

static struct fake_codes fake;
static struct fake_sink sink;
static struct process *p;
static struct raw_sample raw;

static struct process_args more_args;	/* waits, and what is a frame of them */

static inline void begin(void)
{
	struct process_args args = {
		.tgid = getpid(), .start_ns = 9, .comm = "a (comm)", .opcodes = false,
		.meta = { .mode = MODE_CPU, .interval_us = 1000 },
		.waits = more_args.waits, .wait_frames = more_args.wait_frames,
		.runnable_frames = more_args.runnable_frames, .kernel = more_args.kernel,
	};

	fake_codes_in_self(&fake, CODES);
	args.image = &fake.img;
	p = process_new(&args);
	assert_non_null(p);
	sink = (struct fake_sink){ .sink = { &fake_ops } };
	assert_false(process_has_sink(p));
	assert_int_equal(process_attach(p, &sink.sink, 5), 0);
	assert_true(process_has_sink(p));
}

static inline void end(void)
{
	process_end(p, &(struct profile_stats){ .known = true });
	process_free(p);
	events_free(&sink.events);
	fake_codes_free(&fake);
}

/* n frames, the innermost code object first, then first + 1 ...; lasti 2 * that. */
static inline void stack(uint32_t tid, uint32_t n, uint32_t first)
{
	uint32_t i;

	raw = (struct raw_sample){ .h = { .kind = RAW_SAMPLE, .tgid = getpid() } };
	raw.h.time_ns = 1234567;
	raw.h.start_ns = 9;
	raw.tid = tid;
	raw.nframes = n;
	raw.status = STATUS_ON_CPU | STATUS_HAS_GIL;
	for (i = 0; i < n; i++)
		raw.frames[i] = fake_frame(&fake, first + i, 2 * ((first + i) % 60));
}

static inline size_t raw_len(void)
{
	return offsetof(struct raw_sample, frames) + raw.nframes * sizeof(raw.frames[0]);
}

static inline struct event take(void)
{
	assert_int_equal(process_sample(p, &raw, raw_len()), 0);
	assert_true(sink.events.cnt > 0);
	return kept_event(&sink.events, sink.events.cnt - 1);
}

static inline void check_code(const struct event *ev, uint32_t i, uint32_t code)
{
	assert_true(i < ev->nframes);
	assert_true(frame_is_fake(sink.tables, ev->frames[i], code, 2 * (code % 60)));
}

static inline void check_name(const struct event *ev, uint32_t i, const char *name)
{
	assert_true(i < ev->nframes);
	assert_true(frame_is_synthetic(sink.tables, ev->frames[i], name));
}

static inline void check_stack(const struct event *ev, uint32_t n, uint32_t first)
{
	uint32_t i;

	assert_int_equal(ev->nframes, n);
	for (i = 0; i < n; i++)
		check_code(ev, i, first + i);
}

static inline struct process_stats stats_now(void)
{
	struct process_stats stats;

	process_stats(p, &stats);
	return stats;
}

#endif
