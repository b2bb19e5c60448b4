// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_otlp_reread.c - a window that is encoded as OTLP and as pprof is the same to the readers of
 * both: frames, times, services.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "formats/pprof/pprof_encode.h"
#include "formats/readers.h"
#include "model/native_library.h"
#include "model/profile_service.h"
#include "telemetry/otlp.h"
#include "telemetry/window_pprof.h"
#include "tests/unit/telemetry/window_data.h"

#define SERVICES 3
#define PERIOD_NS 10000000
#define ROWS_MAX 4096

static const char *const names[SERVICES] = { "cart", "pay", "<odd>" };

/* A file in memory. */
struct file {
	int fd;
	char path[64];
};

static struct file new_file(void)
{
	struct file f = { .fd = memfd_create("tachbpf-test", MFD_CLOEXEC) };

	assert_true(f.fd >= 0);
	snprintf(f.path, sizeof(f.path), "/proc/self/fd/%d", f.fd);
	return f;
}

static void append(const struct file *f, const void *data, size_t len)
{
	assert_int_equal(write(f->fd, data, len), len);
}

/* ---- what a file says ---- */

/* A line for each function of each stack: service, function, file, line; and its sum. */
struct row {
	char text[400];
	uint64_t sum;
};

struct rows {
	struct row *all;
	size_t cnt;
	const struct profile_tables *tables;
	const char *service;
};

static int compare_rows(const void *a, const void *b)
{
	return strcmp(((const struct row *)a)->text, ((const struct row *)b)->text);
}

static int add_event(void *ctx, const struct event *ev)
{
	struct rows *rows = ctx;
	uint32_t i;

	for (i = 0; i < ev->nframes; i++) {
		const struct frame *f = &rows->tables->frames[ev->frames[i]];
		const struct string_ref *file = &rows->tables->strings[f->file];
		const struct string_ref *func = &rows->tables->strings[f->func];

		assert_true(rows->cnt < ROWS_MAX);
		snprintf(rows->all[rows->cnt].text, sizeof(rows->all->text),
			 "%s %u %.*s %.*s %d %d", rows->service, i, (int)func->len, func->data,
			 (int)file->len, file->data, f->line, f->first_line);
		rows->all[rows->cnt++].sum = ev->weight;
	}
	return 0;
}

static void add_file(struct rows *rows, const char *path, const char *type)
{
	const struct reader_args args = { .type = type };
	char why[256] = "";
	struct reader *r = reader_open(path, &args, why, sizeof(why));
	uint32_t i;

	if (!r)
		fail_msg("%s", why);
	rows->tables = reader_tables(r);
	for (i = 0; i < reader_profile_cnt(r); i++) {
		reader_select(r, i);
		assert_string_equal(reader_info(r)->meta.type, type);
		assert_string_equal(reader_info(r)->meta.type_unit,
				    strcmp(type, "inuse_space") ? "nanoseconds" : "bytes");
		rows->service = service_part_of(reader_info(r)->meta.service, SERVICE_NAME);
		assert_int_equal(reader_run(r, add_event, rows, why, sizeof(why)), 0);
	}
	reader_free(r);
}

/* Adds up equal lines. */
static void finish(struct rows *rows)
{
	size_t i, n = 0;

	qsort(rows->all, rows->cnt, sizeof(*rows->all), compare_rows);
	for (i = 0; i < rows->cnt; i++) {
		if (n && !compare_rows(&rows->all[n - 1], &rows->all[i]))
			rows->all[n - 1].sum += rows->all[i].sum;
		else
			rows->all[n++] = rows->all[i];
	}
	rows->cnt = n;
}

/* ---- a window, and its files ---- */

static struct window *new_window(void)
{
	struct window *w = window_new(&window_limits_default, BEGIN_NS, BEGIN_NS + 15 * NS_PER_S);
	static const uint8_t build_id[] = { 0xc0, 0xde };
	struct fake_process p = fake_process();
	uint32_t f[8], i, k;
	char func[32];

