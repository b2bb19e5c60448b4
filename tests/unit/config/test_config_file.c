// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_config_file.c - the agent's YAML: every type of value, good and bad, and what is refused. */
#include "config_test.h"

#include <sys/stat.h>

#include "base/util.h"

static void test_nothing_is_the_defaults(void **state)
{
	static const char *const empty[] = { "", "# nothing\n", "---\n", "~\n", "{}\n",
					     "exporters:\n  otlp:\n", "selection: {}\n" };
	struct agent_config *c;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(empty); i++) {
		c = accepted(empty[i]);
		assert_int_equal(c->rate_hz, 19);
		assert_int_equal(c->window_ns, 15000000000);
		assert_int_equal(c->modes, AGENT_CPU);
		assert_true(c->probability == 1);
		assert_false(c->trace_context);
		assert_true(c->native_threads);
		assert_int_equal(c->native, AGENT_NATIVE_OFF);
		assert_int_equal(c->debuginfod.cnt, 0);
		assert_false(c->privacy.command_line);
		assert_int_equal(c->privacy.paths, AGENT_PATHS_FULL);
		assert_null(agent_config_otlp(c, 0));
		assert_string_equal(c->exporters.pyroscope.url, "");
		assert_int_equal(c->exporters.otlp.compression, AGENT_COMPRESSION_GZIP);
		assert_string_equal(c->spool.dir, "/var/lib/tachbpf/spool");
		assert_int_equal(c->spool.size_bytes, 256 << 20);
		assert_true(c->budget.cpu_percent == 0.5);
		assert_string_equal(c->metrics.listen, "127.0.0.1:9419");
		assert_int_equal(c->metrics.services, 100);
		assert_string_equal(c->ctl.socket, "/run/tachbpf/agent.sock");
		assert_int_equal(c->log_level, LOG_NORMAL);
		assert_int_equal(c->labels.cnt + c->service_rules.cnt, 0);
		agent_config_free(c);
	}
}

static void test_all_kinds_of_values(void **state)
{
	struct agent_config *c = accepted(
		"rate: 99\nwindow: 1.5m\nmodes: [cpu, gil]\nprobability: 0.1\ntrace_context: yes\n"
		"event: cpu-clock\nlog_level: error\nnative: on\n"
		"labels:\n  team: web\n  port: 8080\n  'a/c': \"\"\n"
		"privacy: {command_line: no, paths: base}\n"
		"spool:\n  size: 1GiB\n  dir: \"/srv/a b\"\n"
		"budget: {cpu: 1.25%, bytes_per_minute: 512KiB}\n"
		"exporters:\n  otlp:\n    endpoint: https://collector:4318/base/\n"
		"    headers: {X-Scope-OrgID: tenant, authorization: 'Basic eA=='}\n"
		"    timeout: 500ms\n");
	char *url = agent_config_otlp_url(&c->exporters.otlp);

	assert_int_equal(c->rate_hz, 99);
	assert_int_equal(c->window_ns, 90000000000);
	assert_int_equal(c->modes, AGENT_CPU | AGENT_GIL);
	assert_true(c->probability == 0.1 && c->trace_context);
	assert_int_equal(c->event, AGENT_EVENT_CLOCK);
	assert_int_equal(c->native, AGENT_NATIVE_ON);
	assert_int_equal(c->log_level, LOG_QUIET);
	assert_int_equal(c->labels.cnt, 3);
	assert_string_equal(c->labels.pairs[1].name, "port");
	assert_string_equal(c->labels.pairs[1].value, "8080");
	assert_string_equal(c->labels.pairs[2].value, "");
	assert_false(c->privacy.command_line);
	assert_int_equal(c->privacy.paths, AGENT_PATHS_BASE);
	assert_int_equal(c->spool.size_bytes, 1 << 30);
	assert_string_equal(c->spool.dir, "/srv/a b");
	assert_true(c->budget.cpu_percent == 1.25);
	assert_int_equal(c->budget.bytes_per_minute, 512 << 10);
	assert_string_equal(url, "https://collector:4318/base/v1development/profiles");
	assert_string_equal(c->exporters.otlp.http.headers.pairs[1].value, "Basic eA==");
	assert_int_equal(c->exporters.otlp.http.timeout_ns, 500000000);
	assert_int_equal(c->exporters.pyroscope.http.timeout_ns, 10000000000);
	free(url);
	agent_config_free(c);
}

