// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_pprof.c - value types by unit, hostile names and limits of profile.proto.
 * tests/e2e has Go's pprof and a decoder that shares nothing with ours.
 */
#include "formats/formats.h"
#include "formats/qualify.h"
#include "model/native_library.h"
#include "model/thread_names.h"
#include "tests/unit/export_test.h"
#include "tests/unit/pprof_read.h"

enum { FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILENAME = 4, FUNCTION_LINE = 5 };
enum { MAPPING_FILENAME = 5, MAPPING_BUILD_ID = 6 };

static struct read_profile *finish(struct export_test *t)
{
	struct buf b = export_close(t);
	struct read_profile *p = read_profile(b.data, b.len);

	buf_free(&b);
	return p;
}

static void assert_string(struct read_profile *p, uint64_t i, const char *want)
{
	assert_string_equal(read_string(p, i), want);
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
		uint64_t values[2], period;
	} cases[] = {
		{ UNIT_SAMPLES, MODE_CPU, "samples", "cpu", "nanoseconds", { 5, 50000 }, 10000 },
		{ UNIT_SAMPLES, MODE_WALL, "samples", "wall", "nanoseconds", { 5, 50000 }, 10000 },
		{ UNIT_BYTES, MODE_UNKNOWN, "alloc_objects", "alloc_space", "bytes", { 2, 5 }, 1 },
		{ UNIT_NANOSECONDS, MODE_UNKNOWN, "samples", "cpu", "nanoseconds", { 2, 5 }, 1 },
	};
	struct export_test t = { 0 };
	struct read_profile *p;
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
		assert_int_equal(p->type_cnt, 2);
		assert_string(p, p->types[0].v[1], cases[i].first);
		assert_string(p, p->types[0].v[2], "count");
		assert_string(p, p->types[1].v[1], cases[i].last);
		assert_string(p, p->types[1].v[2], cases[i].last_unit);
		assert_string(p, p->head.v[14], cases[i].last);
		assert_int_equal(p->sample_cnt, 1);
		assert_int_equal(p->samples[0].value_cnt, 2);
		assert_memory_equal(p->samples[0].values, cases[i].values, 16);
		assert_int_equal(p->head.v[12], cases[i].period);
		assert_int_equal(p->head.v[9], 77);
		assert_string(p, 0, "");
		read_profile_free(p);
	}
}

static void test_hostile_names(void **state)
{
	struct export_test t = { .meta = { .comm = HOSTILE, .tgid = 3, .platform = HOSTILE,
					   .python_major = 3 } };
	struct read_profile *p;
	uint32_t f[2];
	size_t i;

	export_open(&t, &sink_pprof);
	f[0] = export_frame(&t, HOSTILE, HOSTILE, 3);
	f[1] = export_frame(&t, "", "", LINE_NONE);
	export_begin(&t);
	export_event(&t, 7, 1, UINT64_MAX, 2, f);
	export_event(&t, 7, 1, UINT64_MAX, 2, f);
	p = finish(&t);
	for (i = 0; i < p->string_cnt; i++) {
		struct buf b = { .data = (uint8_t *)p->strings[i].data, .len = p->strings[i].len };

		assert_printable(&b);
		assert_null(memchr(b.data, '\n', b.len));
	}
	assert_int_equal(p->samples[0].values[0], INT64_MAX);
	assert_int_equal(p->samples[0].location_cnt, 2);
	read_profile_free(p);
}

static void test_qualified(void **state)
{
	static const struct {
		const char *path, *name;
	} cases[] = {
		{ "/usr/lib/python3/dist-packages/django/core/base.py", "django.core.base.f" },
		{ "/x/venv/lib/python3.11/site-packages/a.py", "a.f" },
		{ "/x/site-packages/a-1.0-py3.11.egg/a/b.py", "a.b.f" },
		{ "/usr/lib/python3.13t/json/decoder.py", "json.decoder.f" },
		{ "/usr/lib64/python3.9/json/__init__.py", "json.f" },
		{ "/usr/lib/python311.zip/json/decoder.py", "json.decoder.f" },
		{ "/srv/app.pyz/__main__.py", "__main__.f" },
		{ "/opt/lib/python3.x/a/b/c.py", "b.c.f" },
		{ "/opt/python3.11/a/b/c.py", "b.c.f" },
		{ "/srv/deep/shop/views.py", "shop.views.f" },
		{ "/srv/deep/shop/__init__.py", "deep.shop.f" },
		{ "/srv/./views.py", "views.f" },
		{ "../views.py", "views.f" },
		{ "/usr/bin/gunicorn", "bin.gunicorn.f" },
		{ "/main.py", "main.f" },
		{ "main.py", "main.f" },
		{ "pkg/main.py", "pkg.main.f" },
		{ "__init__.py", "__init__.f" },
		{ "/__init__.py", "__init__.f" },
		{ ".py", ".py.f" },
		{ "<frozen importlib._bootstrap>", "importlib._bootstrap.f" },
		{ "<frozen >", "f" },
		{ "<frozen", "<frozen.f" },
		{ "<string>", "<string>.f" },
		{ "<attrs generated init a/b.C>", "<attrs generated init a/b.C>.f" },
		{ "", "f" },
		{ "/", "f" },
	};
	struct buf name = { 0 };
	char deep[4096];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(qualify_name(&name, string_of(cases[i].path), string_of("f")), 0);
		assert_string_equal((char *)name.data, cases[i].name);
		assert_int_equal(name.len, strlen(cases[i].name));
	}
	memset(deep, '/', sizeof(deep));
	assert_int_equal(qualify_name(&name, (struct string_ref){ deep, sizeof(deep) },
				      string_of("f")), 0);
	assert_string_equal((char *)name.data, "f");
	buf_free(&name);
}

