/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * process_test.h - a process with the code objects of fake_code.h, and an observer in memory:
 * begin(), then stack() and take() for each sample, end(). There is one at a time.
 */
#ifndef TACHBPF_TESTS_PROCESS_TEST_H
#define TACHBPF_TESTS_PROCESS_TEST_H

#include "resolve/process.h"
#include "tests/unit/memory_observer.h"
#include "tests/unit/resolve/fake_code.h"

#define CODES 400

static struct fake_codes fake;
static struct memory_observer observer;
static struct process *p;
static struct raw_sample raw;

static struct process_args more_args;	/* unit, waits, kernel, py, native ...: for begin() */

static inline void begin(void)
{
	struct process_args args = {
		.tgid = getpid(), .start_ns = 9, .comm = "a (comm)", .opcodes = false,
		.observer = &observer.observer,
		.unit = more_args.unit,
		.waits = more_args.waits, .wait_frames = more_args.wait_frames,
		.runnable_frames = more_args.runnable_frames, .kernel = more_args.kernel,
		.py = more_args.py, .executed_here = more_args.executed_here,
		.native = more_args.native, .native_full = more_args.native_full,
		.memory = more_args.memory, .task_names = more_args.task_names,
		.async = more_args.async,
	};

	fake_codes_in_self(&fake, CODES);
	args.image = &fake.img;
	observer = (struct memory_observer)MEMORY_OBSERVER;
	p = process_new(&args);
	assert_non_null(p);
	assert_int_equal(observer.observer.ops->begin(&observer.observer, p), 0);
}

static inline void end(void)
{
	process_free(p);
	memory_observer_free(&observer);
	fake_codes_free(&fake);
}

/* Fill raw: n frames with code objects first, first + 1, ..., innermost first. */
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
	return raw_sample_bytes(raw.nframes, raw.flags);
}

static inline struct event take(void)
{
	assert_int_equal(process_take(p, &raw, raw_len()), 0);
	assert_true(observer.events.cnt > 0);
	return kept_event(&observer.events, observer.events.cnt - 1);
}

/* The thread gets a name. */
static inline void rename_thread(struct process *of, uint32_t tid, const char *name)
{
	struct raw_rename rename = { .h.kind = RAW_RENAME, .tid = tid };

	assert_true(strlen(name) < sizeof(rename.comm));
	memcpy(rename.comm, name, strlen(name));
	assert_int_equal(process_take(of, &rename, sizeof(rename)), 0);
}

/* The thread ends. */
static inline void exit_of(uint32_t tid)
{
	const struct raw_switch_in run = { .h.kind = RAW_THREAD_EXIT, .tid = tid };

	assert_int_equal(process_take(p, &run, sizeof(run)), 0);
}

static inline void check_code(const struct event *ev, uint32_t i, uint32_t code)
{
	assert_true(i < ev->nframes);
	assert_true(frame_is_fake(observer.tables, ev->frames[i], code, 2 * (code % 60)));
}

static inline void check_name(const struct event *ev, uint32_t i, const char *name)
{
	assert_true(i < ev->nframes);
	assert_true(frame_is_synthetic(observer.tables, ev->frames[i], name));
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