static void test_lists(void **state)
{
	struct agent_config *c = accepted(
		"selection:\n  container: [checkout, cart]\n  comm: 'gunicorn*'\n  uid: []\n"
		"  min_age: 5\n  exclude:\n    unit: [cron]\nmodes: offcpu,exception\n");
	struct proc_filter filter = { .rules = NULL };

	assert_int_equal(c->select[0][FILTER_CONTAINER].cnt, 2);
	assert_string_equal(c->select[0][FILTER_CONTAINER].items[1], "cart");
	assert_string_equal(c->select[0][FILTER_COMM].items[0], "gunicorn*");
	assert_string_equal(c->select[1][FILTER_UNIT].items[0], "cron");
	assert_int_equal(c->modes, AGENT_OFFCPU | AGENT_EXCEPTION);
	assert_int_equal(agent_config_selection(c, &filter), 0);
	assert_int_equal(filter.cnt, 4);
	assert_true(filter.min_age_s == 5);
	assert_string_equal(filter.rules[0].text, "checkout");
	assert_true(filter.rules[2].exclude && filter.rules[2].kind == FILTER_UNIT);
	assert_string_equal(filter.rules[2].pattern, "cron.service");
	proc_filter_free(&filter);
	agent_config_free(c);
	assert_refused("selection:\n  uid: [0, no-such-user-here]\n",
		       "a.yaml:2:12: invalid selection.uid 'no-such-user-here': no such user: "
		       "expected a name or a number (getent passwd lists all)");
	assert_refused("selection: {exclude: {cgroup: a/../b}}",
		       "a.yaml:1:31: invalid selection.exclude.cgroup 'a/../b': expected a path "
		       "without . and ..");
	assert_refused("selection: {container: [[a]]}",
		       "a.yaml:1:25: selection.container is one value, not a list");
	assert_refused("modes: []", "a.yaml:1:8: modes is empty: expected at least "
				    "one, such as cpu");
}

static void test_service_rules(void **state)
{
	struct agent_config *c = accepted(
		"service_rules:\n- match: {exe: '*/gunicorn', unit: web.service}\n  name: web\n"
		"- name: '{container}-{comm}'\n  match:\n    container: 'shop-*'\n");
	const struct service_rule *rule = c->service_rules.rules;

	assert_int_equal(c->service_rules.cnt, 2);
	assert_string_equal(rule[0].glob[FACT_EXE], "*/gunicorn");
	assert_string_equal(rule[0].glob[FACT_UNIT], "web.service");
	assert_null(rule[0].glob[FACT_POD]);
	assert_string_equal(rule[0].name, "web");
	assert_string_equal(rule[1].name, "{container}-{comm}");
	agent_config_free(c);
	assert_refused("service_rules: {a: b}", "a.yaml:1:16: service_rules must be a list of "
		       "rules: - match: {exe: GLOB} and name: NAME");
	assert_refused("service_rules: [{name: a}]", "a.yaml:1:17: invalid service_rules: a rule "
		       "must have a name, and a pattern for its processes");
	assert_refused("service_rules: [a]", "a.yaml:1:17: invalid service_rules: a rule must have "
		       "a name, and a pattern for its processes");
	assert_refused("service_rules: [{match: {exe: a}, name: 'x{usr}'}]",
		       "a.yaml:1:17: invalid service_rules: the name 'x{usr}' has 'usr' at a "
		       "brace; between braces there can be " SERVICE_FACT_WORDS);
	assert_refused("service_rules: [{match: {exec: a}, name: x}]",
		       "a.yaml:1:26: invalid service_rules 'a': a rule must have a name, and "
		       "compare "
		       SERVICE_FACT_WORDS);
	assert_refused("service_rules: [{exe: a, name: x}]",
		       "a.yaml:1:18: a rule must have a name, and match: a map with globs for "
		       SERVICE_FACT_WORDS);
}

