// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_process.c - raw samples become the events they should, whatever the
 * thread's last stack was.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "host/kallsyms.h"
#include "resolve/process.h"
#include "tests/unit/memory_observer.h"
#include "tests/unit/resolve/fake_code.h"

#define CODES 400

static struct fake_codes fake;
static struct memory_observer observer;
static struct process *p;
static struct raw_sample raw;

static struct process_args more_args;	/* waits, and what is a frame of them */

static void begin(void)
{
	struct process_args args = {
		.tgid = getpid(), .start_ns = 9, .comm = "a (comm)", .opcodes = false,
		.observer = &observer.observer,
		.unit = more_args.unit,
		.waits = more_args.waits, .wait_frames = more_args.wait_frames,
		.runnable_frames = more_args.runnable_frames, .kernel = more_args.kernel,
	};

	fake_codes_in_self(&fake, CODES);
	args.image = &fake.img;
	observer = (struct memory_observer)MEMORY_OBSERVER;
	p = process_new(&args);
	assert_non_null(p);
	assert_int_equal(observer.observer.ops->begin(&observer.observer, p), 0);
}

static void end(void)
{
	process_free(p);
	memory_observer_free(&observer);
	fake_codes_free(&fake);
}

/* n frames, the innermost code object first, then first + 1 ...; lasti 2 * that. */
static void stack(uint32_t tid, uint32_t n, uint32_t first)
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

static size_t raw_len(void)
{
	return raw_sample_bytes(raw.nframes, raw.flags);
}

static struct event take(void)
{
	assert_int_equal(process_sample(p, &raw, raw_len()), 0);
	assert_true(observer.events.cnt > 0);
	return kept_event(&observer.events, observer.events.cnt - 1);
}

static void check_code(const struct event *ev, uint32_t i, uint32_t code)
{
	assert_true(i < ev->nframes);
	assert_true(frame_is_fake(observer.tables, ev->frames[i], code, 2 * (code % 60)));
}

static void check_name(const struct event *ev, uint32_t i, const char *name)
{
	assert_true(i < ev->nframes);
	assert_true(frame_is_synthetic(observer.tables, ev->frames[i], name));
}

static void check_stack(const struct event *ev, uint32_t n, uint32_t first)
{
	uint32_t i;

	assert_int_equal(ev->nframes, n);
	for (i = 0; i < n; i++)
		check_code(ev, i, first + i);
}

static struct process_stats stats_now(void)
{
	struct process_stats stats;

	process_stats(p, &stats);
	return stats;
}

static void test_event(void **state)
{
	struct event ev;

	begin();
	stack(4711, 5, 20);
	raw.interp_id = 3;
	ev = take();
	check_stack(&ev, 5, 20);
	assert_int_equal(ev.time_us, 1234);
	assert_int_equal(ev.thread_id, 4711);
	assert_int_equal(ev.interp_id, 3);
	assert_int_equal(ev.status, STATUS_ON_CPU | STATUS_HAS_GIL);
	assert_int_equal(stats_now().samples, 1);
	assert_int_equal(stats_now().frames, 5);
	assert_int_equal(stats_now().threads, 1);
	end();
}

/* Stacks that share their root with the last one, or nothing, or all of it. */
static void test_shared_root(void **state)
{
	static const struct {
		uint32_t n, first;
	} stacks[] = {
		{ 10, 50 }, { 10, 50 }, { 1, 59 }, { 30, 30 }, { 9, 51 }, { 11, 49 }, { 10, 60 },
		{ 10, 50 }, { 0, 0 }, { 10, 50 }, { 256, 0 }, { 255, 1 }, { 256, 1 }, { 1, 0 },
	};
	uint64_t frames = 0;
	struct event ev;
	size_t i;

	begin();
	for (i = 0; i < ARRAY_SIZE(stacks); i++) {
		stack(1, stacks[i].n, stacks[i].first);
		ev = take();
		check_stack(&ev, stacks[i].n, stacks[i].first);
		frames += stacks[i].n;
	}
	assert_int_equal(stats_now().frames, frames);
	/* Same code objects, other instructions at both ends. */
	stack(1, 10, 50);
	take();
	raw.frames[0].lasti = 16;
	raw.frames[9].lasti = 32;
	ev = take();
	assert_true(frame_is_fake(observer.tables, ev.frames[0], 50, 16));
	check_code(&ev, 5, 55);
	assert_true(frame_is_fake(observer.tables, ev.frames[9], 59, 32));
	/* Nothing was asked twice. */
	assert_true(stats_now().process_reads <= 256 + 1);
	end();
}

