// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_proto.c - protobuf's wire format: what is written is read, and nothing is believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/proto.h"

static struct proto_out sample_message(void)
{
	struct proto_out o = { 0 };
	const uint32_t numbers[] = { 1, 300, UINT32_MAX };
	size_t begin;

	proto_number(&o, 1, 0);		/* left out */
	proto_number(&o, 1, UINT64_MAX);
	proto_number_or_0(&o, 2, 0);
	proto_fixed64(&o, 3, 0x0102030405060708);
	proto_packed(&o, 4, numbers, 3);
	proto_entry(&o, 5, NULL, 0);
	begin = proto_begin(&o, 6);
	proto_text(&o, 1, "text");
	proto_end(&o, begin);
	assert_int_equal(o.err, 0);
	return o;
}

static void test_round_trip(void **state)
{
	struct proto_out o = sample_message();
	struct proto_in in = { .p = o.b.data, .end = o.b.data + o.b.len }, inner;
	struct proto_field f;
	uint64_t v = 0, sum = 0;

	assert_true(proto_next(&in, &f) && f.number == 1 && f.value == UINT64_MAX);
	inner = proto_inside(&f);
	assert_true(inner.bad);
	assert_true(proto_next(&in, &f) && f.number == 2 && !f.value);
	assert_true(proto_next(&in, &f) && f.wire == WIRE_FIXED64);
	assert_true(f.value == 0x0102030405060708);
	assert_true(proto_next(&in, &f));
	for (inner = proto_inside(&f); proto_next_number(&inner, &v); sum += v)
		;
	assert_true(!inner.bad && sum == 301ull + UINT32_MAX);
	assert_true(proto_next(&in, &f) && f.number == 5 && !f.len);
	assert_true(proto_next(&in, &f) && f.number == 6);
	inner = proto_inside(&f);
	assert_true(proto_next(&inner, &f) && f.len == 4 && !memcmp(f.data, "text", 4));
	assert_false(proto_next(&inner, &f) || inner.bad);
	assert_false(proto_next(&in, &f) || in.bad);
	proto_out_free(&o);
}

/* Cut anywhere, it ends between two fields, or is bad and stays so. */
static void test_cut(void **state)
{
	struct proto_out o = sample_message();
	size_t len, whole = 0;

	for (len = 0; len < o.b.len; len++) {
		uint8_t *copy = malloc(len + 1);	/* so that ASan sees what is beyond */
		struct proto_in in = { .p = copy + 1, .end = copy + 1 + len };
		struct proto_field f;

		memcpy(copy + 1, o.b.data, len);
		while (proto_next(&in, &f))
			;
		whole += !in.bad;
		assert_false(proto_next(&in, &f));
		free(copy);
	}
	assert_int_equal(whole, 6);
	proto_out_free(&o);
}

static void test_what_is_no_field(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} cases[] = {
		{ "\x00\x01", 2 },			/* field 0 */
		{ "\x0b", 1 }, { "\x0c", 1 },		/* groups */
		{ "\x0e\x01", 2 },			/* a wire type that there is not */
		{ "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11 },	/* a length of 2^64 - 1 */
		{ "\x80\x80\x80\x80\x10\x01", 6 },	/* field 2^29 */
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint8_t *p = (const uint8_t *)cases[i].bytes;
		struct proto_in in = { .p = p, .end = p + cases[i].len };
		struct proto_field f;

		assert_false(proto_next(&in, &f));
		assert_true(in.bad);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip), cmocka_unit_test(test_cut),
		cmocka_unit_test(test_what_is_no_field),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
