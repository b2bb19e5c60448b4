// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_cpython_debug_offsets.c - _Py_DebugOffsets, the real ones and hostile ones. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "cpython/debug_offsets.h"
#include "cpython/layout.h"

static uint8_t golden[DEBUG_OFFSETS_MAX];
static size_t golden_len;

static void load_build(unsigned int minor, const char *build)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/debug_offsets_3.%u%s.bin", GOLDEN_DIR, minor, build);
	f = fopen(path, "rb");
	assert_non_null(f);
	golden_len = fread(golden, 1, sizeof(golden), f);
	fclose(f);
	assert_int_equal(golden_len, debug_offsets_size(minor));
}

static void load(unsigned int minor)
{
	load_build(minor, "");
}

/* 0 and a layout, or -EBADMSG and a reason. */
static int read_layout(unsigned int minor, struct cpython_image *img)
{
	struct debug_offsets d;
	const char *what = NULL;
	int err;

	memset(img, 0, sizeof(*img));
	img->major = 3;
	img->minor = minor;
	err = debug_offsets_read(golden, golden_len, minor, &d, &what);
	if (!err)
		err = layout_from_debug_offsets(img, minor, &d, &what);
	assert_true(err == 0 || err == -EBADMSG);
	assert_true(!err == !what);
	return err;
}

/* Whatever got through: the kernel and code.c may use it without looking. */
static void check_bounds(const struct cpython_image *img)
{
	const struct py_layout *l = &img->layout;
	const uint16_t ts[] = { l->ts_next, l->ts_interp, l->ts_frame, l->ts_thread_id, l->ts_gil,
				l->ts_exc_current, l->ts_exc_info, l->ts_exc_state };
	const uint16_t fr[] = { l->fr_code, l->fr_previous, l->fr_ip, l->fr_object };
	const uint16_t co[] = { l->co_filename, l->co_name, l->co_qualname, l->co_linetable,
				l->co_firstlineno, l->co_version, l->co_code };
	size_t i;

	for (i = 0; i < sizeof(ts) / sizeof(*ts); i++)
		assert_true(ts[i] < ABI_TS_BYTES - 8);
	for (i = 0; i < sizeof(fr) / sizeof(*fr); i++)
		assert_true(fr[i] + 8 <= l->fr_bytes);
	assert_true(l->fr_owner < l->fr_bytes && l->fr_bytes <= 136 && l->fr_bytes % 8 == 0);
	for (i = 0; i < sizeof(co) / sizeof(*co); i++)
		assert_true(co[i] + 8 <= 520);
	assert_true(l->interp_next < 1 << 20 && l->interp_threads_head < 1 << 20);
	assert_true(l->interp_gc_collecting == ABI_NO_OFF32 ||
		    l->interp_gc_collecting < (1 << 20) + 4096);
	assert_int_equal(l->interp_gc_stats == ABI_NO_OFF32, l->gc_stats_how == PY_GC_STATS_NONE);
	assert_true(l->interp_gc_stats == ABI_NO_OFF32 ||
		    l->interp_gc_stats < (1 << 20) + 4096);
	assert_true(l->fr_tlbc_index == ABI_NO_OFF || l->fr_tlbc_index + 4 <= l->fr_bytes);
	assert_true(l->co_tlbc == ABI_NO_OFF || l->co_tlbc < 512);
	assert_true(img->objects.str_compact_data <= 128 && img->objects.bytes_data <= 128);
	assert_true(img->minor >= 14 || !img->coro.gen_frame);
	assert_true(img->coro.gen_frame < 128 && img->coro.gen_state < 128);
	assert_true(img->coro.fr_stack < 113 && img->coro.set_table < 128);
}

/* Values: cpython-facts, checked against the headers by test_layouts. */
static void test_coroutines(void **state)
{
	static const struct async_coroutine_layout want[2][2] = {
		{ { 8, 72, 67, 64, 8, 24, 32, 40, 16, 24, -1, -1, 0, 3 },
		  { 24, 88, 83, 64, 8, 40, 48, 56, 32, 40, -1, -1, 0, 3 } },
		{ { 8, 72, 67, 64, 16, 24, 32, 40, 16, 24, 2, 3, 4, 3 },
		  { 24, 88, 83, 64, 16, 40, 48, 56, 32, 40, 2, 3, 4, 3 } },
	};
	struct cpython_image img;
	unsigned int minor, ft;

	for (minor = 14; minor <= 15; minor++)
		for (ft = 0; ft <= 1; ft++) {
			load_build(minor, ft ? "t" : "");
			assert_int_equal(read_layout(minor, &img), 0);
			assert_memory_equal(&img.coro, &want[minor - 14][ft], sizeof(img.coro));
		}
}