static void test_gc(void **state)
{
	struct event ev;
	uint32_t at, i;

	begin();
	for (at = 0; at < 10; at++) {
		stack(1, 10, 50);
		raw.flags = RAW_GC;
		raw.gc_at = at;
		ev = take();
		assert_int_equal(ev.nframes, 11);
		for (i = 0; i < 10; i++)
			check_code(&ev, i + (i >= at), 50 + i);
		check_name(&ev, at, "<GC>");
	}
	/* The thread's memory holds the stack without it. */
	stack(1, 10, 50);
	ev = take();
	check_stack(&ev, 10, 50);
	assert_int_equal(stats_now().truncated, 0);
	end();
}

/* The innermost 255 frames and <truncated>. */
static void test_truncated(void **state)
{
	struct event ev;
	uint32_t i;

	begin();
	stack(1, 256, 10);
	raw.flags = RAW_TRUNCATED;
	ev = take();
	assert_int_equal(ev.nframes, 256);
	for (i = 0; i < 255; i++)
		check_code(&ev, i, 10 + i);
	check_name(&ev, 255, "<truncated>");
	assert_int_equal(stats_now().truncated, 1);

	/* With <GC> the outermost two make room. */
	raw.flags = RAW_TRUNCATED | RAW_GC;
	raw.gc_at = 100;
	ev = take();
	assert_int_equal(ev.nframes, 256);
	check_code(&ev, 99, 109);
	check_name(&ev, 100, "<GC>");
	check_code(&ev, 254, 10 + 253);
	check_name(&ev, 255, "<truncated>");
	assert_int_equal(stats_now().truncated, 2);

	/* <GC> alone may be what does not fit. */
	raw.flags = RAW_GC;
	raw.gc_at = 0;
	ev = take();
	assert_int_equal(ev.nframes, 256);
	check_name(&ev, 0, "<GC>");
	check_code(&ev, 254, 10 + 253);
	check_name(&ev, 255, "<truncated>");
	assert_int_equal(stats_now().truncated, 3);

	/* Shims used up the steps: fewer frames, and still not all. */
	stack(1, 200, 10);
	raw.flags = RAW_TRUNCATED;
	ev = take();
	assert_int_equal(ev.nframes, 201);
	check_name(&ev, 200, "<truncated>");
	end();
}

static void test_unreadable(void **state)
{
	struct event ev;

	begin();
	stack(1, 7, 10);
	raw.flags = RAW_UNREADABLE;
	ev = take();
	assert_int_equal(ev.nframes, 8);
	check_code(&ev, 6, 16);
	check_name(&ev, 7, "<unreadable frame>");
	assert_int_equal(stats_now().unreadable, 1);
	assert_int_equal(stats_now().truncated, 0);
	/* Nothing but that. */
	stack(1, 0, 0);
	raw.flags = RAW_UNREADABLE;
	ev = take();
	assert_int_equal(ev.nframes, 1);
	check_name(&ev, 0, "<unreadable frame>");
	/* Of a full stack: it takes the outermost frame's place. */
	stack(1, 256, 10);
	raw.flags = RAW_UNREADABLE;
	ev = take();
	assert_int_equal(ev.nframes, 256);
	check_code(&ev, 254, 264);
	check_name(&ev, 255, "<unreadable frame>");
	assert_int_equal(stats_now().unreadable, 3);
	end();
}

static void test_broken_end(void **state)
{
	struct event ev;

	begin();
	stack(1, 3, 10);
	raw.flags = RAW_BROKEN_END;
	ev = take();
	assert_int_equal(ev.nframes, 4);
	check_code(&ev, 2, 12);
	check_name(&ev, 3, "<truncated>");
	assert_int_equal(stats_now().truncated, 1);
	end();
}

