// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_hostile.c - wrong debug offsets, word by word, and targets whose walk takes long: every walk
 * ends within its bounds and is counted once.
 */
#include "world.h"

static struct world w;

/* For each of MAX_STEPS frames: a window, the frame, its code object, two names in three reads. */
#define READS_MAX (516 * (2 + 1 + 6) + 64 + MAX_NEW_CODES_A_SAMPLE * 9)
#define MAX_NEW_CODES_A_SAMPLE 128

static void set_setting(const volatile unsigned int *setting, unsigned int v)
{
	host_set(setting, &v, sizeof(v));
}

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

static size_t read_offsets(int minor, uint8_t *bytes)
{
	char path[512];
	size_t len;
	FILE *f;

	snprintf(path, sizeof(path), "%s/debug_offsets_3.%d.bin", GOLDEN_DIR, minor);
	f = fopen(path, "rb");
	assert_non_null(f);
	len = fread(bytes, 1, DEBUG_OFFSETS_MAX, f);
	fclose(f);
	return len;
}

/* Returns false if the offsets are refused; otherwise runs a tick with them. */
static bool try_offsets(int minor, const uint8_t *bytes, size_t len)
{
	struct cpython_image img = { .major = 3, .minor = minor };
	u64 ends = counted_ends();
	struct debug_offsets d;
	const char *what;

	if (debug_offsets_read(bytes, len, minor, &d, &what) ||
	    layout_from_debug_offsets(&img, minor, &d, &what))
		return false;
	w.proc.l = img.layout;
	w.proc.ident++;
	world_put_proc(&w);
	host_tick();
	assert_int_equal(counted_ends(), ends + 1);
	assert_in_range(host.reads, 1, READS_MAX);
	return true;
}

static void test_every_offset(void **state)
{
	static const u64 extremes[] = {
		4095, 4096, 0xfff8, 0xffff, 0x10000, 0xffff8, 1 << 20, 1ull << 31, UINT32_MAX,
		1ull << 32, 1ull << 63, UINT64_MAX - 7, UINT64_MAX,
	};
	uint8_t bytes[DEBUG_OFFSETS_MAX];
	u64 v, was, accepted;
	size_t len, pos, i;
	int minor;

	for (minor = 13; minor <= LAYOUT_MINOR_MAX; minor++) {
		world_init(&w, minor);
		world_recurse(&w, 300);
		len = read_offsets(minor, bytes);
		accepted = 0;
		for (pos = 8; pos + 8 <= len; pos += 8) {
			memcpy(&was, bytes + pos, 8);
			for (v = 0; v < 640; v += v < 48 ? 1 : 8) {
				memcpy(bytes + pos, &v, 8);
				accepted += try_offsets(minor, bytes, len);
			}
			for (i = 0; i < sizeof(extremes) / sizeof(extremes[0]); i++) {
				memcpy(bytes + pos, &extremes[i], 8);
				accepted += try_offsets(minor, bytes, len);
			}
			memcpy(bytes + pos, &was, 8);
		}
		assert_in_range(accepted, 100, 1000000);
		assert_true(try_offsets(minor, bytes, len));
		w.proc.l = w.img.layout;
		w.proc.ident++;
		world_put_proc(&w);
		assert_non_null(world_sample());
	}
}

/* Cycles of 1, 2 and 1,000 frames, and one of shims. */
static void test_cycles(void **state)
{
	static const u32 lengths[] = { 1, 2, 1000 };
	const struct raw_sample *s;
	int minor;
	size_t i;

	for (minor = LAYOUT_MINOR_MIN; minor <= LAYOUT_MINOR_MAX; minor++) {
		for (i = 0; i < 3; i++) {
			world_init(&w, minor);
			world_recurse(&w, lengths[i]);
			host_mem_put64(w.at[0] + w.img.layout.fr_base + w.img.layout.fr_previous,
				       w.top);
			s = world_sample();
			assert_non_null(s);
			assert_int_equal(s->nframes, ABI_MAX_FRAMES);
			assert_int_equal(s->flags, RAW_TRUNCATED);
			assert_in_range(host.reads, 1, READS_MAX);
		}
		if (!w.img.layout.end_shim)
			continue;
		world_init(&w, minor);
		host_mem_put64(w.top + w.img.layout.fr_base + w.img.layout.fr_previous, w.top);
		host_tick();
		assert_int_equal(host_counter(CNT_NO_FRAMES), 1);
		assert_in_range(host.reads, 1, READS_MAX);
	}
}

/* A walk over the time limit is cut off, truncated and counted; the next one has its full time. */
static void test_time_limit(void **state)
{
	const struct raw_sample *s;
	u32 i;

	world_init(&w, 11);
	for (i = 0; i < 200; i++)
		world_push(&w, OWNER_GENERATOR, world_code(&w), 2 * i);
	set_setting(&cfg_limit_ns, 1000);
	host.clock_step_ns = 300;
	s = world_sample();
	assert_non_null(s);
	assert_int_equal(s->flags, RAW_TRUNCATED);
	assert_in_range(s->nframes, 1, 60);
	world_check_frames(&w, s, s->nframes);
	assert_int_equal(host_counter(CNT_CUT_OFF), 1);
	host.clock_step_ns = 0;
	world_expect(&w, 200, 0);
	assert_int_equal(host_counter(CNT_CUT_OFF), 1);
	set_setting(&cfg_limit_ns, 0);
	host.clock_step_ns = 1000000;
	world_expect(&w, 200, 0);
}

