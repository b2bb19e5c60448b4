// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_joined.c - --by container: profiles of a container as one, in formats that know none. */
#include "formats/formats.h"
#include "model/joined.h"
#include "tests/unit/export_test.h"

/* One profile of a container (NULL: of none) with a frame of its own table. */
static void profile(struct export_test *t, uint32_t tgid, const char *container, const char *func,
		    uint64_t weight)
{
	struct profile_stats stats = { .known = true, .duration_s = tgid, .lost_known = true,
				       .lost_cnt = 1 };
	struct intern *mine = intern_new(), *others = t->in;
	uint32_t f;

	assert_non_null(mine);
	t->in = mine;
	/* The same number is another frame in each of them. */
	f = export_frame(t, "/x/m.py", func, 3);
	t->meta = (struct profile_meta){ .tgid = tgid, .comm = "app", .container = container,
					 .python_major = 3, .python_minor = 11 };
	export_begin(t);
	export_event(t, tgid, 1, weight, 1, &f);
	assert_int_equal(t->s->ops->end(t->s, &stats), 0);
	intern_free(mine);
	t->in = others;
}

static struct buf three(struct export_test *t, const struct sink_ops *ops)
{
	t->args.many = true;
	t->args.group = GROUP_CONTAINER;
	export_open(t, ops);
	profile(t, 11, NULL, "host", 1);
	profile(t, 12, "web", "f", 2);
	profile(t, 13, "web", "f", 3);
	profile(t, 14, "web", "g", 4);
	profile(t, 15, "x;y", "f", 5);
	assert_int_equal(t->s->ops->close(t->s), 0);
	intern_free(t->in);
	return file_bytes(t->path);
}

static void test_collapsed(void **state)
{
	struct export_test t = { 0 };
	struct buf b = three(&t, &sink_collapsed);

	assert_string_equal((char *)b.data, "container:(none);m.py:host:3 1\n"
					    "container:web;m.py:f:3 5\n"
					    "container:web;m.py:g:3 4\n"
					    "container:x:y;m.py:f:3 5\n");
	buf_free(&b);
}

static void test_csv(void **state)
{
	struct export_test t = { 0 };
	struct buf b = three(&t, &sink_csv);

	assert_non_null(strstr((char *)b.data, "\n,,web,,none,samples,5,m.py:f:3\n"));
	assert_non_null(strstr((char *)b.data, "\n,,(none),,none,samples,1,m.py:host:3\n"));
	buf_free(&b);
}

static void test_speedscope(void **state)
{
	static const char *const names[] = { "container (none)", "container web", "container x;y" };
	struct export_test t = { 0 };
	struct buf b = three(&t, &sink_speedscope);
	struct json_doc *o = parse_json(&b);
	char path[32];
	size_t i;

	assert_int_equal(json_length(o, "profiles"), ARRAY_SIZE(names));
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "profiles.%zu.name", i);
		assert_string_equal(json_chars(o, path), names[i]);
	}
	/* What was lost of the three adds up. */
	assert_non_null(strstr((char *)b.data, "\"lost\":3"));
	free(o);
	buf_free(&b);
}

/* Bytes and samples of a container do not add up: two profiles. */
static void test_units(void **state)
{
	struct export_test t = { .args = { .many = true, .group = GROUP_CONTAINER } };
	struct buf b;
	uint32_t f;

	export_open(&t, &sink_speedscope);
	profile(&t, 12, "web", "f", 2);
	f = export_frame(&t, "/x/m.py", "f", 3);
	t.meta.unit = UNIT_BYTES;
	export_begin(&t);
	export_event(&t, 12, 1, 99, 1, &f);
	assert_int_equal(t.s->ops->end(t.s, NULL), 0);
	assert_int_equal(t.s->ops->close(t.s), 0);
	intern_free(t.in);
	b = file_bytes(t.path);
	assert_non_null(strstr((char *)b.data, "\"unit\":\"bytes\""));
	assert_non_null(strstr((char *)b.data, "\"unit\":\"microseconds\""));
	buf_free(&b);
}

static void test_order_of_calls(void **state)
{
	struct export_test t = { .args = { .group = GROUP_CONTAINER },
				 .meta = { .tgid = 1, .container = HOSTILE } };
	struct event ev = { .weight = 1 };

	export_open(&t, &sink_collapsed);
	assert_int_equal(t.s->ops->event(t.s, &ev), -EINVAL);
	assert_int_equal(t.s->ops->end(t.s, NULL), -EINVAL);
	export_begin(&t);
	assert_int_equal(t.s->ops->begin(t.s, &t.meta, intern_tables(t.in)), -EINVAL);
	t.s->ops->close(t.s);
	intern_free(t.in);
	close(t.args.fd);
}

/* The names of processes say where they are, in formats that show a name. */
static void test_labels(void **state)
{
	struct export_test t = { .args = { .many = true }, .meta = { .tgid = 12, .comm = "app",
				 .container = "we\nb", .image = HOSTILE } };
	struct buf b;
	uint32_t f;

	export_open(&t, &sink_collapsed);
	f = export_frame(&t, "/x/m.py", "f", 3);
	export_begin(&t);
	export_event(&t, 7, 1, 1, 1, &f);
	b = export_close(&t);
	assert_string_equal((char *)b.data, "process:12 app @we\\x0ab;tid:7;m.py:f:3 1\n");
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_collapsed),
		cmocka_unit_test(test_csv),
		cmocka_unit_test(test_speedscope),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_order_of_calls),
		cmocka_unit_test(test_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