/* Every sample counts its unresolved frames, those it shares with the last one too. */
static void test_unresolved(void **state)
{
	struct event ev;
	int i;

	begin();
	stack(1, 10, 20);
	raw.frames[4].id ^= 2;
	raw.frames[7].id ^= 2;
	for (i = 1; i <= 5; i++) {
		ev = take();
		assert_int_equal(ev.nframes, 10);
		check_name(&ev, 4, "<unresolved>");
		check_name(&ev, 7, "<unresolved>");
		check_code(&ev, 3, 23);
		check_code(&ev, 5, 25);
		check_code(&ev, 9, 29);
		assert_int_equal(stats_now().unresolved, 2 * i);
	}
	/* Names that come late are in the next sample. */
	fake_write(&fake, 24, 24);
	stack(1, 10, 20);
	ev = take();
	check_stack(&ev, 10, 20);
	assert_int_equal(stats_now().unresolved, 10);
	end();
}

/* An entry frame of 3.12 that was not marked as such yet is no frame; others keep their place. */
static void test_trampoline(void **state)
{
	struct event ev;
	int i;

	begin();
	fake_str(&fake, 24 * FAKE_CODE_BYTES + FAKE_NAME, "<interpreter trampoline>");
	fake_str(&fake, 24 * FAKE_CODE_BYTES + FAKE_FILE, "<shim>");
	for (i = 0; i < 3; i++) {
		stack(1, 10, 20);
		raw.frames[4].lasti = 2 * i;
		ev = take();
		assert_int_equal(ev.nframes, 9);
		check_code(&ev, 3, 23);
		check_code(&ev, 4, 25);
		check_code(&ev, 8, 29);
	}
	stack(1, 4, 20);
	raw.flags = RAW_TRUNCATED;
	ev = take();
	assert_int_equal(ev.nframes, 5);
	check_name(&ev, 4, "<truncated>");
	stack(1, 5, 30);
	ev = take();
	check_stack(&ev, 5, 30);
	assert_int_equal(stats_now().unresolved, 0);
	end();
}

/* Without a fingerprint the same address may be other code in the next sample. */
static void test_no_fingerprint(void **state)
{
	struct event ev;

	begin();
	stack(1, 5, 20);
	raw.frames[3].id = 0;
	ev = take();
	check_stack(&ev, 5, 20);
	fake_write(&fake, 23, 333);
	ev = take();
	assert_true(frame_is_fake(observer.tables, ev.frames[3], 333, 46));
	check_code(&ev, 4, 24);
	end();
}

static void test_names_from_records(void **state)
{
	static struct raw_code code;
	struct event ev;
	uint32_t i;

	begin();
	for (i = 20; i < 30; i++)
		assert_int_equal(process_code(p, &code, fake_snapshot(&fake, i, &code)), 0);
	process_gone(p);
	stack(1, 10, 20);
	ev = take();
	check_stack(&ev, 10, 20);
	assert_int_equal(stats_now().process_reads, 0);
	assert_int_equal(stats_now().code_cnt, 10);
	end();
}

static void test_bad_records(void **state)
{
	size_t len;

	begin();
	stack(1, 10, 20);
	for (len = 0; len < raw_len(); len++)
		assert_int_equal(process_sample(p, &raw, len), -EBADMSG);
	raw.nframes = ABI_MAX_FRAMES + 1;
	assert_int_equal(process_sample(p, &raw, sizeof(raw)), -EBADMSG);
	raw.nframes = UINT16_MAX;
	assert_int_equal(process_sample(p, &raw, sizeof(raw)), -EBADMSG);
	assert_int_equal(observer.events.cnt, 0);
	assert_int_equal(stats_now().samples, 0);
	/* <GC> at a frame that is not there */
	stack(1, 10, 20);
	raw.flags = RAW_GC;
	raw.gc_at = 5000;
	take();
	end();
}

