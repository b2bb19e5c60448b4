// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_faults.c - the n-th read of the target's memory fails, for every n.
 *
 * Whatever fails: the sample has no wrong frame and no wrong name, the tick is counted once,
 * missing frames set RAW_UNREADABLE, and the ticks after it are not affected.
 */
#include "world.h"

static struct world w;

/* With sanitizers, which are slow, not every read. */
#ifdef __SANITIZE_ADDRESS__
#define STRIDE 11
#else
#define STRIDE 1
#endif

static u64 counted_ends(void)
{
	u64 ends = 0;
	int i;

	for (i = CNT_TICK + 1; i <= CNT_UNWANTED; i++)
		ends += host_counter(i);
	for (i = CNT_LOSSES; i <= CNT_BUSY; i++)
		ends += host_counter(i);
	return ends;
}

/* The frames must be the innermost ones of the stack, each with its fingerprint or none. */
static void check_sample(const struct raw_sample *s)
{
	const u8 all = STATUS_ON_CPU | STATUS_MAIN_THREAD | STATUS_HAS_GIL | STATUS_HAS_EXCEPTION;
	u32 i;

	assert_in_range(s->nframes, 0, WORLD_RICH_FRAMES);
	for (i = 0; i < s->nframes; i++) {
		const struct raw_frame *want = &w.want[WORLD_RICH_FRAMES - 1 - i];

		assert_int_equal(s->frames[i].code, want->code);
		assert_int_equal(s->frames[i].lasti, want->lasti);
		assert_true(s->frames[i].id == want->id || !s->frames[i].id);
	}
	/*
	 * After the last frame there may be a shim that could not be read, or outer interpreters.
	 */
	assert_int_equal(s->flags & ~(RAW_GC | RAW_UNREADABLE | (s->interp_id ? RAW_TRUNCATED : 0)),
			 0);
	assert_true(s->nframes == WORLD_RICH_FRAMES || s->flags & RAW_UNREADABLE);
	assert_int_equal(s->status & ~all, 0);
	assert_true(s->status & STATUS_ON_CPU);
	assert_true(s->gc_at == 0 || (s->gc_at == 4 && s->flags & RAW_GC));
	assert_true(s->interp_id == 6 || s->interp_id == 0);
}

static void check_piece(const struct raw_piece *at, const u8 *data)
{
	static u8 now[RAW_CODE_TABLE];

	if (!at->len)
		return;
	assert_in_range(at->len, 1, sizeof(now));
	assert_int_equal(host_mem_read(NULL, at->addr, now, at->len), 0);
	assert_memory_equal(data, now, at->len);
}

static void check_codes(void)
{
	const struct raw_code *c;
	size_t len;
	int i = 0;

	while ((c = host_record(RAW_CODE, &i, &len))) {
		u32 n = (c->code - W_CODES) / W_CODE_STEP;

		assert_in_range(n, 0, WORLD_RICH_FRAMES - 1);
		assert_int_equal(c->id, w.code_ids[n]);
		assert_in_range(len, offsetof(struct raw_code, table), sizeof(*c));
		assert_int_equal(c->table_at.len, len - offsetof(struct raw_code, table));
		check_piece(&c->head_at, c->head);
		check_piece(&c->name_at, c->name);
		check_piece(&c->file_at, c->file);
		check_piece(&c->table_at, c->table);
	}
}

static void check_tick(void)
{
	u64 ends = counted_ends(), samples = host_counter(CNT_SAMPLE);
	const struct raw_sample *s = world_sample();

	assert_int_equal(counted_ends(), ends + 1);
	assert_int_equal(host_counter(CNT_SAMPLE) - samples, s != NULL);
	if (s)
		check_sample(s);
	check_codes();
}

/*
 * For every n: a new interpreter, and a tick in which the n-th read fails (on: and all later
 * reads). warm: after another tick.
 */
static void fail_each(int minor, bool on, bool warm)
{
	u64 n, reads = 1, deferred;

	for (n = 1; n <= reads; n += STRIDE) {
		world_rich(&w, minor);
		if (warm)
			world_sample();
		host.fail_on = on;
		host.fail_read = n;
		check_tick();
		if (n == 1)
			assert_true(host.reads >= 1);
		host.fail_read = 0;
		world_sample();
		if (host.reads > reads)
			reads = host.reads;
		/* After it, frames and fingerprints are right again. */
		world_sample();
		deferred = host_counter(CNT_CODE_LOST);
		assert_in_range(deferred, 0, on ? WORLD_RICH_FRAMES : 1);
		world_expect(&w, WORLD_RICH_FRAMES, RAW_GC);
		assert_int_equal(host_counter(CNT_CODE_LOST), deferred);
	}
	assert_true(reads > 10);
}

static void test_one_read_fails(void **state)
{
	int minor;

	EACH_MINOR(minor) {
		fail_each(minor, false, false);
		fail_each(minor, false, true);
	}
}

static void test_reads_fail_from_then_on(void **state)
{
	int minor;

	EACH_MINOR(minor) {
		fail_each(minor, true, false);
		fail_each(minor, true, true);
	}
}

/* The same with the other ways to find a thread state. */
static void test_ways_to_the_thread(void **state)
{
	static const u8 hows[] = { PY_TSTATE_TLS_TP, PY_TSTATE_TLS_DTV, PY_TSTATE_LIST };
	const u64 index = W_RUNTIME + 0x2000, dtv = W_HEAP + 0x200000, block = W_HEAP + 0x300000;
	size_t i;
	u64 n;

	for (i = 0; i < sizeof(hows); i++) {
		for (n = 1; n < 12; n++) {
			world_rich(&w, 14);
			host_mem_map(dtv, 4096);
			host_mem_map(block, 4096);
			host_mem_put64(index, 2);
			host_mem_put64(W_TP + W_DTV, dtv);
			host_mem_put64(dtv + 32, block);
			host_mem_put64(block - 64 + 128, W_TSTATE);
			host_mem_put64(index + 8, 128);
			w.proc.tstate_how = hows[i];
			w.proc.tls_index = index;
			world_put_proc(&w);
			host.fail_read = n;
			check_tick();
			host.fail_read = 0;
			world_expect(&w, WORLD_RICH_FRAMES, RAW_GC);
		}
	}
}

/* Frames that are not in the order of addresses: a window whose read failed is not used. */
static void test_up_and_down(void **state)
{
	u32 i;
	int minor;
	u64 n;

	EACH_MINOR(minor) {
		for (n = 1; n < 150; n += STRIDE) {
			world_init(&w, minor);
			for (i = 0; i < WORLD_RICH_FRAMES; i++) {
				u64 at = w.chunk + 24 + 160 * (i * 31 % WORLD_RICH_FRAMES);

				world_push_at(&w, at, OWNER_THREAD, world_code(&w), 2 * i);
			}
			world_sample();
			host.fail_read = n;
			check_tick();
			host.fail_read = 0;
			world_expect(&w, WORLD_RICH_FRAMES, 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_read_fails),
		cmocka_unit_test(test_reads_fail_from_then_on),
		cmocka_unit_test(test_ways_to_the_thread),
		cmocka_unit_test(test_up_and_down),
	};

	return cmocka_run_group_tests(tests, NULL, host_done);
}