static void test_unknown_keys(void **state)
{
	assert_refused("rate: 19\nwindw: 15s\n",
		       "a.yaml:2:1: unknown key 'windw': did you mean window?");
	assert_refused("exporters:\n  otlp:\n    endpont: http://x\n",
		       "a.yaml:3:5: unknown key 'exporters.otlp.endpont': did you mean "
		       "exporters.otlp.endpoint?");
	assert_refused("exporter: {}\n", "a.yaml:1:1: unknown key 'exporter': did you mean "
		       "exporters?");
	assert_refused("pyroscope-url: http://x\n", "a.yaml:1:1: unknown key 'pyroscope-url': did "
		       "you mean exporters.pyroscope.url?");
	assert_refused("exporters: {rotate_time: 1h}\n", "a.yaml:1:13: unknown key "
		       "'exporters.rotate_time': did you mean exporters.tach.rotate_time?");
	assert_refused("frobnicate: 1\n", "a.yaml:1:1: unknown key 'frobnicate'; see: tachbpf "
		       "agent --help");
	assert_refused("exporters.otlp.endpoint.x: 1\n", "a.yaml:1:1: unknown key "
		       "'exporters.otlp.endpoint.x'; see: tachbpf agent --help");
	assert_refused("'a\\e\tb': 1\n", "a.yaml:1:1: unknown key 'a\\e\\x09b'; see: tachbpf agent "
		       "--help");
}