/* What the observer does not take is lost, and counted. */
static void test_observer_errors(void **state)
{
	begin();
	stack(1, 3, 20);
	take();
	observer.event_err = -ENOSPC;
	assert_int_equal(process_sample(p, &raw, raw_len()), -ENOSPC);
	assert_int_equal(process_sample(p, &raw, raw_len()), -ENOSPC);
	assert_int_equal(stats_now().samples, 1);
	assert_int_equal(stats_now().write_lost, 2);
	observer.event_err = 0;
	take();
	assert_int_equal(stats_now().samples, 2);
	assert_int_equal(observer.events.cnt, 2);
	end();
}

/* ---- the model: no memory of anything ---- */

struct model_frame {
	const char *synthetic;	/* or a code object: */
	uint32_t code, lasti;
};

static uint32_t model(const struct raw_sample *s, const uint32_t *codes, struct model_frame *out)
{
	const char *root = NULL;
	uint32_t n = 0, i;

	for (i = 0; i < s->nframes; i++) {
		if (s->flags & RAW_GC && s->gc_at == i)
			out[n++] = (struct model_frame){ .synthetic = "<GC>" };
		out[n++] = (struct model_frame){ .code = codes[i], .lasti = s->frames[i].lasti };
		if (s->frames[i].id != fake_id(&fake, codes[i]) && s->frames[i].id)
			out[n - 1].synthetic = "<unresolved>";
	}
	if (s->flags & RAW_UNREADABLE)
		root = "<unreadable frame>";
	else if (s->flags & (RAW_TRUNCATED | RAW_BROKEN_END) || n > EVENT_MAX_FRAMES)
		root = "<truncated>";
	if (root) {
		if (n > EVENT_MAX_FRAMES - 1)
			n = EVENT_MAX_FRAMES - 1;
		out[n++] = (struct model_frame){ .synthetic = root };
	}
	return n;
}

static void check_model(const struct event *ev, const struct model_frame *want, uint32_t n)
{
	uint32_t i;

	assert_int_equal(ev->nframes, n);
	for (i = 0; i < n; i++)
		assert_true(want[i].synthetic ?
				    frame_is_synthetic(observer.tables, ev->frames[i],
						       want[i].synthetic) :
				    frame_is_fake(observer.tables, ev->frames[i], want[i].code,
						  want[i].lasti));
}

/* Many threads and interpreters, interleaved; stacks that grow, shrink and change. */
static void test_random(void **state)
{
	static uint32_t codes[6][ABI_MAX_FRAMES], lastis[6][ABI_MAX_FRAMES];
	static struct model_frame want[2 * ABI_MAX_FRAMES];
	uint32_t depth[6] = { 0 }, round, i, n;
	uint64_t seed = 4, unresolved = 0;
	bool bad[CODES] = { false };

	begin();
	for (i = 0; i < CODES; i++)
		bad[i] = i % 40 == 39;
	for (round = 0; round < 6000; round++) {
		uint32_t t = rnd(&seed) % 6, keep = depth[t] ? rnd(&seed) % (depth[t] + 1) : 0;
		struct event ev;

		/* kept at the root, which is stored first here */
		depth[t] = keep + rnd(&seed) % (round % 10 ? 12 : 257);
		if (depth[t] > ABI_MAX_FRAMES)
			depth[t] = ABI_MAX_FRAMES;
		for (i = keep; i < depth[t]; i++) {
			codes[t][i] = rnd(&seed) % CODES;
			lastis[t][i] = 2 * (rnd(&seed) % 100);
		}
		raw = (struct raw_sample){ .tid = 100 + t % 3, .interp_id = t / 3,
					   .nframes = depth[t], .status = STATUS_ON_CPU };
		raw.h.time_ns = round * 1000;
		for (i = 0; i < depth[t]; i++) {
			uint32_t c = codes[t][depth[t] - 1 - i];

			raw.frames[i] = fake_frame(&fake, c, lastis[t][depth[t] - 1 - i]);
			if (bad[c])
				raw.frames[i].id ^= 2;
			else if (c % 40 == 20)
				raw.frames[i].id = 0;
			unresolved += bad[c];
		}
		if (rnd(&seed) % 4 == 0) {
			raw.flags = rnd(&seed) % 16;
			if (depth[t])
				raw.gc_at = rnd(&seed) % depth[t];
		}
		uint32_t inner[ABI_MAX_FRAMES];

		process_settle_names(p);	/* a second has gone by: more may be read */
		for (i = 0; i < depth[t]; i++)
			inner[i] = codes[t][depth[t] - 1 - i];
		n = model(&raw, inner, want);
		ev = take();
		assert_int_equal(ev.thread_id, 100 + t % 3);
		assert_int_equal(ev.interp_id, t / 3);
		check_model(&ev, want, n);
		assert_int_equal(stats_now().unresolved, unresolved);
	}
	assert_int_equal(stats_now().threads, 6);
	assert_int_equal(stats_now().samples, 6000);
	end();
}

