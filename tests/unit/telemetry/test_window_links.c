// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_window_links.c - the table of a window's spans and attributes; records of threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "bpf/abi.h"
#include "telemetry/window_links.h"

static struct thread_keys keys;
static struct raw_trace record;
static struct trace_context context;

static void add_key(const char *name)
{
	size_t last = keys.cnt ? keys.at[keys.cnt - 1] : 0;
	size_t at = keys.cnt ? last + strlen(keys.text + last) + 1 : 0;

	keys.at[keys.cnt++] = (uint16_t)at;
	strcpy(keys.text + at, name);
}

static void begin(uint32_t trace, uint32_t span)
{
	memset(&record, 0, sizeof(record));
	memcpy(record.trace_id, &trace, sizeof(trace));
	memcpy(record.span_id, &span, sizeof(span));
	record.valid = 1;
}

static void attribute(uint8_t key, const char *text)
{
	size_t at = record.attrs_bytes[0] | record.attrs_bytes[1] << 8, len = strlen(text);

	record.attrs[at] = key;
	record.attrs[at + 1] = (uint8_t)len;
	memcpy(record.attrs + at + 2, text, len);
	at += 2 + len;
	record.attrs_bytes[0] = (uint8_t)at;
	record.attrs_bytes[1] = (uint8_t)(at >> 8);
}

static uint32_t add(struct window_links *l)
{
	assert_true(trace_context_parse(&record, sizeof(record), &context));
	return window_links_add(l, &context, &keys, NULL);
}

static int setup(void **state)
{
	memset(&keys, 0, sizeof(keys));
	add_key("http.route");
	add_key("user");
	return 0;
}

static void test_links(void **state)
{
	struct window_links *l = window_links_new(true);
	struct otlp_args args = { 0 };
	uint32_t a, b, c;

	assert_int_equal(window_links_add(l, NULL, &keys, NULL), 0);
	begin(1, 1);
	attribute(0, "/a");
	attribute(1, "me\xff\n");
	a = add(l);
	assert_int_equal(a, 1);
	assert_int_equal(add(l), a);
	/* The same span with another attribute. */
	begin(1, 1);
	attribute(0, "/b");
	b = add(l);
	assert_int_equal(b, 2);
	/* Another span with an attribute that is known. */
	begin(1, 2);
	attribute(0, "/a");
	c = add(l);
	assert_int_equal(c, 3);
	window_links_table(l, &args);
	assert_int_equal(args.link_cnt, 3);
	assert_int_equal(args.links[0].same_as, 0);
	assert_int_equal(args.links[1].same_as, 1);
	assert_int_equal(args.links[2].same_as, 0);
	assert_memory_equal(args.links[2].trace_id, record.trace_id, 16);
	assert_memory_equal(args.links[2].span_id, record.span_id, 8);
	assert_int_equal(args.sample_attribute_cnt, 3);
	assert_int_equal(args.links[0].attribute_cnt, 2);
	assert_int_equal(args.links[2].attributes[0], args.links[0].attributes[0]);
	assert_string_equal(args.sample_attributes[0].key, "http.route");
	assert_string_equal(args.sample_attributes[0].text, "/a");
	assert_string_equal(args.sample_attributes[1].key, "user");
	assert_string_equal(args.sample_attributes[1].text, "me\\xff\\x0a");
	assert_ptr_equal(args.sample_attributes[2].key, args.sample_attributes[0].key);
	/* Empty, with another window. */
	window_links_reset(l);
	assert_int_equal(add(l), 1);
	window_links_table(l, &args);
	assert_int_equal(args.link_cnt, 1);
	assert_int_equal(args.sample_attribute_cnt, 1);
	window_links_free(l);
}

/* Attributes are a set: in another order the link is the same, and a key counts once. */
static void test_a_set_of_attributes(void **state)
{
	struct window_links *l = window_links_new(true);
	struct otlp_args args = { 0 };

	begin(1, 1);
	attribute(0, "/a");
	attribute(1, "me");
	assert_int_equal(add(l), 1);
	begin(1, 1);
	attribute(1, "me");
	attribute(0, "/a");
	attribute(1, "you");
	assert_int_equal(add(l), 1);
	window_links_table(l, &args);
	assert_int_equal(args.link_cnt, 1);
	assert_int_equal(args.links[0].attribute_cnt, 2);
	window_links_free(l);
}