	assert_int_equal(native_library_add(p.in, "libz.so.1", "/lib/libz.so.1", build_id, 2), 0);
	assert_int_equal(intern_native(p.in, "libz.so.1", "src/crc32.c", "crc32_z", 7, &f[0]), 0);
	assert_int_equal(intern_native(p.in, "libz.so.1", NULL, "libz.so.1+0x12ab", 0, &f[1]), 0);
	assert_int_equal(intern_native(p.in, "libfoo.so", NULL, "foo", 0, &f[2]), 0);
	f[3] = other_frame(&p, FRAME_SYNTHETIC, "<GC>");
	f[4] = other_frame(&p, FRAME_KERNEL, "<kernel schedule>");
	f[5] = other_frame(&p, FRAME_NATIVE, "<native>");
	f[6] = python_frame(&p, "/usr/lib/python3/dist-packages/web/views.py", "View.get", 42);
	f[7] = python_frame(&p, "/srv/shop/main.py", "<module>", 7);
	add_stack(w, &p, 0, WINDOW_CPU, f, 8, 3, PERIOD_NS);
	for (i = 0; i < 300; i++) {
		snprintf(func, sizeof(func), "function_%u", i % 50);
		k = i % 7;
		f[0] = python_frame(&p, "/srv/app.py", func, (int32_t)i + 1);
		add_stack(w, &p, i % SERVICES, i % 5 ? WINDOW_CPU : WINDOW_OFF_CPU, f, 8 - k,
			  1 + i % 3, PERIOD_NS);
		add_stack(w, &p, i % SERVICES, WINDOW_INUSE_SPACE, f, 8 - k, 1 + i % 3, 4096);
	}
	fake_process_free(&p);
	return w;
}

static int take_stream(void *ctx, const struct otlp_request *r)
{
	const uint8_t head[4] = { (uint8_t)(r->len >> 24), (uint8_t)(r->len >> 16),
				  (uint8_t)(r->len >> 8), (uint8_t)r->len };

	append(ctx, head, sizeof(head));
	append(ctx, r->bytes, r->len);
	return 0;
}

static int take_request(void *ctx, const struct otlp_request *r)
{
	append(ctx, r->bytes, r->len);
	return 0;
}

static void write_otlp(const struct window *w, const struct file *f, bool stream)
{
	struct otlp_attribute attributes[SERVICES];
	struct otlp_service services[SERVICES];
	struct otlp_args args = {
		.services = services, .service_cnt = SERVICES, .version = "1",
		.period_ns = PERIOD_NS, .max_bytes = stream ? OTLP_BYTES_MIN : 1 << 24,
		.emit = stream ? take_stream : take_request, .ctx = (void *)(uintptr_t)f,
	};
	struct otlp_result result;
	uint32_t i;

	for (i = 0; i < SERVICES; i++) {
		attributes[i] = (struct otlp_attribute){ "service.name", names[i], 0, false };
		services[i] = (struct otlp_service){ &attributes[i], 1 };
	}
	assert_int_equal(otlp_encode(w, &args, &result), 0);
	assert_true(stream || result.requests == 1);
}

static void add_comment(void *ctx, uint32_t service, struct pprof_encoder *e)
{
	char text[64];

	snprintf(text, sizeof(text), "service.name=%s", names[service]);
	pprof_comment(e, text);
}

struct of_type {
	struct rows *rows;
	const char *type;
};

static int take_pprof(void *ctx, const struct window_pprof *p)
{
	struct of_type *of = ctx;
	struct file f;

	if (strcmp(window_kinds[p->kind].type, of->type))
		return 0;
	f = new_file();
	append(&f, p->bytes, p->len);
	add_file(of->rows, f.path, of->type);
	close(f.fd);
	return 0;
}

static struct rows rows_of_pprof(const struct window *w, const char *type)
{
	const struct window_comments comments = { add_comment, NULL };
	struct rows rows = { .all = calloc(ROWS_MAX, sizeof(struct row)) };
	struct of_type of = { &rows, type };
	const struct window_pprof_args args = { .period_ns = PERIOD_NS, .comments = &comments,
						.emit = take_pprof, .ctx = &of };

	assert_int_equal(window_pprof(w, &args), 0);
	finish(&rows);
	return rows;
}

static void check_same(bool stream)
{
	static const char *const types[] = { "cpu", "off_cpu", "inuse_space" };
	struct window *w = new_window();
	struct file f = new_file();
	size_t i, k;

	write_otlp(w, &f, stream);
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		struct rows want = rows_of_pprof(w, types[i]);
		struct rows got = { .all = calloc(ROWS_MAX, sizeof(struct row)) };

		add_file(&got, f.path, types[i]);
		finish(&got);
		assert_int_equal(got.cnt, want.cnt);
		assert_true(want.cnt > 50);
		for (k = 0; k < want.cnt; k++) {
			assert_string_equal(got.all[k].text, want.all[k].text);
			assert_int_equal(got.all[k].sum, want.all[k].sum);
		}
		free(want.all);
		free(got.all);
	}
	close(f.fd);
	window_free(w);
}

static void test_a_request(void **state)
{
	check_same(false);
}

static void test_a_stream(void **state)
{
	check_same(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_request),
		cmocka_unit_test(test_a_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