static void wait_for(int why, uint16_t sysno, int status, uint64_t from_ms, uint64_t to_ms)
{
	struct raw_run run = { .h = { .kind = RAW_RUN, .time_ns = to_ms * 1000000 }, .tid = 7,
			       .out_ns = from_ms * 1000000 };

	stack(7, 3, 1);
	raw.h.kind = RAW_WAIT;
	raw.h.why = why;
	raw.h.sysno = sysno;
	raw.h.time_ns = run.out_ns;
	raw.status = status;
	assert_int_equal(process_wait(p, &raw, raw_len()), 0);
	assert_int_equal(process_run(p, &run), 0);
}

/* The leaf of the last event; "": a frame of Python. */
static const char *last_leaf(uint32_t nframes)
{
	static char name[64];
	struct event ev = kept_event(&observer.events, observer.events.cnt - 1);
	const struct frame *f = &observer.tables->frames[ev.frames[0]];
	const struct string_ref *s = &observer.tables->strings[f->func];

	assert_int_equal(ev.nframes, nframes);
	snprintf(name, sizeof(name), "%.*s", (int)s->len, s->data);
	return nframes == 3 ? "" : name;
}

static void test_waits(void **state)
{
	more_args = (struct process_args){
		.waits = { .interval_ns = 1000000, .runnable = true },
		.wait_frames = true, .runnable_frames = true,
	};
	begin();
	wait_for(WHY_BLOCKED, RAW_SYSNO_NONE, 0, 10, 20);
	assert_string_equal(last_leaf(4), "<blocked in page fault>");
	wait_for(WHY_BLOCKED, 65000, 0, 30, 40);
	assert_string_equal(last_leaf(4), "<blocked in system call 65000>");
	wait_for(WHY_BLOCKED, SYS_read, 0, 50, 60);
	assert_string_equal(last_leaf(4), "<blocked in read>");
	wait_for(WHY_BLOCKED, SYS_futex, STATUS_GIL_REQUESTED, 70, 80);
	assert_string_equal(last_leaf(4), "<waiting for the GIL>");
	wait_for(WHY_RUNNABLE, RAW_SYSNO_NONE, 0, 90, 100);
	assert_string_equal(last_leaf(4), "<waiting for a CPU>");
	assert_int_equal(stats_now().samples, 50);
	assert_int_equal(stats_now().waits.waits, 5);
	end();
	more_args.wait_frames = more_args.runnable_frames = false;
	begin();
	wait_for(WHY_BLOCKED, SYS_read, 0, 50, 60);
	assert_string_equal(last_leaf(3), "");
	wait_for(WHY_RUNNABLE, RAW_SYSNO_NONE, 0, 90, 100);
	assert_string_equal(last_leaf(3), "");
	/* the sample of a tick is in between */
	stack(7, 5, 1);
	raw.h.time_ns = 110000000;
	assert_int_equal(process_sample(p, &raw, raw_len()), 0);
	assert_int_equal(stats_now().samples, 21);
	/* what still waits is settled, an exit ends it */
	stack(7, 3, 1);
	raw.h.kind = RAW_WAIT;
	raw.h.why = WHY_BLOCKED;
	raw.h.time_ns = 120000000;
	assert_int_equal(process_wait(p, &raw, raw_len()), 0);
	assert_int_equal(process_settle_waits(p, 130000000), 0);
	assert_int_equal(stats_now().samples, 31);
	process_thread_exit(p, 7);
	assert_int_equal(process_settle_waits(p, 140000000), 0);
	assert_int_equal(stats_now().samples, 31);
	end();
	memset(&more_args, 0, sizeof(more_args));
	begin();	/* of a mode that is not about waiting none should come */
	assert_int_equal(process_wait(p, &raw, raw_len()), -EBADMSG);
	end();
}