/* The name of a thread is an attribute, with a trace or without, and there are not too many. */
static void test_thread_names(void **state)
{
	static const uint8_t no_ids[16];
	struct window_links *l = window_links_new(true);
	struct otlp_args args = { 0 };
	char name[32];
	uint32_t i;

	assert_int_equal(window_links_add(l, NULL, NULL, "pool\n1"), 1);
	assert_int_equal(window_links_add(l, NULL, NULL, "pool-2"), 2);
	assert_int_equal(window_links_add(l, NULL, NULL, "pool\n1"), 1);
	begin(1, 1);
	attribute(0, "/a");
	assert_true(trace_context_parse(&record, sizeof(record), &context));
	assert_int_equal(window_links_add(l, &context, &keys, "pool-2"), 3);
	window_links_table(l, &args);
	assert_memory_equal(args.links[0].trace_id, no_ids, 16);
	assert_int_equal(args.links[0].attribute_cnt, 1);
	assert_string_equal(args.sample_attributes[0].key, "thread.name");
	assert_string_equal(args.sample_attributes[0].text, "pool\\x0a1");
	assert_int_equal(args.links[2].attribute_cnt, 2);
	assert_memory_equal(args.links[2].trace_id, record.trace_id, 16);
	for (i = 2; i < WINDOW_THREAD_NAMES_MAX + 10; i++) {
		snprintf(name, sizeof(name), "t%u", i);
		assert_int_equal(!window_links_add(l, NULL, NULL, name),
				 i >= WINDOW_THREAD_NAMES_MAX);
	}
	assert_int_equal(window_links_beyond(l), 10);
	window_links_reset(l);
	assert_int_equal(window_links_add(l, NULL, NULL, name), 1);
	window_links_free(l);
}

/* Without names there are no attributes, and without the wish for them. */
static void test_no_attributes(void **state)
{
	struct window_links *l = window_links_new(false), *with = window_links_new(true);
	struct otlp_args args = { 0 };

	begin(1, 1);
	attribute(0, "/a");
	assert_int_equal(add(l), 1);
	begin(1, 1);
	attribute(0, "/b");
	assert_int_equal(add(l), 1);
	window_links_table(l, &args);
	assert_int_equal(args.links[0].attribute_cnt, 0);
	assert_int_equal(window_links_add(with, &context, NULL, NULL), 1);
	begin(1, 1);
	attribute(77, "a key that nobody has announced");
	assert_int_equal(add(with), 1);
	window_links_table(with, &args);
	assert_int_equal(args.sample_attribute_cnt, 0);
	window_links_free(l);
	window_links_free(with);
}

static void test_bounds(void **state)
{
	struct window_links *l = window_links_new(true);
	struct otlp_args args = { 0 };
	char text[256];
	uint32_t i;

	for (i = 0; i < WINDOW_LINKS_MAX + 10; i++) {
		begin(i + 1, 1);
		snprintf(text, sizeof(text), "%0200u", i);
		attribute(0, text);
		assert_int_equal(add(l), i < WINDOW_LINKS_MAX ? i + 1 : 0);
	}
	assert_int_equal(window_links_beyond(l), 10);
	window_links_table(l, &args);
	assert_int_equal(args.link_cnt, WINDOW_LINKS_MAX);
	/* 201 bytes each, and the key. */
	assert_int_equal(args.sample_attribute_cnt, (WINDOW_ATTRIBUTE_BYTES_MAX - 11) / 201);
	window_links_reset(l);
	/* Many attributes of one link. */
	begin(1, 1);
	for (i = 2; i < WINDOW_LINK_ATTRIBUTES_MAX + 4; i++) {
		snprintf(text, sizeof(text), "key-%u", i);
		add_key(text);
	}
	for (i = 0; i < WINDOW_LINK_ATTRIBUTES_MAX + 4; i++)
		attribute((uint8_t)i, "x");
	i = add(l);
	window_links_table(l, &args);
	assert_int_equal(i, 1);
	assert_int_equal(args.links[0].attribute_cnt, WINDOW_LINK_ATTRIBUTES_MAX);
	window_links_free(l);
}

static void test_records(void **state)
{
	struct trace_attribute a;
	size_t len, pos, cnt;

	begin(0, 0);
	assert_false(trace_context_parse(&record, sizeof(record), &context));
	begin(0, 1);
	assert_true(trace_context_parse(&record, RAW_TRACE_HEAD, &context));
	assert_false(trace_context_parse(&record, RAW_TRACE_HEAD - 1, &context));
	record.valid = 2;
	assert_false(trace_context_parse(&record, sizeof(record), &context));
	/* Cut anywhere: whole attributes only. */
	begin(1, 1);
	attribute(0, "abc");
	attribute(1, "");
	attribute(9, "defg");
	for (len = RAW_TRACE_HEAD; len <= RAW_TRACE_HEAD + 13; len++) {
		assert_true(trace_context_parse(&record, len, &context));
		for (pos = cnt = 0; trace_attribute_next(&context, &pos, &a); cnt++)
			assert_true(pos <= len - RAW_TRACE_HEAD);
		assert_int_equal(cnt, len < RAW_TRACE_HEAD + 5 ? 0 : len < RAW_TRACE_HEAD + 7 ? 1 :
				      len < RAW_TRACE_HEAD + 13 ? 2 : 3);
	}
	/* More than it can have. */
	memset(record.attrs_bytes, 0xff, 2);
	assert_true(trace_context_parse(&record, sizeof(record), &context));
	assert_int_equal(context.attrs_bytes, TRACE_ATTRS_BYTES);
	for (pos = 0; trace_attribute_next(&context, &pos, &a); )
		assert_true(pos <= TRACE_ATTRS_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_links, setup),
		cmocka_unit_test_setup(test_a_set_of_attributes, setup),
		cmocka_unit_test_setup(test_thread_names, setup),
		cmocka_unit_test_setup(test_no_attributes, setup),
		cmocka_unit_test_setup(test_bounds, setup),
		cmocka_unit_test_setup(test_records, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
