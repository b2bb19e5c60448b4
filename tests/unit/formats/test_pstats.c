// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_pstats.c - the marshalled dict, through a decoder of its own, for what
 * captures do not have: large counts, units, hostile names, recursion. tests/e2e
 * has Python's pstats.
 */
#include <math.h>

#include "formats/formats.h"
#include "tests/unit/export_test.h"

/* Enough of marshal to print it as Python would. */
struct decoder {
	const struct buf *b;
	size_t at;
	char *refs[64];
	uint32_t ref_cnt;
	char text[4096];
};

static uint32_t u32(struct decoder *d)
{
	uint32_t v;

	assert_true(d->at + 4 <= d->b->len);
	memcpy(&v, d->b->data + d->at, 4);
	d->at += 4;
	return v;
}

static void say(struct decoder *d, const char *s)
{
	assert_true(strlen(d->text) + strlen(s) < sizeof(d->text));
	strcat(d->text, s);
}

static void decode(struct decoder *d);

static void decode_long(struct decoder *d)
{
	uint32_t i, digits = u32(d);
	unsigned __int128 v = 0;
	char text[32];

	assert_in_range(digits, 1, 5);
	for (i = 0; i < digits; i++, d->at += 2)
		v |= (unsigned __int128)(d->b->data[d->at] | d->b->data[d->at + 1] << 8) << 15 * i;
	assert_true(v <= UINT64_MAX);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	say(d, text);
}

static void decode_sequence(struct decoder *d, char type)
{
	uint32_t i, n = type == '(' ? u32(d) : UINT32_MAX;

	say(d, type == '(' ? "(" : "{");
	for (i = 0; i < n && (type == '(' || d->b->data[d->at] != '0'); i++) {
		if (i)
			say(d, ",");
		decode(d);
		if (type == '{') {
			say(d, ":");
			decode(d);
		}
	}
	d->at += type == '{';
	say(d, type == '(' ? ")" : "}");
}

static void decode_scalar(struct decoder *d, char type)
{
	char text[256] = "";
	uint32_t n;
	double v;

	if (type == 'i') {
		snprintf(text, sizeof(text), "%d", (int)u32(d));
	} else if (type == 'g') {
		memcpy(&v, d->b->data + d->at, 8);
		d->at += 8;
		snprintf(text, sizeof(text), "%g", v);
	} else if (type == 'u') {
		n = u32(d);
		assert_true(d->at + n <= d->b->len);
		snprintf(text, sizeof(text), "'%.*s'", (int)n, d->b->data + d->at);
		d->at += n;
	} else if (type == 'r') {
		n = u32(d);
		assert_true(n < d->ref_cnt && d->refs[n]);
		say(d, d->refs[n]);
		return;
	} else {
		fail_msg("type '%c'", type);
	}
	say(d, text);
}

static void decode(struct decoder *d)
{
	uint8_t type = d->b->data[d->at++];
	uint32_t ref = d->ref_cnt;
	size_t from = strlen(d->text);

	assert_true(d->at <= d->b->len);
	if (type & 0x80) {
		assert_true(ref < ARRAY_SIZE(d->refs));
		d->ref_cnt++;
	}
	if ((type & 0x7f) == '(' || (type & 0x7f) == '{')
		decode_sequence(d, type & 0x7f);
	else if ((type & 0x7f) == 'l')
		decode_long(d);
	else
		decode_scalar(d, type & 0x7f);
	if (type & 0x80)
		d->refs[ref] = strdup(d->text + from);
}

static void assert_marshal(const struct buf *b, const char *want)
{
	struct decoder d = { .b = b };
	uint32_t i;

	decode(&d);
	assert_int_equal(d.at, b->len);
	assert_string_equal(d.text, want);
	for (i = 0; i < d.ref_cnt; i++)
		free(d.refs[i]);
}

static void test_calls(void **state)
{
	check_calls(&sink_pstats);
}

static void test_numbers(void **state)
{
	struct export_test t = { .meta = { .interval_us = 500000 } };
	struct buf b;
	uint32_t f, g;

	export_open(&t, &sink_pstats);
	f = export_frame(&t, "/x/m.py", "f", 3);
	g = export_frame(&t, "/x/m.py", "g", 9);
	export_begin(&t);
	/* f calls itself twice, g is innermost. */
	export_event(&t, 7, 1, 4, 4, (uint32_t[]){ g, f, f, f });
	export_event(&t, 8, 1, 1, 1, &f);
	b = export_close(&t);
	assert_marshal(&b, "{('/x/m.py',9,'g'):(4,4,2,2,{('/x/m.py',3,'f'):(4,4,2,2)}),"
			   "('/x/m.py',3,'f'):(1,5,0.5,2.5,{('/x/m.py',3,'f'):(8,0,0,2)})}");
	buf_free(&b);
}

static void test_large_counts(void **state)
{
	struct export_test t = { .meta = { .unit = UNIT_NANOSECONDS } };
	struct buf b;
	uint32_t f, g;

	export_open(&t, &sink_pstats);
	f = export_frame(&t, "m", "f", 3);
	g = export_frame(&t, "m", "g", 3);
	export_begin(&t);
	export_event(&t, 7, 1, UINT64_MAX, 1, &f);
	export_event(&t, 7, 1, UINT64_MAX, 1, &f);
	export_event(&t, 7, 1, 3000000000, 1, &g);
	b = export_close(&t);
	assert_marshal(&b, "{('m',3,'f'):(18446744073709551615,18446744073709551615,"
			   "1.84467e+10,1.84467e+10,{}),"
			   "('m',3,'g'):(3000000000,3000000000,3,3,{})}");
	buf_free(&b);
}

static void test_hostile_names(void **state)
{
	struct export_test t = { 0 };
	struct decoder d = { 0 };
	struct buf b, text;
	uint32_t f, i;

	export_open(&t, &sink_pstats);
	f = export_frame(&t, HOSTILE, HOSTILE, 3);
	export_begin(&t);
	export_event(&t, 7, 1, 1, 1, &f);
	b = export_close(&t);
	d.b = &b;
	decode(&d);
	text = (struct buf){ .data = (uint8_t *)d.text, .len = strlen(d.text) };
	assert_printable(&text);
	for (i = 0; i < d.ref_cnt; i++)
		free(d.refs[i]);
	buf_free(&b);
}

static void test_nothing(void **state)
{
	struct export_test t = { 0 };
	struct buf b;

	export_open(&t, &sink_pstats);
	export_begin(&t);
	b = export_close(&t);
	assert_marshal(&b, "{}");
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls), cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_large_counts), cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