static struct kallsyms *some_kernel(void)
{
	static const char text[] = "1000 t __schedule\n2000 t schedule\n3000 t pipe_read\n";
	char path[] = "/tmp/tachbpf-process-XXXXXX";
	int fd = mkstemp(path);
	struct kallsyms *k;

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	k = kallsyms_read(path);
	unlink(path);
	assert_non_null(k);
	return k;
}

/* An extra for the thread's record with the same time. */
static void tell_extra_of(uint32_t tid, uint64_t time_ms, const char *exception, uint32_t nkernel)
{
	struct raw_extra x = {
		.h = { .kind = RAW_EXTRA, .tgid = getpid(), .time_ns = time_ms * 1000000,
		       .start_ns = 9 },
		.tid = tid, .nkernel = nkernel, .kernel = { 0x500, 0x1001, 0x2002, 0x3003 },
	};

	memcpy(x.exception, exception, strlen(exception));
	assert_int_equal(process_extra(p, &x, offsetof(struct raw_extra, kernel) + 8 * nkernel), 0);
}

static void tell_extra(uint64_t time_ms, const char *exception, uint32_t nkernel)
{
	tell_extra_of(7, time_ms, exception, nkernel);
}

static const char *frame_of_last(uint32_t i)
{
	static char text[300];
	struct event ev = kept_event(&observer.events, observer.events.cnt - 1);
	const struct profile_tables *t = observer.tables;
	const struct string_ref *s;

	assert_in_range(i, 0, ev.nframes - 1);
	s = &t->strings[t->frames[ev.frames[i]].func];
	snprintf(text, sizeof(text), "%.*s", (int)s->len, s->data);
	return text;
}

static const struct frame *frame_of(const struct event *ev, uint32_t i)
{
	assert_in_range(i, 0, ev->nframes - 1);
	return &observer.tables->frames[ev->frames[i]];
}

static struct raw_frame raw_of_kind(uint32_t kind, uint64_t addr)
{
	return (struct raw_frame){ .code = addr, .lasti = kind << RAW_KIND_SHIFT };
}

/* The kernel's, the process' machine code, Python: each is named in its own way. */
static void test_kinds(void **state)
{
	struct kallsyms *k = some_kernel();
	struct event ev;
	uint32_t kind;
	int again;

	more_args = (struct process_args){ .kernel = k };
	begin();
	for (again = 0; again < 2; again++) {	/* the second time the stack is known in part */
		stack(7, 5, 30);
		raw.frames[0] = raw_of_kind(FRAME_KERNEL, 0xffffffff81000208ull);
		raw.frames[1] = raw_of_kind(FRAME_NATIVE, 0x7f0012345678ull);
		raw.frames[2].lasti = RAW_LASTI_NONE;
		ev = take();
		assert_int_equal(ev.nframes, 5);
		assert_string_equal(frame_of_last(0), "<kernel pipe_read>");
		assert_int_equal(frame_of(&ev, 0)->kind, FRAME_KERNEL);
		assert_string_equal(frame_of_last(1), "<native>");
		assert_int_equal(frame_of(&ev, 1)->kind, FRAME_NATIVE);
		assert_string_equal(frame_of_last(2), "f32");
		assert_int_equal(frame_of(&ev, 2)->kind, FRAME_PYTHON);
		assert_int_equal(frame_of(&ev, 2)->line, 320);	/* its first: it has not begun */
		check_code(&ev, 3, 33);
		check_code(&ev, 4, 34);
		assert_int_equal(stats_now().native, 1 + again);
	}
	/* A kind that no record has, or that there is not. */
	for (kind = FRAME_SYNTHETIC; kind < 1u << (32 - RAW_KIND_SHIFT); kind++) {
		raw.frames[1] = raw_of_kind(kind, 0x7f0012345678ull);
		assert_int_equal(process_sample(p, &raw, raw_len()), -EBADMSG);
	}
	assert_int_equal(observer.events.cnt, 2);
	/* What was refused has left nothing behind. */
	stack(7, 5, 30);
	ev = take();
	check_stack(&ev, 5, 30);
	assert_int_equal(stats_now().native, 2);
	end();
	memset(&more_args, 0, sizeof(more_args));
	kallsyms_free(k);
}

