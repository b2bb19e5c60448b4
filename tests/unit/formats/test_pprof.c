// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_pprof.c - value types by unit, hostile names and limits of profile.proto.
 * tests/e2e has Go's pprof and a decoder that shares nothing with ours.
 */
#include <zlib.h>

#include "formats/formats.h"
#include "model/native_library.h"
#include "model/thread_names.h"
#include "tests/unit/export_test.h"
#include "user/formats/pprof/profile.pb-c.h"

static struct buf gunzip(const struct buf *b)
{
	z_stream z = { .next_in = b->data, .avail_in = (uInt)b->len };
	struct buf out = { 0 };
	int status;

	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	do {
		assert_int_equal(buf_reserve(&out, 65536), 0);
		z.next_out = out.data + out.len;
		z.avail_out = 65536;
		status = inflate(&z, Z_NO_FLUSH);
		assert_true(status == Z_OK || status == Z_STREAM_END);
		out.len += 65536 - z.avail_out;
	} while (status != Z_STREAM_END);
	assert_int_equal(z.avail_in, 0);
	inflateEnd(&z);
	return out;
}

static Tachbpf__PprofProfile *finish(struct export_test *t)
{
	struct buf b = export_close(t), raw = gunzip(&b);
	Tachbpf__PprofProfile *p = tachbpf__pprof_profile__unpack(NULL, raw.len, raw.data);

	assert_non_null(p);
	buf_free(&b);
	buf_free(&raw);
	return p;
}

static void done(Tachbpf__PprofProfile *p)
{
	tachbpf__pprof_profile__free_unpacked(p, NULL);
}

static const char *string_at(const Tachbpf__PprofProfile *p, int64_t i)
{
	assert_in_range(i, 0, p->n_string_table - 1);
	return p->string_table[i];
}

static void test_calls(void **state)
{
	check_calls(&sink_pprof);
}

static void test_units(void **state)
{
	static const struct {
		enum profile_unit unit;
		enum profile_mode mode;
		const char *first, *last, *last_unit;
		int64_t values[2], period;
	} cases[] = {
		{ UNIT_SAMPLES, MODE_CPU, "samples", "cpu", "nanoseconds", { 5, 50000 }, 10000 },
		{ UNIT_SAMPLES, MODE_WALL, "samples", "wall", "nanoseconds", { 5, 50000 }, 10000 },
		{ UNIT_BYTES, MODE_UNKNOWN, "alloc_objects", "alloc_space", "bytes", { 2, 5 }, 1 },
		{ UNIT_NANOSECONDS, MODE_UNKNOWN, "samples", "cpu", "nanoseconds", { 2, 5 }, 1 },
	};
	struct export_test t = { 0 };
	Tachbpf__PprofProfile *p;
	uint32_t f;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		t.meta = (struct profile_meta){ .unit = cases[i].unit, .mode = cases[i].mode,
						.interval_us = 10, .start_utc_ns = 77 };
		export_open(&t, &sink_pprof);
		f = export_frame(&t, "/x/a.py", "f", 3);
		export_begin(&t);
		export_event(&t, 7, 1, 2, 1, &f);
		export_event(&t, 7, 1, 3, 1, &f);
		p = finish(&t);
		assert_int_equal(p->n_sample_type, 2);
		assert_string_equal(string_at(p, p->sample_type[0]->type), cases[i].first);
		assert_string_equal(string_at(p, p->sample_type[0]->unit), "count");
		assert_string_equal(string_at(p, p->sample_type[1]->type), cases[i].last);
		assert_string_equal(string_at(p, p->sample_type[1]->unit), cases[i].last_unit);
		assert_int_equal(p->n_sample, 1);
		assert_memory_equal(p->sample[0]->value, cases[i].values, 16);
		assert_int_equal(p->period, cases[i].period);
		assert_int_equal(p->time_nanos, 77);
		assert_string_equal(string_at(p, 0), "");
		done(p);
	}
}

static void test_hostile_names(void **state)
{
	struct export_test t = { .meta = { .comm = HOSTILE, .tgid = 3, .platform = HOSTILE,
					   .python_major = 3 } };
	Tachbpf__PprofProfile *p;
	uint32_t f[2];
	size_t i;

	export_open(&t, &sink_pprof);
	f[0] = export_frame(&t, HOSTILE, HOSTILE, 3);
	f[1] = export_frame(&t, "", "", LINE_NONE);
	export_begin(&t);
	export_event(&t, 7, 1, UINT64_MAX, 2, f);
	export_event(&t, 7, 1, UINT64_MAX, 2, f);
	p = finish(&t);
	for (i = 0; i < p->n_string_table; i++) {
		struct buf b = { .data = (uint8_t *)p->string_table[i],
				 .len = strlen(p->string_table[i]) };

		assert_printable(&b);
		assert_null(strchr(p->string_table[i], '\n'));
	}
	assert_int_equal(p->sample[0]->value[0], INT64_MAX);
	assert_int_equal(p->sample[0]->n_location_id, 2);
	done(p);
}

