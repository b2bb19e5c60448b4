// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_process.c - raw samples become the right events, whatever the thread's last stack was.
 */
#include <sys/resource.h>

#include "tests/unit/resolve/process_test.h"

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

/* Stacks that share nothing, some frames at the root, or all frames with the last one. */
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
	/* Nothing was read twice. */
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
	/* The last stack is kept without <GC>. */
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

	/* With <GC> the outermost two frames are replaced. */
	raw.flags = RAW_TRUNCATED | RAW_GC;
	raw.gc_at = 100;
	ev = take();
	assert_int_equal(ev.nframes, 256);
	check_code(&ev, 99, 109);
	check_name(&ev, 100, "<GC>");
	check_code(&ev, 254, 10 + 253);
	check_name(&ev, 255, "<truncated>");
	assert_int_equal(stats_now().truncated, 2);

	/* A full stack has no room for <GC>. */
	raw.flags = RAW_GC;
	raw.gc_at = 0;
	ev = take();
	assert_int_equal(ev.nframes, 256);
	check_name(&ev, 0, "<GC>");
	check_code(&ev, 127, 10 + 126);
	check_name(&ev, 128, "<... 2 frames ...>");
	check_code(&ev, 129, 10 + 129);
	check_code(&ev, 255, 10 + 255);
	assert_int_equal(stats_now().truncated, 2);
	assert_int_equal(stats_now().shortened, 1);

	/* Shims used up the steps of the walk: there are fewer frames, but not all. */
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
	/* No frame could be read. */
	stack(1, 0, 0);
	raw.flags = RAW_UNREADABLE;
	ev = take();
	assert_int_equal(ev.nframes, 1);
	check_name(&ev, 0, "<unreadable frame>");
	/* In a full stack it replaces the outermost frame. */
	stack(1, 256, 10);
	raw.flags = RAW_UNREADABLE;
	ev = take();
	assert_int_equal(ev.nframes, 256);
	check_code(&ev, 254, 264);
	check_name(&ev, 255, "<unreadable frame>");
	assert_int_equal(stats_now().unreadable, 3);
	end();
}

/* greenlet switches: marked at the root, with frames or without, and counted by itself. */
static void test_switching(void **state)
{
	struct event ev;

	begin();
	stack(1, 3, 10);
	raw.flags = RAW_SWITCHING;
	ev = take();
	assert_int_equal(ev.nframes, 4);
	check_code(&ev, 2, 12);
	check_name(&ev, 3, "<switching>");
	stack(1, 0, 0);
	raw.flags = RAW_SWITCHING;
	ev = take();
	assert_int_equal(ev.nframes, 1);
	check_name(&ev, 0, "<switching>");
	assert_int_equal(stats_now().switching, 2);
	assert_int_equal(stats_now().unreadable, 0);
	assert_int_equal(stats_now().truncated, 0);
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

/* Each sample counts all its unresolved frames, also those that the last sample had. */
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
	/* When the code object can be read, the next sample has its name. */
	fake_write(&fake, 24, 24);
	stack(1, 10, 20);
	ev = take();
	check_stack(&ev, 10, 20);
	assert_int_equal(stats_now().unresolved, 10);
	end();
}

/* An entry frame of 3.12 that is not marked as a shim yet is dropped; other frames stay. */
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

/* Without a fingerprint the address may have another code object in the next sample. */
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
		assert_int_equal(process_take(p, &code, fake_snapshot(&fake, i, &code)), 0);
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
		assert_int_equal(process_take(p, &raw, len), -EBADMSG);
	raw.nframes = ABI_MAX_FRAMES + 1;
	assert_int_equal(process_take(p, &raw, sizeof(raw)), -EBADMSG);
	raw.nframes = UINT16_MAX;
	assert_int_equal(process_take(p, &raw, sizeof(raw)), -EBADMSG);
	assert_int_equal(observer.events.cnt, 0);
	assert_int_equal(stats_now().samples, 0);
	/* <GC> at a frame that is not there */
	stack(1, 10, 20);
	raw.flags = RAW_GC;
	raw.gc_at = 5000;
	take();
	end();
}

/* Events that the observer does not take are counted as lost. */
static void test_observer_errors(void **state)
{
	begin();
	stack(1, 3, 20);
	take();
	observer.event_err = -ENOSPC;
	assert_int_equal(process_take(p, &raw, raw_len()), -ENOSPC);
	assert_int_equal(process_take(p, &raw, raw_len()), -ENOSPC);
	assert_int_equal(stats_now().samples, 1);
	assert_int_equal(stats_now().lost[LOSS_WRITE], 2);
	observer.event_err = 0;
	take();
	assert_int_equal(stats_now().samples, 2);
	assert_int_equal(observer.events.cnt, 2);
	end();
}

static int held;

static void hold(const struct cpython_image *image)
{
	assert_ptr_equal(image, &fake.img);
	held++;
}

static void release(const struct cpython_image *image)
{
	assert_ptr_equal(image, &fake.img);
	held--;
}