static void test_real(void **state)
{
	static const struct {
		unsigned int minor;
		uint16_t tss, frame_bytes, gil, exc_info;
		uint32_t gil_mask, epoch;
	} want[] = {
		{ 13, 2160, 72, 32, 120, 1 << 5, 17000 },
		{ 14, 2336, 80, 36, 120, UINT32_MAX, 7992 },
		{ 15, ABI_NO_OFF, 80, 36, 144, UINT32_MAX, 7944 },
	};
	struct cpython_image img;
	size_t i;

	for (i = 0; i < 3; i++) {
		load(want[i].minor);
		assert_int_equal(read_layout(want[i].minor, &img), 0);
		check_bounds(&img);
		assert_int_equal(img.rt.tss_key, want[i].tss);
		assert_int_equal(img.layout.fr_bytes, want[i].frame_bytes);
		assert_int_equal(img.layout.ts_gil, want[i].gil);
		assert_int_equal(img.layout.ts_gil_mask, want[i].gil_mask);
		assert_int_equal(img.layout.ts_exc_info, want[i].exc_info);
		assert_int_equal(img.layout.interp_epoch, want[i].epoch);
		assert_int_equal(img.objects.str_compact_data, 56);
	}
}

static void put(size_t pos, uint64_t value)
{
	memcpy(golden + pos, &value, sizeof(value));
}

/* 3.13's counter lies elsewhere with Py_DEBUG: only both sizes together tell. */
static void test_epoch_by_both_sizes(void **state)
{
	static const struct {
		uint32_t is_bytes, rt_bytes, epoch;
	} want[] = {
		{ 194968, 283320, 17000 },		/* 3.13.0 */
		{ 194984, 299336, 17016 },		/* 3.13.0, Py_DEBUG */
		{ 194984, 283408, 17000 },		/* 3.13.18 */
		{ 195000, 299424, 17016 },		/* 3.13.18, Py_DEBUG */
		{ 194984, 283320, ABI_NO_OFF32 },	/* both known, not together */
		{ 194968, 0, ABI_NO_OFF32 },
	};
	struct cpython_image img;
	size_t i;

	for (i = 0; i < sizeof(want) / sizeof(*want); i++) {
		load(13);
		put(48, want[i].is_bytes);
		put(24, want[i].rt_bytes);
		assert_int_equal(read_layout(13, &img), 0);
		assert_int_equal(img.layout.interp_epoch, want[i].epoch);
	}
}

static void test_free_threaded(void **state)
{
	static const struct {
		unsigned int minor;
		uint16_t frame_bytes, tlbc_index, tlbc;
		uint32_t epoch, kind_mask, ascii_bit, gc_collecting, gc_stats;
	} want[] = {
		{ 13, 72, ABI_NO_OFF, ABI_NO_OFF, 20092, 0x1c, 0x40, ABI_NO_OFF32, 7528 },
		{ 14, 80, 72, 224, 8024, 0x700, 0x1000, ABI_NO_OFF32, 7528 },
		{ 15, 80, 72, 224, 7952, 0x700, 0x1000, 7512, 7504 },
	};
	struct cpython_image img;
	size_t i;

	for (i = 0; i < 3; i++) {
		load_build(want[i].minor, "t");
		assert_int_equal(read_layout(want[i].minor, &img), 0);
		check_bounds(&img);
		assert_int_equal(img.layout.fr_bytes, want[i].frame_bytes);
		assert_int_equal(img.layout.fr_tlbc_index, want[i].tlbc_index);
		assert_int_equal(img.layout.co_tlbc, want[i].tlbc);
		assert_int_equal(img.layout.interp_epoch, want[i].epoch);
		assert_int_equal(img.layout.interp_gc_collecting, want[i].gc_collecting);
		assert_int_equal(img.layout.interp_gc_stats, want[i].gc_stats);
		assert_int_equal(img.layout.gc_by_frame, 1);
		assert_int_equal(img.layout.co_version, 108);
		/* attached, not ts->holds_gil */
		assert_int_equal(img.layout.ts_gil, 32);
		assert_int_equal(img.layout.ts_gil_mask, 1 << 4);
		assert_int_equal(img.objects.str_kind_mask, want[i].kind_mask);
		assert_int_equal(img.objects.str_kind_mask >> img.objects.str_kind_shift, 7);
		assert_int_equal(img.objects.str_ascii_bit, want[i].ascii_bit);
		assert_int_equal(img.objects.str_compact_data, 72);
	}
}

