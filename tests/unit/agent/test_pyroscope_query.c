// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_pyroscope_query.c - the URL's query for Pyroscope: labels, hostile names, no room. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "agent/pyroscope_query.h"

#define REST "&from=1700000000&until=1700000015&format=pprof&spyName=tachbpf"
#define BEGIN_NS 1700000000999999999ull
#define END_NS 1700000015000000000ull

static char out[SPOOL_QUERY_BYTES];
static struct service service;
static struct attrs labels;
static struct service_config config;

static struct service *service_of(const char *name)
{
	attrs_clear(&service.resource);
	assert_true(attrs_put_text(&service.resource, "service.name", name));
	return &service;
}

/* pairs: labels, with their number. */
static const char *query(const struct service *s, const char *const (*pairs)[2], size_t cnt)
{
	size_t i;

	attrs_clear(&labels);
	for (i = 0; i < cnt; i++)
		attrs_put(&labels, pairs[i][0], strlen(pairs[i][0]), pairs[i][1],
			  strlen(pairs[i][1]));
	config.labels = &labels;
	memset(out, 'x', sizeof(out));
	pyroscope_query(s, &config, BEGIN_NS, END_NS, out);
	return out;
}

static void test_names(void **state)
{
	static const struct {
		const char *name, *encoded;
	} cases[] = {
		{ "web", "web" }, { "a-b_c.d~e", "a-b_c.d~e" }, { "a b/c", "a%20b%2Fc" },
		{ "a&name=b#c%41+", "a%26name_b%23c%2541%2B" },
		/* Pyroscope would read labels in it. */
		{ "web{pod=x,y}", "web_pod_x_y_" }, { "\xc3\xa9", "%C3%A9" },
	};
	char expected[256];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(expected, sizeof(expected), "name=%s" REST, cases[i].encoded);
		assert_string_equal(query(service_of(cases[i].name), NULL, 0), expected);
	}
	assert_string_equal(query(NULL, NULL, 0), "name=other" REST);
}

static void test_labels(void **state)
{
	static const char *const pairs[][2] = { { "env", "p,r}" }, { "host.name", "mine" },
						{ "1st-key", "x" }, { "team", "a" },
						{ "number", "n" } };
	struct service *s = service_of("web");

	assert_true(attrs_put_text(&s->resource, "host.name", "h"));
	assert_true(attrs_put_text(&s->resource, "service.version", "1.2"));
	/* Each process has another one: no label. */
	assert_true(attrs_put_text(&s->resource, "process.executable.path", "/x"));
	assert_true(attrs_put_text(&s->resource, "team", "b"));
	assert_true(attrs_put_number(&s->resource, "number", 6, 7));
	assert_string_equal(query(s, pairs, 5),
			    "name=web%7Bservice_version%3D1.2%2Chost_name%3Dmine%2C"
			    "env%3Dp_r_%2C1st_key%3Dx%2Cteam%3Da%2Cnumber%3Dn%7D" REST);
	/* What a process says: no label vanishes. */
	config.trust_processes = true;
	assert_string_equal(query(s, pairs, 5),
			    "name=web%7Bservice_version%3D1.2%2Chost_name%3Dh%2C"
			    "env%3Dp_r_%2C1st_key%3Dx%2Cteam%3Db%2Cnumber%3Dn%7D" REST);
	config.trust_processes = false;
	assert_string_equal(query(NULL, pairs, 2),
			    "name=other%7Bhost_name%3Dmine%2Cenv%3Dp_r_%7D" REST);
}

/* Whatever the labels' lengths are: a "}" for each "{", the rest complete, and printable. */
static void test_room(void **state)
{
	static char value[ATTR_VALUE_BYTES + 1024], name[256];
	const char *const pairs[][2] = { { "b", "short" }, { "a", value }, { "c", value } };
	size_t len, before = 0;

	memset(name, '{', sizeof(name) - 1);
	for (len = 0; len < sizeof(value) - 1; len++) {
		const char *brace, *end;

		memset(value, len % 2 ? '/' : 'v', len);
		value[len] = '\0';
		query(service_of(len % 3 ? name : "web"), pairs, 3);
		assert_true(strlen(out) < SPOOL_QUERY_BYTES);
		end = strstr(out, REST);
		assert_non_null(end);
		assert_string_equal(end, REST);
		brace = strstr(out, "%7B");
		assert_non_null(brace);
		assert_memory_equal(brace, "%7Bb%3Dshort", 12);
		assert_memory_equal(end - 3, "%7D", 3);
		/* No label is cut. */
		before += !strstr(out, "%2Ca%3D");
		end -= 3 + strlen(value);
		if (end > brace && len && len % 2 == 0 && end[0] == 'v')
			assert_memory_equal(end - 3, "%3D", 3);
	}
	/* Some were too long. */
	assert_true(before > 0 && before < len);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