/* So that the record in raw stands for this much. */
static void weigh(uint64_t weight)
{
	raw.flags |= RAW_WEIGHED;
	memcpy(&raw.frames[raw.nframes], &weight, sizeof(weight));
}

/* A record stands for what it says, else for 1; statistics count samples whatever the unit. */
static void test_weight(void **state)
{
	static const uint64_t weights[] = { 1, 4096, 0x123456789abcdefull };
	uint32_t i, depth;

	more_args = (struct process_args){ .unit = UNIT_BYTES };
	begin();
	stack(7, 3, 1);
	assert_int_equal(take().weight, 1);
	for (i = 0; i < ARRAY_SIZE(weights); i++) {
		/* with the deepest stack, too, behind which there is no frame */
		for (depth = 0; depth <= ABI_MAX_FRAMES; depth += ABI_MAX_FRAMES / 4) {
			struct event ev;

			stack(7, depth, 1);
			weigh(weights[i]);
			ev = take();
			assert_int_equal(ev.weight, weights[i]);
			check_stack(&ev, depth, 1);
		}
	}
	assert_int_equal(stats_now().samples, 16);
	assert_int_equal(stats_now().frames, 3 + 3 * (64 + 128 + 192 + 256));
	/* A record that ends before its weight does, or stands for nothing. */
	stack(7, 3, 1);
	weigh(5);
	assert_int_equal(process_sample(p, &raw, raw_len() - 1), -EBADMSG);
	weigh(0);
	assert_int_equal(process_sample(p, &raw, raw_len()), -EBADMSG);
	assert_int_equal(stats_now().samples, 16);
	end();
	memset(&more_args, 0, sizeof(more_args));
	begin();
	stack(7, 3, 1);
	weigh(5);
	assert_int_equal(take().weight, 5);
	assert_int_equal(stats_now().samples, 5);
	assert_int_equal(stats_now().frames, 15);
	end();
}

/* Nobody has read the kernel's names. */
static void test_nameless_kernel(void **state)
{
	struct event ev;

	begin();
	stack(7, 2, 1);
	raw.frames[0] = raw_of_kind(FRAME_KERNEL, 0xffffffff81000208ull);
	ev = take();
	assert_string_equal(frame_of_last(0), "<kernel ?>");
	check_code(&ev, 1, 2);
	end();
}