/* Two files of one name: their functions are not one. */
static void test_names(void **state)
{
	struct export_test t = { 0 };
	struct read_profile *p;
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
	assert_int_equal(p->function_cnt, 4);
	assert_string(p, p->functions[0].v[FUNCTION_NAME], "x.pkg.<module>");
	assert_string(p, p->functions[1].v[FUNCTION_NAME], "y.other.<module>");
	assert_string(p, p->functions[2].v[FUNCTION_NAME], "z.other.<module>");
	assert_string(p, p->functions[2].v[FUNCTION_SYSTEM_NAME], "<module>");
	assert_string(p, p->functions[3].v[FUNCTION_NAME], "<GC>");
	assert_int_equal(p->functions[3].v[FUNCTION_SYSTEM_NAME], 0);
	assert_int_equal(p->functions[0].v[FUNCTION_LINE], 0);
	assert_int_equal(p->functions[1].v[FUNCTION_LINE], 2);
	read_profile_free(p);
}

/* A library is a mapping, with its path and build id if they are known. */
static void test_libraries(void **state)
{
	static const uint8_t build_id[] = { 0x0a, 0xff };
	struct export_test t = { 0 };
	struct read_profile *p;
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
	assert_int_equal(p->mapping_cnt, 3);
	assert_string(p, p->mappings[1].v[MAPPING_FILENAME], "libz.so.1");
	assert_string(p, p->mappings[1].v[MAPPING_BUILD_ID], "");
	assert_string(p, p->mappings[2].v[MAPPING_FILENAME], "/lib/libfoo.so");
	assert_string(p, p->mappings[2].v[MAPPING_BUILD_ID], "0aff");
	assert_true(p->mappings[2].v[7] && p->mappings[2].v[8]);
	assert_int_equal(p->locations[0].v[2], 2);
	assert_int_equal(p->locations[1].v[2], 3);
	assert_int_equal(p->locations[2].v[2], 3);
	assert_int_equal(p->locations[3].v[2], 1);
	assert_int_equal(p->lines[1].v[2], 12);
	assert_string(p, p->functions[0].v[FUNCTION_NAME], "crc32");
	assert_string(p, p->functions[0].v[FUNCTION_FILENAME], "[libz.so.1]");
	assert_string(p, p->functions[1].v[FUNCTION_NAME], "foo<int>");
	assert_string(p, p->functions[1].v[FUNCTION_FILENAME], "src/foo.cc");
	assert_int_equal(p->functions[1].v[FUNCTION_SYSTEM_NAME], 0);
	read_profile_free(p);
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
	struct read_profile *p;

	export_open(&t, &sink_pprof);
	export_begin(&t);
	p = finish(&t);
	assert_int_equal(p->sample_cnt, 0);
	assert_int_equal(p->mapping_cnt, 1);
	read_profile_free(p);
}

/* The text of a sample's label; "": it has none. */
static const char *label_of(struct read_profile *p, size_t sample, const char *key)
{
	const struct read_sample *s = &p->samples[sample];
	size_t i;

	for (i = 0; i < s->label_cnt; i++)
		if (!strcmp(read_string(p, s->labels[i].v[1]), key))
			return read_string(p, s->labels[i].v[2]);
	return "";
}

/* A thread's name is a label of its samples. */
static void test_thread_names(void **state)
{
	struct thread_names *names = thread_names_new();
	struct export_test t = { .meta = { .tgid = 7, .comm = "app", .thread_names = names } };
	struct read_profile *p;
	uint32_t f;

	assert_non_null(names);
	assert_int_equal(thread_names_set(names, 8, "worker-1"), 0);
	export_open(&t, &sink_pprof);
	f = export_frame(&t, "/x/a.py", "f", 3);
	export_begin(&t);
	export_event(&t, 7, 1, 1, 1, &f);
	export_event(&t, 8, 1, 1, 1, &f);
	p = finish(&t);
	assert_int_equal(p->sample_cnt, 2);
	assert_string_equal(label_of(p, 0, "thread"), "");
	assert_string_equal(label_of(p, 1, "thread"), "worker-1");
	assert_string_equal(label_of(p, 1, "comm"), "app");
	read_profile_free(p);
	thread_names_drop(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls), cmocka_unit_test(test_units),
		cmocka_unit_test(test_hostile_names), cmocka_unit_test(test_names),
		cmocka_unit_test(test_qualified),
		cmocka_unit_test(test_libraries), cmocka_unit_test(test_thread_names),
		cmocka_unit_test(test_mixed_units), cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