/* A process holds its image as long as it is there. */
static void test_image_is_held(void **state)
{
	struct process_args args = {
		.tgid = getpid(), .comm = "x", .image = &fake.img,
		.image_hold = hold, .image_release = release,
	};
	struct process *one, *two;

	one = process_new(&args);
	two = process_new(&args);
	assert_int_equal(held, 2);
	process_free(one);
	assert_int_equal(held, 1);
	process_free(two);
	assert_int_equal(held, 0);
}

/* A record for which there is no memory is lost, and that is no error: others are recorded. */
static void test_no_memory(void **state)
{
#ifndef __SANITIZE_ADDRESS__	/* its allocator ends the program */
	struct rlimit before, now = { 0 };
	unsigned long pages;
	uint64_t lost;
	uint32_t tid;
	FILE *f = fopen("/proc/self/statm", "r");

	assert_int_equal(fscanf(f, "%lu", &pages), 1);
	fclose(f);
	/* With waits, threads that do not exist keep their records for a while. */
	more_args = (struct process_args){ .waits = { .interval_ns = 1000000 } };
	begin();
	more_args = (struct process_args){ .unit = UNIT_SAMPLES };
	stack(1, 3, 20);
	take();
	assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
	now.rlim_cur = pages * 4096 + (1 << 20);
	now.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_AS, &now), 0);
	for (tid = 1000; tid < 6000 && !stats_now().lost[LOSS_MEMORY]; tid++) {
		raw.tid = tid;
		if (process_take(p, &raw, raw_len()))
			break;
	}
	lost = stats_now().lost[LOSS_MEMORY];
	assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
	assert_int_equal(lost, 1);
	assert_true(tid > 1000 && tid < 6000);
	assert_int_equal(process_take(p, &raw, raw_len()), 0);
	end();
#endif
}

/* ---- the model: resolves each stack without the last one ---- */

struct model_frame {
	const char *synthetic;	/* NULL: a code object */
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
	else if (s->flags & (RAW_TRUNCATED | RAW_BROKEN_END))
		root = "<truncated>";
	if (root) {
		if (n > EVENT_MAX_FRAMES - 1)
			n = EVENT_MAX_FRAMES - 1;
		out[n++] = (struct model_frame){ .synthetic = root };
	}
	if (n > EVENT_MAX_FRAMES) {	/* by one, the <GC> */
		memmove(&out[129], &out[130], (n - 130) * sizeof(*out));
		out[128] = (struct model_frame){ .synthetic = "<... 2 frames ...>" };
		n--;
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

/* Samples of many threads and interpreters in random order; stacks grow, shrink and change. */
/* A record that no kind fits, or that is shorter than its kind, is refused and not read. */
static void test_kinds(void **state)
{
	static const uint32_t kinds[] = {
		RAW_SAMPLE, RAW_SWITCH_OUT, RAW_SWITCH_SAME, RAW_SWITCH_IN, RAW_THREAD_EXIT,
		RAW_NO_STACK, RAW_EXTRA, RAW_NATIVE, RAW_ASYNC, RAW_CODE, RAW_RENAME, RAW_ALLOC,
		RAW_FREE, RAW_MOVED, RAW_GC_DONE,
	};
	static const uint32_t none[] = { 0, RAW_UNKNOWN, RAW_EXEC, RAW_EXIT, RAW_CGROUP, 255 };
	size_t i, len;

	begin();
	stack(7, 3, 10);
	for (i = 0; i < ARRAY_SIZE(none); i++) {
		raw.h.kind = none[i];
		assert_int_equal(process_take(p, &raw, sizeof(raw)), -EBADMSG);
	}
	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		for (len = 0; len <= sizeof(raw.h); len++) {
			struct raw_header *h = malloc(sizeof(*h));

			h->kind = kinds[i];
			assert_int_equal(process_take(p, h, len), -EBADMSG);
			free(h);
		}
	assert_int_equal(observer.events.cnt, 0);
	end();
}

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

		/* codes[t] begins with the root: the first `keep` frames stay */
		depth[t] = keep + rnd(&seed) % (round % 10 ? 12 : 257);
		if (depth[t] > ABI_MAX_FRAMES)
			depth[t] = ABI_MAX_FRAMES;
		for (i = keep; i < depth[t]; i++) {
			codes[t][i] = rnd(&seed) % CODES;
			lastis[t][i] = 2 * (rnd(&seed) % 100);
		}
		raw = (struct raw_sample){ .h.kind = RAW_SAMPLE, .tid = 100 + t % 3,
					   .interp_id = t / 3, .nframes = depth[t],
					   .status = STATUS_ON_CPU };
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

		process_retry_names(p);	/* a second has passed: more reads are allowed */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_event),
		cmocka_unit_test(test_shared_root),
		cmocka_unit_test(test_gc),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_switching),
		cmocka_unit_test(test_broken_end),
		cmocka_unit_test(test_unresolved),
		cmocka_unit_test(test_trampoline),
		cmocka_unit_test(test_no_fingerprint),
		cmocka_unit_test(test_names_from_records),
		cmocka_unit_test(test_bad_records),
		cmocka_unit_test(test_image_is_held),
		cmocka_unit_test(test_no_memory), cmocka_unit_test(test_observer_errors),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
