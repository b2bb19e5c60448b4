// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_pprof_names.c - a recording converted to pprof and the agent's pprof of the same events have
 * the same functions.
 */
#include "formats/formats.h"
#include "telemetry/window_pprof.h"
#include "tests/unit/export_test.h"
#include "tests/unit/pprof_read.h"
#include "tests/unit/telemetry/window_data.h"

#define FRAMES 12

static void make_frames(struct intern *in, uint32_t frames[FRAMES])
{
	static const char *const names[][2] = {
		{ "/usr/lib/python3.11/json/decoder.py", "JSONDecoder.raw_decode" },
		{ "/usr/lib/python3.11/json/__init__.py", "loads" },
		{ "/x/lib/python3.11/site-packages/web/views.py", "View.get" },
		{ "/srv/shop/cart/views.py", "get" }, { "/srv/shop/orders/views.py", "get" },
		{ "/srv/shop/main.py", "<module>" }, { "<frozen runpy>", "_run_code" },
		{ "<string>", "<lambda>" }, { HOSTILE, HOSTILE },
	};
	struct frame f = { .line = 7, .end_line = 7, .column = 4, .end_column = 9,
			   .opcode = OPCODE_NONE, .first_line = 3 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_equal(intern_string(in, names[i][0], strlen(names[i][0]), &f.file), 0);
		assert_int_equal(intern_string(in, names[i][1], strlen(names[i][1]), &f.func), 0);
		assert_int_equal(intern_frame(in, &f, &frames[i]), 0);
	}
	assert_int_equal(intern_synthetic(in, FRAME_SYNTHETIC, "<GC>", &frames[i++]), 0);
	assert_int_equal(intern_native(in, "libz.so.1", NULL, "crc32", 0, &frames[i++]), 0);
	assert_int_equal(intern_native(in, "libz.so.1", "src/x.cc", "a<b>", 12, &frames[i++]), 0);
	assert_int_equal(i, FRAMES);
}

static struct read_profile *as_file(void)
{
	struct export_test t = { .meta = { .interval_us = 1000, .mode = MODE_CPU } };
	struct read_profile *p;
	uint32_t frames[FRAMES];
	struct buf b;

	export_open(&t, &sink_pprof);
	make_frames(t.in, frames);
	export_begin(&t);
	export_event(&t, 7, 1, 1, FRAMES, frames);
	b = export_close(&t);
	p = read_profile(b.data, b.len);
	buf_free(&b);
	return p;
}

static int keep_profile(void *ctx, const struct window_pprof *profile)
{
	*(struct read_profile **)ctx = read_profile(profile->bytes, profile->len);
	return 0;
}

static struct read_profile *as_window(void)
{
	struct window *w = window_new(&window_limits_default, BEGIN_NS, BEGIN_NS + NS_PER_S);
	struct fake_process process = fake_process();
	struct read_profile *p = NULL;
	const struct window_pprof_args args = { .emit = keep_profile, .ctx = &p };
	uint32_t frames[FRAMES];

	make_frames(process.in, frames);
	add_stack(w, &process, 0, WINDOW_CPU, frames, FRAMES, 1, 1000000);
	assert_int_equal(window_pprof(w, &args), 0);
	assert_non_null(p);
	window_free(w);
	fake_process_free(&process);
	return p;
}

/* "id name system-name file first-line" */
static void describe(struct read_profile *p, size_t i, char *out, size_t size)
{
	const struct read_message *f = &p->functions[i];
	size_t len = (size_t)snprintf(out, size, "%llu", (unsigned long long)f->v[1]);
	int field;

	for (field = 2; field <= 4; field++)
		len += (size_t)snprintf(out + len, size - len, " '%s'",
					read_string(p, f->v[field]));
	snprintf(out + len, size - len, " %llu line %llu", (unsigned long long)f->v[5],
		 (unsigned long long)p->lines[i].v[2]);
}

static void test_same_functions(void **state)
{
	struct read_profile *file = as_file(), *window = as_window();
	char first[1024], second[1024];
	size_t i;

	assert_int_equal(file->function_cnt, FRAMES);
	assert_int_equal(window->function_cnt, FRAMES);
	for (i = 0; i < FRAMES; i++) {
		describe(file, i, first, sizeof(first));
		describe(window, i, second, sizeof(second));
		assert_string_equal(first, second);
	}
	describe(file, 0, first, sizeof(first));
	assert_string_equal(first, "1 'json.decoder.JSONDecoder.raw_decode' "
			    "'JSONDecoder.raw_decode' '/usr/lib/python3.11/json/decoder.py' 3 "
			    "line 7");
	assert_string_equal(read_string(file, file->functions[3].v[2]), "cart.views.get");
	assert_string_equal(read_string(file, file->functions[4].v[2]), "orders.views.get");
	read_profile_free(file);
	read_profile_free(window);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_functions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