/*
 * Time that the host of a virtual machine takes does not count: a stall cuts nothing off. But on a
 * machine that is always that slow, the limit holds.
 */
static void test_stalls(void **state)
{
	const u64 limit = 60000;
	const bool yes = true, no = false;
	const struct sample_times *times;
	const struct raw_sample *s;
	u32 i, zero = 0;

	world_init(&w, 11);
	for (i = 0; i < 200; i++)
		world_push(&w, OWNER_GENERATOR, world_code(&w), 2 * i);
	set_setting(&cfg_limit_ns, limit);
	host.stall_after = 3;	/* readings of the clock: one of the tick, two of the walk */
	host.stall_ns = 50 * limit;
	host_set(&cfg_self_time, &yes, sizeof(yes));
	world_expect(&w, 200, 0);
	assert_int_equal(host.stall_ns, 0);
	assert_int_equal(host_counter(CNT_CUT_OFF), 0);
	/* The time that is recorded does not include the stall. */
	times = bpf_map_lookup_elem(&sample_times, &zero);
	assert_int_equal(times->stalls, 1);
	assert_in_range(times->stalled_ns, 50 * limit, 51 * limit);
	assert_in_range(times->max_ns, 1, limit);
	host_set(&cfg_self_time, &no, sizeof(no));
	host.clock_step_ns = limit;
	s = world_sample();
	assert_non_null(s);
	assert_int_equal(s->flags, RAW_TRUNCATED);
	world_check_frames(&w, s, s->nframes);
	assert_int_equal(host_counter(CNT_CUT_OFF), 1);
	set_setting(&cfg_limit_ns, 0);
}

/* A read that fails counts as several. */
static void test_time_limit_with_faults(void **state)
{
	const struct raw_sample *s;
	u32 i;

	world_init(&w, 14);
	for (i = 0; i < 250; i++)
		world_push(&w, OWNER_THREAD, world_code(&w), 2 * i);
	host_mem_unmap(W_CODES, W_CODES_MAX * W_CODE_STEP);
	set_setting(&cfg_limit_ns, 10);
	host.clock_step_ns = 20;
	s = world_sample();
	assert_non_null(s);
	assert_int_equal(s->flags, RAW_TRUNCATED);
	assert_in_range(s->nframes, 1, 4);
	set_setting(&cfg_limit_ns, 0);
}

/* No process can send code objects without end, and samples have room in the ring buffer. */
static void test_codes_a_second(void **state)
{
	u32 i, sent;

	world_init(&w, 14);
	host_mem_put32(W_INTERP + w.img.layout.interp_epoch, 0);
	for (i = 0; i < 32; i++)
		world_push(&w, OWNER_THREAD, world_code(&w), 2);
	for (i = 0; i < 300; i++) {
		u32 k;

		for (k = 0; k < 32; k++)
			host_mem_put32(W_CODES + k * W_CODE_STEP + w.img.layout.co_firstlineno, i);
		assert_non_null(world_sample());
	}
	sent = host_counter(CNT_CODE);
	assert_int_equal(sent, 4096);
	assert_int_equal(host_counter(CNT_CODE) + host_counter(CNT_CODE_LOST), 300 * 32);
	host.now_ns += 2ull << 30;
	assert_non_null(world_sample());
	assert_int_equal(host_counter(CNT_CODE), 4096 + 32);
	/* No code objects are sent when the ring buffer is half full. */
	set_setting(&cfg_codes_bytes, 8);
	for (i = 0; i < 32; i++)
		host_mem_put32(W_CODES + i * W_CODE_STEP + w.img.layout.co_firstlineno, 9999);
	assert_non_null(world_sample());
	assert_in_range(host_counter(CNT_CODE), 4096 + 32, 4096 + 32 + 9);
	set_setting(&cfg_codes_bytes, UINT32_MAX);
}

/* The classes of sample_times cover all times without gaps. */
static void test_time_classes(void **state)
{
	u64 ns, end = 0;
	u32 class;

	for (class = 0; class < SAMPLE_TIME_CLASSES; class++) {
		assert_int_equal(sample_time_class(end), class);
		ns = sample_time_end(class);
		assert_true(ns > end);
		assert_int_equal(sample_time_class(ns - 1), class);
		end = ns;
	}
	assert_int_equal(sample_time_class(UINT64_MAX), SAMPLE_TIME_CLASSES - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_offset),
		cmocka_unit_test(test_cycles),
		cmocka_unit_test(test_time_limit),
		cmocka_unit_test(test_stalls),
		cmocka_unit_test(test_time_limit_with_faults),
		cmocka_unit_test(test_codes_a_second),
		cmocka_unit_test(test_time_classes),
	};

	return cmocka_run_group_tests(tests, NULL, host_done);
}