/* Two files of one name: their functions are not one. */
static void test_names(void **state)
{
	struct export_test t = { 0 };
	Tachbpf__PprofProfile *p;
	uint32_t f[4];

	export_open(&t, &sink_pprof);
	f[0] = export_frame(&t, "/x/pkg/__init__.py", "<module>", 3);
	f[1] = export_frame(&t, "/y/other/__init__.py", "<module>", 3);
	f[2] = export_frame(&t, "/z/other/__init__.py", "<module>", 3);
	assert_int_equal(intern_synthetic(t.in, FRAME_SYNTHETIC, "<GC>", &f[3]), 0);
	f[1] = export_first_line(&t, f[1], 2);
	export_begin(&t);
	export_event(&t, 7, 1, 1, 4, f);
	p = finish(&t);
	assert_int_equal(p->n_function, 4);
	assert_string_equal(string_at(p, p->function[0]->name), "__init__.<module>");
	assert_string_equal(string_at(p, p->function[1]->name), "other.__init__.<module>");
	assert_string_equal(string_at(p, p->function[2]->name), "z.other.__init__.<module>");
	assert_string_equal(string_at(p, p->function[2]->system_name), "<module>");
	assert_string_equal(string_at(p, p->function[3]->name), "<GC>");
	assert_int_equal(p->function[3]->system_name, 0);
	assert_int_equal(p->function[0]->start_line, 0);
	assert_int_equal(p->function[1]->start_line, 2);
	done(p);
}

/* A library is a mapping, with its path and build id if they are known. */
static void test_libraries(void **state)
{
	static const uint8_t build_id[] = { 0x0a, 0xff };
	struct export_test t = { 0 };
	Tachbpf__PprofProfile *p;
	uint32_t f[4];

	export_open(&t, &sink_pprof);
	assert_int_equal(intern_native(t.in, "libz.so.1", NULL, "crc32", 0, &f[0]), 0);
	assert_int_equal(intern_native(t.in, "libfoo.so", "src/foo.cc", "foo<int>", 12, &f[1]), 0);
	assert_int_equal(intern_native(t.in, "libfoo.so", "src/bar.cc", "bar", 3, &f[2]), 0);
	f[3] = export_frame(&t, "/x/a.py", "main", 3);
	export_begin(&t);
	export_event(&t, 7, 1, 1, 4, f);
	/* A recorder may know it late. */
	assert_int_equal(native_library_add(t.in, "libfoo.so", "/lib/libfoo.so", build_id, 2), 0);
	p = finish(&t);
	assert_int_equal(p->n_mapping, 3);
	assert_string_equal(string_at(p, p->mapping[1]->filename), "libz.so.1");
	assert_string_equal(string_at(p, p->mapping[1]->build_id), "");
	assert_string_equal(string_at(p, p->mapping[2]->filename), "/lib/libfoo.so");
	assert_string_equal(string_at(p, p->mapping[2]->build_id), "0aff");
	assert_true(p->mapping[2]->has_functions && p->mapping[2]->has_filenames);
	assert_int_equal(p->location[0]->mapping_id, 2);
	assert_int_equal(p->location[1]->mapping_id, 3);
	assert_int_equal(p->location[2]->mapping_id, 3);
	assert_int_equal(p->location[3]->mapping_id, 1);
	assert_int_equal(p->location[1]->line[0]->line, 12);
	assert_string_equal(string_at(p, p->function[0]->name), "crc32");
	assert_string_equal(string_at(p, p->function[0]->filename), "[libz.so.1]");
	assert_string_equal(string_at(p, p->function[1]->name), "foo<int>");
	assert_string_equal(string_at(p, p->function[1]->filename), "src/foo.cc");
	assert_int_equal(p->function[1]->system_name, 0);
	done(p);
}

/* The file says once what all its values are. */
static void test_mixed_units(void **state)
{
	struct export_test t = { .args = { .many = true } };

	export_open(&t, &sink_pprof);
	export_begin(&t);
	assert_int_equal(t.s->ops->end(t.s, NULL), 0);
	t.meta.unit = UNIT_BYTES;
	assert_int_equal(t.s->ops->begin(t.s, &t.meta, intern_tables(t.in)), SINK_REPORTED);
	assert_int_equal(t.s->ops->close(t.s), SINK_REPORTED);
	close(t.args.fd);
	intern_free(t.in);
}

static void test_nothing(void **state)
{
	struct export_test t = { 0 };
	Tachbpf__PprofProfile *p;

	export_open(&t, &sink_pprof);
	export_begin(&t);
	p = finish(&t);
	assert_int_equal(p->n_sample, 0);
	assert_int_equal(p->n_mapping, 1);
	done(p);
}

/* The text of a sample's label; "": it has none. */
static const char *label_of(const Tachbpf__PprofProfile *p, size_t sample, const char *key)
{
	const Tachbpf__PprofSample *s = p->sample[sample];
	size_t i;

	for (i = 0; i < s->n_label; i++)
		if (!strcmp(string_at(p, s->label[i]->key), key))
			return string_at(p, s->label[i]->str);
	return "";
}

/* A thread's name is a label of its samples. */
static void test_thread_names(void **state)
{
	struct thread_names *names = thread_names_new();
	struct export_test t = { .meta = { .tgid = 7, .comm = "app", .thread_names = names } };
	Tachbpf__PprofProfile *p;
	uint32_t f;

	assert_non_null(names);
	assert_int_equal(thread_names_set(names, 8, "worker-1"), 0);
	export_open(&t, &sink_pprof);
	f = export_frame(&t, "/x/a.py", "f", 3);
	export_begin(&t);
	export_event(&t, 7, 1, 1, 1, &f);
	export_event(&t, 8, 1, 1, 1, &f);
	p = finish(&t);
	assert_int_equal(p->n_sample, 2);
	assert_string_equal(label_of(p, 0, "thread"), "");
	assert_string_equal(label_of(p, 1, "thread"), "worker-1");
	assert_string_equal(label_of(p, 1, "comm"), "app");
	done(p);
	thread_names_drop(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls), cmocka_unit_test(test_units),
		cmocka_unit_test(test_hostile_names), cmocka_unit_test(test_names),
		cmocka_unit_test(test_libraries), cmocka_unit_test(test_thread_names),
		cmocka_unit_test(test_mixed_units), cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
