// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_otlp_calls.c - arguments and errors of the encoders, gzip.
 * What is in the messages: test_otlp.py.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "base/gzip.h"
#include "telemetry/otlp.h"
#include "telemetry/window_pprof.h"
#include "tests/unit/telemetry/window_data.h"

struct calls {
	int cnt, fail_at;
	uint32_t samples;
	uint64_t time_ns, taken;
	size_t largest;		/* pprof, unpacked */
	struct buf last;
};

static int take(void *ctx, const struct otlp_request *r)
{
	struct calls *c = ctx;

	c->samples += r->samples;
	c->time_ns += r->time_ns;
	c->taken += r->taken;
	c->last.len = 0;
	assert_int_equal(buf_add(&c->last, r->bytes, r->len), 0);
	return ++c->cnt == c->fail_at ? -EDQUOT : 0;
}

static int take_pprof(void *ctx, const struct window_pprof *p)
{
	struct calls *c = ctx;
	struct buf plain = { 0 };

	assert_int_equal(gunzip_bytes(p->bytes, p->len, 1 << 24, &plain), 0);
	c->largest = plain.len > c->largest ? plain.len : c->largest;
	buf_free(&plain);
	c->samples += p->samples;
	c->time_ns += p->value;
	c->taken += p->taken;
	return ++c->cnt == c->fail_at ? -EDQUOT : 0;
}

static struct window *window_of(uint32_t services, uint32_t stacks)
{
	struct window *w = window_new(&window_limits_default, BEGIN_NS, BEGIN_NS + NS_PER_S);
	struct fake_process p = fake_process();
	uint32_t i, f;

	for (i = 0; i < stacks; i++) {
		f = python_frame(&p, "/srv/a.py", "function", (int32_t)i + 1);
		add_stack(w, &p, i % services, WINDOW_CPU, &f, 1, 1, 10);
	}
	fake_process_free(&p);
	return w;
}

static void test_arguments(void **state)
{
	struct window *w = window_of(3, 10);
	struct calls c = { 0 };
	struct otlp_args args = { .version = "1", .max_bytes = OTLP_BYTES_MIN - 1, .emit = take,
				  .ctx = &c };
	struct otlp_result result;

	assert_int_equal(otlp_encode(w, &args, &result), -EINVAL);
	args.max_bytes++;
	assert_int_equal(otlp_encode(w, &args, &result), 0);
	assert_int_equal(result.requests, 1);
	assert_int_equal(result.profiles, 3);
	assert_int_equal(result.samples, 10);
	assert_int_equal(c.samples, 10);
	/* Services that the caller does not describe have a name all the same. */
	assert_non_null(memmem(c.last.data, c.last.len, "unknown_service", 15));
	buf_free(&c.last);
	window_free(w);
}

/* Ten times of 10 ns in periods of 15 ns: rounded, their sum is 7. */
static void test_periods_are_rounded_as_a_sum(void **state)
{
	struct window *w = window_of(1, 10);
	struct calls c = { 0 };
	struct otlp_args args = { .version = "1", .max_bytes = OTLP_BYTES_MIN, .emit = take,
				  .period_ns = 15, .ctx = &c };

	assert_int_equal(otlp_encode(w, &args, NULL), 0);
	assert_int_equal(c.samples, 7);
	assert_int_equal(c.time_ns, 100);
	assert_int_equal(c.taken, 10);
	buf_free(&c.last);
	window_free(w);
}

static void test_emit_fails(void **state)
{
	struct window *w = window_of(2, 20000);
	struct calls c = { .fail_at = 2 };
	struct otlp_args args = { .version = "1", .max_bytes = OTLP_BYTES_MIN, .emit = take,
				  .ctx = &c };
	struct window_pprof_args pprof = { .emit = take_pprof, .ctx = &c };

	assert_int_equal(otlp_encode(w, &args, NULL), -EDQUOT);
	assert_int_equal(c.cnt, 2);
	c.cnt = 0;
	c.fail_at = 1;
	assert_int_equal(window_pprof(w, &pprof), -EDQUOT);
	assert_int_equal(c.cnt, 1);
	buf_free(&c.last);
	window_free(w);
}

/* A series that is too large for one profile is several, whose sums are its. */
static void test_large_pprof(void **state)
{
	struct window *w = window_of(1, 20000);
	struct calls whole = { 0 }, parts = { 0 };
	struct window_pprof_args args = { .emit = take_pprof, .ctx = &whole };

	assert_int_equal(window_pprof(w, &args), 0);
	assert_int_equal(whole.cnt, 1);
	assert_int_equal(whole.samples, 20000);
	args.ctx = &parts;
	args.max_bytes = whole.largest / 10;
	assert_int_equal(window_pprof(w, &args), 0);
	assert_in_range(parts.cnt, 10, 30);
	assert_in_range(parts.largest, args.max_bytes / 2, args.max_bytes);
	assert_int_equal(parts.samples, 20000);
	assert_int_equal(parts.time_ns, whole.time_ns);
	assert_int_equal(parts.taken, whole.taken);
	/* Each sample is larger alone. */
	parts = (struct calls){ 0 };
	args.max_bytes = 1;
	assert_int_equal(window_pprof(w, &args), 0);
	assert_int_equal(parts.cnt, 20000);
	window_free(w);
}

static void test_what_cannot_be_cut(void **state)
{
	struct window *w = window_of(1, 1);
	struct buf parts[2] = { 0 };
	struct calls c = { 0 };
	struct otlp_args args = { .version = "1", .max_bytes = OTLP_BYTES_MIN, .emit = take,
				  .ctx = &c };
	size_t i;

	assert_int_equal(otlp_split("", 0, parts), -ERANGE);
	assert_int_equal(otlp_encode(w, &args, NULL), 0);
	assert_int_equal(otlp_split(c.last.data, c.last.len, parts), -ERANGE);
	window_free(w);
	w = window_of(2, 2);
	assert_int_equal(otlp_encode(w, &args, NULL), 0);
	for (i = 1; i < c.last.len; i++)
		assert_true(otlp_split(c.last.data, i, parts) < 0);
	assert_int_equal(parts[0].len + parts[1].len, 0);
	assert_int_equal(otlp_split(c.last.data, c.last.len, parts), 0);
	assert_int_equal(otlp_split(parts[1].data, parts[1].len, parts), -ERANGE);
	buf_free(&parts[0]);
	buf_free(&parts[1]);
	buf_free(&c.last);
	window_free(w);
}

static void test_gzip(void **state)
{
	static uint8_t data[300000], back[sizeof(data)];
	struct buf out = { 0 };
	size_t i;

	for (i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)hash_u64(i);
	for (i = 0; i <= sizeof(data); i += sizeof(data) / 2) {
		z_stream z = { .next_out = back, .avail_out = sizeof(back) };

		out.len = 0;
		assert_int_equal(gzip_bytes(data, i, GZIP_LEVEL, &out), 0);
		assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
		z.next_in = out.data;
		z.avail_in = (uInt)out.len;
		assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
		assert_int_equal(z.total_out, i);
		assert_memory_equal(back, data, i);
		inflateEnd(&z);
	}
	assert_int_equal(gzip_bytes(data, 1, 77, &out), -ENOMEM);
	buf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_periods_are_rounded_as_a_sum),
		cmocka_unit_test(test_emit_fails),
		cmocka_unit_test(test_large_pprof),
		cmocka_unit_test(test_what_cannot_be_cut), cmocka_unit_test(test_gzip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