static void test_extra(void **state)
{
	struct kallsyms *k = some_kernel();
	struct raw_extra bad = { .nkernel = RAW_KERNEL_FRAMES + 1 };
	char type[RAW_EXCEPTION];
	int i;

	more_args = (struct process_args){
		.waits = { .interval_ns = 1000000, .runnable = true },
		.wait_frames = true, .kernel = k,
	};
	begin();
	/* what is before the scheduler is not told: innermost is who called it */
	tell_extra(50, "Value\nError", 4);
	wait_for(WHY_BLOCKED, SYS_read, 0, 50, 60);
	assert_string_equal(frame_of_last(0), "<kernel schedule>");
	assert_string_equal(frame_of_last(1), "<kernel pipe_read>");
	assert_string_equal(frame_of_last(2), "<blocked in read>");
	assert_string_equal(frame_of_last(3), "<exception Value\\x0aError>");
	assert_int_equal(kept_event(&observer.events, observer.events.cnt - 1).nframes, 7);
	/* another time, another thread: not this one's */
	tell_extra(69, "KeyError", 4);
	tell_extra_of(8, 70, "KeyError", 4);
	wait_for(WHY_BLOCKED, SYS_read, 0, 70, 80);
	assert_string_equal(frame_of_last(0), "<blocked in read>");
	assert_int_equal(kept_event(&observer.events, observer.events.cnt - 1).nframes, 4);
	/* a tick has the exception, whatever other threads have told meanwhile */
	tell_extra(110, "KeyError", 0);
	tell_extra_of(8, 110, "OSError", 0);
	stack(7, 5, 1);
	raw.h.time_ns = 110000000;
	assert_int_equal(process_sample(p, &raw, raw_len()), 0);
	assert_string_equal(frame_of_last(0), "<exception KeyError>");
	/* nobody has looked: the last wait's place is not this one's */
	tell_extra(120, "KeyError", 4);
	wait_for(WHY_BLOCKED, SYS_read, STATUS_UNKNOWN, 120, 130);
	assert_string_equal(frame_of_last(0), "<blocked in read>");
	/* types without end */
	for (i = 0; i < 1100; i++) {
		snprintf(type, sizeof(type), "Type%d", i);
		tell_extra(200 + i, type, 0);
		stack(7, 5, 1);
		raw.h.time_ns = (200 + i) * 1000000ull;
		assert_int_equal(process_sample(p, &raw, raw_len()), 0);
	}
	assert_string_equal(frame_of_last(0), "<exception ?>");
	assert_int_equal(process_extra(p, &bad, sizeof(bad)), -EBADMSG);
	assert_int_equal(process_extra(p, &bad, 40), -EBADMSG);
	bad.nkernel = 3;
	assert_int_equal(process_extra(p, &bad, offsetof(struct raw_extra, kernel) + 16), -EBADMSG);
	end();
	memset(&more_args, 0, sizeof(more_args));
	kallsyms_free(k);
}

/* In self; tells its id, then sleeps until it is joined. */
static void *named_thread(void *done)
{
	uint32_t *tid = done;

	prctl(PR_SET_NAME, "worker\n\xff");
	__atomic_store_n(tid, (uint32_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	syscall(SYS_futex, tid + 1, 0 /* FUTEX_WAIT */, 0, NULL);
	return NULL;
}

/* /proc is asked once for each new thread, a rename counts before and after. */
static void test_thread_names(void **state)
{
	uint32_t self = (uint32_t)getpid(), other[2] = { 0, 0 };
	pthread_t thread;

	begin();
	assert_int_equal(pthread_create(&thread, NULL, named_thread, other), 0);
	while (!__atomic_load_n(&other[0], __ATOMIC_ACQUIRE))
		sched_yield();
	assert_null(process_thread_names(p));
	stack(self, 3, 1);
	take();
	assert_null(thread_names_find(process_thread_names(p), self));	/* as its process */
	stack(other[0], 3, 1);
	take();
	assert_string_equal(thread_names_find(process_thread_names(p), other[0]), "worker\n\xff");
	process_rename(p, other[0], "another");
	take();
	assert_string_equal(thread_names_find(process_thread_names(p), other[0]), "another");
	process_rename(p, other[0], "a (comm)");		/* likewise */
	assert_null(thread_names_find(process_thread_names(p), other[0]));
	process_rename(p, 3, "early");
	stack(3, 3, 1);
	take();
	assert_string_equal(thread_names_find(process_thread_names(p), 3), "early");
	stack(UINT32_MAX, 3, 1);	/* there is no such thread */
	take();
	assert_null(thread_names_find(process_thread_names(p), UINT32_MAX));
	process_rename(p, self, "main now");
	assert_string_equal(thread_names_find(process_thread_names(p), self), "main now");
	__atomic_store_n(&other[1], 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, other + 1, 1 /* FUTEX_WAKE */, 1);
	pthread_join(thread, NULL);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_event),
		cmocka_unit_test(test_shared_root),
		cmocka_unit_test(test_gc),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_broken_end),
		cmocka_unit_test(test_unresolved),
		cmocka_unit_test(test_trampoline),
		cmocka_unit_test(test_no_fingerprint),
		cmocka_unit_test(test_names_from_records),
		cmocka_unit_test(test_bad_records),
		cmocka_unit_test(test_observer_errors),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_nameless_kernel),
		cmocka_unit_test(test_weight),
		cmocka_unit_test(test_extra),
		cmocka_unit_test(test_thread_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