/* 3.15: the size of the counters says how they lie; with another one they are not read. */
static void test_rings_of_collections(void **state)
{
	struct cpython_image img;

	load_build(15, "");
	assert_int_equal(read_layout(15, &img), 0);
	assert_int_equal(img.layout.gc_stats_how, PY_GC_STATS_RINGS);
	assert_int_equal(img.layout.interp_gc_stats, 7504);
	assert_int_equal(img.layout.gc_young_items, 11);
	assert_int_equal(img.layout.gc_old_items, 3);
	put(776, 1120 + 64);
	assert_int_equal(read_layout(15, &img), 0);
	assert_int_equal(img.layout.gc_stats_how, PY_GC_STATS_NONE);
	assert_int_equal(img.layout.interp_gc_stats, ABI_NO_OFF32);
	load_build(15, "t");
	assert_int_equal(read_layout(15, &img), 0);
	assert_int_equal(img.layout.gc_young_items, 1);
	assert_int_equal(img.layout.gc_old_items, 1);
}

/* A build with a GIL that says it has none, and the other way round. */
static void test_wrong_build(void **state)
{
	struct cpython_image img;
	unsigned int minor;

	for (minor = 13; minor <= 15; minor++) {
		load(minor);
		golden[16] = 1;
		assert_int_equal(read_layout(minor, &img), -EBADMSG);
		load_build(minor, "t");
		golden[16] = 0;
		assert_int_equal(read_layout(minor, &img), -EBADMSG);
	}
}

/* The struct of one minor is never taken for that of another. */
static void test_wrong_minor(void **state)
{
	struct cpython_image img;
	unsigned int is, taken_for;

	for (is = 13; is <= 15; is++) {
		for (taken_for = 13; taken_for <= 15; taken_for++) {
			load(is);
			golden_len = sizeof(golden);
			assert_int_equal(read_layout(taken_for, &img),
					 is == taken_for ? 0 : -EBADMSG);
		}
	}
}

static void test_hostile_words(void **state)
{
	static const uint64_t nasty[] = { 0, 1, 7, 8, 127, 128, 375, 376, 4095, 65535, 65536,
					  1 << 20, 1ull << 32, 1ull << 63, UINT64_MAX };
	struct cpython_image img;
	unsigned int minor, build, refused = 0;
	uint64_t saved;
	size_t pos, i;

	for (build = 0; build < 6; build++) {
		minor = 13 + build / 2;
		load_build(minor, build % 2 ? "t" : "");
		for (pos = 0; pos < golden_len; pos += 8) {
			memcpy(&saved, golden + pos, 8);
			for (i = 0; i < sizeof(nasty) / sizeof(*nasty); i++) {
				memcpy(golden + pos, &nasty[i], 8);
				if (read_layout(minor, &img))
					refused++;
				else
					check_bounds(&img);
			}
			memcpy(golden + pos, &saved, 8);
		}
	}
	assert_true(refused > 1000);
}

/* All fields that are told are at a frame's start: what is not told is read, too. */
static void test_a_short_frame(void **state)
{
	static const size_t previous[] = { 232, 256, 320 };
	struct cpython_image img;
	unsigned int minor;
	size_t i;

	for (minor = 13; minor <= 15; minor++) {
		load(minor);
		for (i = 0; i <= 32; i += 8)	/* previous, executable, instr_ptr, ..., owner */
			put(previous[minor - 13] + i, 0);
		assert_int_equal(read_layout(minor, &img), 0);
		check_bounds(&img);
	}
}

static void test_short(void **state)
{
	struct cpython_image img;
	uint32_t hex;
	int ft;

	load(13);
	golden_len--;
	assert_int_equal(read_layout(13, &img), -EBADMSG);
	assert_int_equal(debug_offsets_version(golden, 23, &hex, &ft), -EBADMSG);
	assert_int_equal(debug_offsets_version(golden, 24, &hex, &ft), 0);
	assert_int_equal(hex, 0x030d12f0);
	assert_int_equal(ft, 0);
	golden[0] ^= 1;
	assert_int_equal(debug_offsets_version(golden, 24, &hex, &ft), -EBADMSG);
	assert_int_equal(debug_offsets_size(12), 0);
	assert_int_equal(debug_offsets_size(16), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_real),
		cmocka_unit_test(test_coroutines),
		cmocka_unit_test(test_epoch_by_both_sizes),
		cmocka_unit_test(test_free_threaded),
		cmocka_unit_test(test_rings_of_collections),
		cmocka_unit_test(test_wrong_build),
		cmocka_unit_test(test_wrong_minor),
		cmocka_unit_test(test_hostile_words),
		cmocka_unit_test(test_a_short_frame),
		cmocka_unit_test(test_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
