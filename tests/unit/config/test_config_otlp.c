// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_config_otlp.c - several OTLP exporters: their values, what is printed, and reloads. */
#include "config_test.h"

#include "base/util.h"

static const char three[] =
	"exporters:\n"
	"  otlp/b.2: {endpoint: 'http://b', protocol: grpc, timeout: 3s}\n"
	"  otlp: {endpoint: 'http://a', headers: {h: a}}\n"
	"  otlp/off: {timeout: 1s}\n"
	"  otlp/c: {profiles_endpoint: 'http://c/d', headers: {h: c}, compression: none}\n";

static void test_three(void **state)
{
	struct agent_config *c = accepted(three);
	const struct agent_otlp *a = agent_config_otlp(c, 0), *b = agent_config_otlp(c, 1),
				*last = agent_config_otlp(c, 2);
	char *url;

	assert_string_equal(a->name, "otlp");
	assert_string_equal(a->http.headers.pairs[0].value, "a");
	assert_int_equal(a->http.timeout_ns, 10000000000);
	assert_string_equal(b->name, "otlp/b.2");
	assert_int_equal(b->http.timeout_ns, 3000000000);
	assert_int_equal(b->http.headers.cnt, 0);
	assert_int_equal(b->http.max_request_bytes, 1 << 20);
	url = agent_config_otlp_url(b);
	assert_non_null(strstr(url, "http://b/opentelemetry.proto.collector."));
	free(url);
	assert_string_equal(last->name, "otlp/c");
	assert_int_equal(last->compression, AGENT_COMPRESSION_NONE);
	assert_null(agent_config_otlp(c, 3));
	agent_config_free(c);
	/* Also without the first one. */
	c = accepted("exporters: {otlp/x: {endpoint: 'http://x'}}");
	assert_string_equal(agent_config_otlp(c, 0)->name, "otlp/x");
	assert_null(agent_config_otlp(c, 1));
	agent_config_free(c);
}

static void test_printed(void **state)
{
	struct agent_config *c = accepted("exporters: {otlp/x: {endpoint: 'http://x', "
					  "insecure: on}, otlp/y: {headers: {h: hidden}}}");
	char *text = printed(c);
	struct agent_changes changes;
	struct agent_config *again;

	assert_non_null(strstr(text, "\n  otlp/x:\n    endpoint: \"http://x\""));
	assert_null(strstr(text, "hidden"));
	memcpy(strstr(text, "<secret>"), "xxxxxxxx", 8);
	again = accepted(text);
	assert_int_equal(agent_config_diff(c, again, &changes), 0);
	assert_int_equal(changes.cnt, 1);	/* the secret */
	assert_true(agent_config_changed(&changes, "exporters.otlp.headers"));
	agent_config_free(c);
	agent_config_free(again);
	free(text);
}

static void test_reloads(void **state)
{
	static const char *const others[] = {
		"exporters: {otlp/x: {endpoint: 'http://y'}}",
		"exporters: {otlp/z: {endpoint: 'http://x'}}",
		"exporters: {otlp/x: {endpoint: 'http://x'}, otlp/y: {endpoint: 'http://x'}}",
		"exporters: {}",
	};
	struct agent_config *c = accepted("exporters: {otlp/x: {endpoint: 'http://x'}}"), *other;
	struct agent_changes changes;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(others); i++) {
		other = accepted(others[i]);
		assert_int_equal(agent_config_diff(c, other, &changes), 0);
		assert_true(agent_config_changed(&changes, "exporters.otlp"));
		assert_false(agent_config_changed(&changes, "exporters.pyroscope"));
		agent_config_free(other);
	}
	agent_config_free(c);
}

static void test_refused(void **state)
{
	assert_refused("exporters: {otlp/: {}}", "a.yaml:1:13: the name after otlp/ must have 1 to "
		       "42 letters, digits or . _ -");
	assert_refused("exporters: {otlp/a b: {}}", "a.yaml:1:13: the name after otlp/ must have 1 "
		       "to 42 letters, digits or . _ -");
	assert_refused("exporters: {otlp/a: {}, otlp/b: {}, otlp/c: {}, otlp/d: {}}",
		       "a.yaml:1:49: there are more than 4 OTLP exporters");
	assert_refused("exporters: {otlp/a: {}, otlp/a: {}}", "a.yaml:1:25: duplicate 'otlp/a': "
		       "first used in line 1");
	assert_refused("exporters: {otlp/a: {endpont: x}}", "a.yaml:1:22: unknown key "
		       "'exporters.otlp.endpont': did you mean exporters.otlp.endpoint?");
	assert_refused("exporters: {otlp/a: {key_file: /x}}", "a.yaml:1:32: "
		       "exporters.otlp.key_file requires exporters.otlp.cert_file");
	assert_refused("exporters: {pyroscope/a: {}}", "a.yaml:1:13: unknown key "
		       "'exporters.pyroscope/a': did you mean exporters.pyroscope?");
	assert_refused("otlp/a: {}", "a.yaml:1:1: unknown key 'otlp/a'; see: tachbpf agent --help");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_three),
		cmocka_unit_test(test_printed),
		cmocka_unit_test(test_reloads),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