static void test_bad_values(void **state)
{
	static const struct {
		const char *text, *error;
	} bad[] = {
		{ "rate: 0", "a.yaml:1:7: invalid rate '0': expected 1 to 50000" },
		{ "rate: fast", "a.yaml:1:7: invalid rate 'fast': expected 1 to 50000" },
		{ "rate: 1.5", "a.yaml:1:7: invalid rate '1.5': expected 1 to 50000" },
		{ "rate: 1e9", "a.yaml:1:7: invalid rate '1e9': expected 1 to 50000" },
		{ "rate: -1", "a.yaml:1:7: invalid rate '-1': expected 1 to 50000" },
		{ "rate:", "a.yaml:1:6: rate has no value: add one, or leave the line out" },
		{ "rate: [1]", "a.yaml:1:7: rate is one value, not a list" },
		{ "rate: {a: 1}", "a.yaml:1:7: rate is one value, not a map" },
		{ "window: 100ms", "a.yaml:1:9: invalid window '100ms': expected 1s to 1h" },
		{ "window: 2 weeks", "a.yaml:1:9: invalid window '2 weeks': expected 1s to 1h" },
		{ "probability: 0", "a.yaml:1:14: invalid probability '0': expected 0.0001 to 1" },
		{ "modes: [cpu, wall]", "a.yaml:1:14: invalid modes 'wall': expected cpu, offcpu, "
		  "gil, exception, memory or heap" },
		{ "trace_context: maybe", "a.yaml:1:16: invalid trace_context 'maybe': expected "
		  "true or false" },
		{ "spool: {size: 1PiB}", "a.yaml:1:15: invalid spool.size '1PiB': expected 1MiB to "
					 "1TiB" },
		{ "spool: {dir: ''}", "a.yaml:1:14: invalid spool.dir '': it must not be empty" },
		{ "spool: x", "a.yaml:1:8: spool must be a map of keys" },
		{ "budget: {cpu: 101%}", "a.yaml:1:15: invalid budget.cpu '101%': expected 0 to "
					 "100%" },
		{ "metrics: {listen: 9419}", "a.yaml:1:19: invalid metrics.listen '9419': expected "
		  "ADDRESS:PORT, [IPV6]:PORT or :PORT" },
		{ "metrics: {listen: 'a:70000'}", "a.yaml:1:19: invalid metrics.listen 'a:70000': "
		  "expected ADDRESS:PORT, [IPV6]:PORT or :PORT" },
		{ "labels: [a]", "a.yaml:1:9: labels must be a map of names to values" },
		{ "labels: {service.name: x}", "a.yaml:1:10: invalid labels 'service.name': every "
		  "service has its own: see service_rules" },
		{ "labels: {a=b: x}", "a.yaml:1:10: invalid labels 'a=b': a label name may only "
		  "contain letters, digits and . _ - /" },
		{ "labels: {a: }", "a.yaml:1:13: a has no value: add one, or leave the line out" },
		{ "exporters: {otlp: {endpoint: 'collector:4318'}}", "a.yaml:1:30: invalid "
		  "exporters.otlp.endpoint 'collector:4318': expected http://HOST:PORT or "
		  "https://HOST:PORT, optionally with a path" },
		{ "exporters: {pyroscope: {headers: {'a b': x}}}", "a.yaml:1:35: invalid "
		  "exporters.pyroscope.headers: this is not a valid HTTP header name" },
		{ "exporters: {otlp: {headers: {a: <secret>}}}", "a.yaml:1:30: invalid "
		  "exporters.otlp.headers: --print-config shows <secret> instead of the value" },
		{ "exporters: {tach: {dir: \"a\\nb\"}}", "a.yaml:1:25: invalid exporters.tach.dir "
		  "'a\\x0ab': it contains characters that are not printable UTF-8" },
		{ "exporters: {otlp: {cert_file: /c}}", "a.yaml:1:31: exporters.otlp.cert_file "
		  "requires exporters.otlp.key_file" },
		{ "modes: [cpu, memory]\nprobability: 0.5",
		  "a.yaml:2:14: probability cannot be used with mode memory: held memory is only "
		  "known if every window is recorded; leave memory out of modes" },
		{ "memory: {every: 4KiB}", "a.yaml:1:17: invalid memory.every '4KiB': expected "
		  "64KiB to 1GiB" },
		{ "memory: {interval: 100ms}", "a.yaml:1:20: invalid memory.interval '100ms': "
		  "expected 1s to 1h" },
		{ "heap: {every: 100ms}", "a.yaml:1:15: invalid heap.every '100ms': expected 1s to "
		  "1d" },
		{ "heap: {cpu: 0}", "a.yaml:1:13: invalid heap.cpu '0': expected 0.01 to 100%" },
		{ "heap: {processes: 65}", "a.yaml:1:19: invalid heap.processes '65': expected 1 "
		  "to 64" },
		{ "budget: {min_rate: 20}", "a.yaml:1:20: budget.min_rate is higher than rate" },
		{ "retry: {initial: 2m}", "a.yaml:1:18: retry.initial is longer than retry.max" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_refused(bad[i].text, bad[i].error);
	/* A password is not shown. */
	assert_refused("exporters: {otlp: {proxy: 'ftp://me:pw@x'}}", "a.yaml:1:27: invalid "
		       "exporters.otlp.proxy: expected http, https, socks5 or socks5h: "
		       "http://HOST:PORT");
	assert_refused("exporters: {pyroscope: {url: 'http://me:pw@x'}}", "a.yaml:1:30: invalid "
		       "exporters.pyroscope.url: leave out the user and the password: use "
		       "basic_auth_file for them");
}

static void test_addresses_and_urls(void **state)
{
	static const char *const good[] = {
		"metrics: {listen: ''}", "metrics: {listen: ':9419'}",
		"metrics: {listen: '[::1]:0'}", "metrics: {listen: 'localhost:1'}",
		"exporters: {otlp: {endpoint: 'HTTP://[::1]:4318'}}",
		"exporters: {pyroscope: {url: https://profiles.example/x@y/}}",
		"exporters: {otlp: {proxy: socks5h://me:pw@proxy:1080}}",
	};
	static const char *const bad[] = {
		"metrics: {listen: '[::1:0'}", "metrics: {listen: 'host:1'}",
		"metrics: {listen: '1.2.3:1'}", "metrics: {listen: '::1:1'}",
		"exporters: {otlp: {endpoint: 'http://'}}",
		"exporters: {otlp: {endpoint: 'http:///x'}}",
		"exporters: {otlp: {endpoint: 'http://a?b'}}",
		"exporters: {otlp: {endpoint: 'http://a b'}}",
		"exporters: {otlp: {endpoint: 'ftp://a'}}",
		"exporters: {otlp: {endpoint: 'http://me:pw@a'}}",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(good); i++)
		agent_config_free(accepted(good[i]));
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_null(parse(bad[i]));
}

static void test_debuginfod(void **state)
{
	static char text[8192];
	struct agent_config *c = accepted("native: lines\ndebuginfod: [https://a, "
					  "'http://b:8002/c']\n");
	char *p = text + sprintf(text, "native: on\ndebuginfod: [");
	size_t i;

	assert_int_equal(c->debuginfod.cnt, 2);
	assert_string_equal(c->debuginfod.items[1], "http://b:8002/c");
	agent_config_free(c);
	agent_config_free(accepted("debuginfod: []"));
	assert_refused("debuginfod: https://a", "a.yaml:1:13: debuginfod requires native: set "
		       "native to on, full or lines");
	assert_refused("native: on\ndebuginfod: [https://a, 'https://b https://c']",
		       "a.yaml:2:25: invalid debuginfod 'https://b https://c': expected "
		       "http://HOST:PORT or https://HOST:PORT, optionally with a path");
	assert_refused("native: on\ndebuginfod: file:///srv", "a.yaml:2:13: invalid debuginfod "
		       "'file:///srv': expected http://HOST:PORT or https://HOST:PORT, optionally "
		       "with a path");
	assert_refused("native: on\ndebuginfod: https://me:pw@a", "a.yaml:2:13: invalid "
		       "debuginfod: leave out the user and the password: debuginfod servers are "
		       "asked without");
	for (i = 0; i < 32; i++)
		p += sprintf(p, "'http://%0120zu',", i);
	sprintf(p, "]");
	agent_config_free(accepted(text));
	sprintf(p, "'http://a']");
	assert_null(parse(text));
	assert_non_null(strstr(messages, "debuginfod is longer than 4096 bytes in all: name fewer "
					 "servers"));
}

static void test_what_yaml_may_not_have(void **state)
{
	assert_refused("rate: 19\nrate: 99\n", "a.yaml:2:1: duplicate 'rate': first "
					       "used in line 1");
	assert_refused("labels: {a: 1, b: 2, a: 3}", "a.yaml:1:22: duplicate 'a': first used in "
		       "line 1");
	assert_refused("labels: &x {a: 1}", "a.yaml:1:9: anchors (&NAME) are not allowed");
	assert_refused("labels: *x", "a.yaml:1:9: aliases (*NAME) are not allowed: write the value "
		       "again, or put the text in quotes");
	assert_refused("rate: !!int 19", "a.yaml:1:7: tags (!NAME) are not allowed: put the text "
		       "in quotes");
	assert_refused("rate: 19\n---\nrate: 99\n", "a.yaml:2:1: a second document begins here: "
		       "only one is allowed");
	assert_refused("[a]: b", "a.yaml:1:1: a name must be a text, not a list or a map");
	assert_refused("- a", "a.yaml:1:1: the file must be a map of keys");
	assert_refused("just text", "a.yaml:1:1: the file must be a map of keys");
	assert_null(parse("rate: [1\n"));
	assert_non_null(strstr(messages, "a.yaml:2:1: this is not YAML: "));
	assert_null(parse("rate:\t\x01 19\n"));
	assert_null(parse("rate: \xff\n"));
	assert_refused("spool: {dir: \"a\\0b\"}", "a.yaml:1:14: this text contains a "
						  "NUL character");
}

static void test_bounds(void **state)
{
	static char text[(1 << 20) + 2];
	char *p = text;
	size_t i;

	/* Depth. */
	memset(text, 0, sizeof(text));
	memset(text, '[', 1000);
	assert_refused(text, "a.yaml:1:17: lists and maps are nested more than 16 deep");
	/* Members of a map, and of a list. */
	p += sprintf(p, "labels:\n");
	for (i = 0; i < 1025; i++)
		p += sprintf(p, " a%zu: b\n", i);
	assert_refused(text, "a.yaml:1026:2: a list or map has more than 1024 members");
	p = text + sprintf(text, "selection: {comm: [");
	for (i = 0; i < 1025; i++)
		p += sprintf(p, "a,");
	sprintf(p, "]}");
	assert_null(parse(text));
	assert_non_null(strstr(messages, "a list or map has more than 1024 members"));
	/* Of a value, and of a name. */
	p = text + sprintf(text, "spool: {dir: ");
	memset(p, 'a', 5000);
	strcpy(p + 5000, "}");
	assert_null(parse(text));
	assert_non_null(strstr(messages, "it is longer than 4096 bytes"));
	p = text + sprintf(text, "labels: {");
	memset(p, 'a', 300);
	strcpy(p + 300, ": b}");
	assert_null(parse(text));
	assert_non_null(strstr(messages, "a name must have 1 to 256 bytes"));
	/* Of the whole. */
	memset(text, '#', sizeof(text) - 1);
	assert_refused(text, "a.yaml: it is larger than 1 MiB");
}

static void test_all_errors_are_said_but_not_too_many(void **state)
{
	char text[4096], *p = text;
	size_t i, lines = 0;

	assert_null(parse("rate: 0\nwindow: x\nfoo: 1\nprobability: 0.5\n"));
	assert_non_null(strstr(messages, "a.yaml:1:7: invalid rate"));
	assert_non_null(strstr(messages, "a.yaml:2:9: invalid window"));
	assert_non_null(strstr(messages, "a.yaml:3:1: unknown key 'foo'"));
	for (i = 0; i < 100; i++)
		p += sprintf(p, "unknown%zu: 1\n", i);
	assert_null(parse(text));
	for (p = messages; (p = strchr(p, '\n')); p++)
		lines++;
	assert_int_equal(lines, 21);
	assert_non_null(strstr(messages, "too many errors: the rest is not shown\n"));
}

static void test_files(void **state)
{
	const char *path = file_with("rate: 7\n");
	char want[256];
	struct run r;

	RUN(&r, "--config", path);
	assert_int_equal(r.status, AGENT_GO);
	assert_int_equal(r.config->rate_hz, 7);
	assert_string_equal(r.config->path, path);
	run_end(&r);
	assert_int_equal(chmod(path, 0646), 0);
	RUN(&r, "--config", path, "--check");
	assert_int_equal(r.status, AGENT_EXIT_CONFIG);
	snprintf(want, sizeof(want), "tachbpf: error: %s: it is writable by everyone: chmod o-w\n",
		 path);
	assert_string_equal(messages, want);
	run_end(&r);
	unlink(path);
	RUN(&r, "--config", path, "--check");
	assert_int_equal(r.status, AGENT_EXIT_CONFIG);
	assert_non_null(strstr(messages, "No such file or directory\n"));
	run_end(&r);
	RUN(&r, "--config", "/tmp");
	assert_non_null(strstr(messages, "/tmp: it is not a regular file\n"));
	run_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_the_defaults),
		cmocka_unit_test(test_all_kinds_of_values),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_service_rules),
		cmocka_unit_test(test_unknown_keys),
		cmocka_unit_test(test_bad_values),
		cmocka_unit_test(test_addresses_and_urls),
		cmocka_unit_test(test_debuginfod),
		cmocka_unit_test(test_what_yaml_may_not_have),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_all_errors_are_said_but_not_too_many),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
