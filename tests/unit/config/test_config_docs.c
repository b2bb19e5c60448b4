// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_config_docs.c - the table of keys against itself, --print-config, --help, and
 * docs/agent-config.md.
 *
 *     test_config_docs print      the tables for the page, between its two marks
 */
#include "config_test.h"

#include "base/util.h"

#define PAGE GOLDEN_DIR "/../../docs/agent-config.md"
#define BEGIN "<!-- keys: made by test_config_docs print -->\n"
#define END "<!-- end of keys -->\n"

/* What the function prints, to be freed. */
static char *text_of(void (*print)(FILE *))
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	print(out);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void test_the_table(void **state)
{
	size_t i, j;

	for (i = 0; i < agent_key_cnt; i++) {
		const struct setting *key = &agent_keys[i];

		assert_non_null(key->type);
		assert_true(key->off < sizeof(struct agent_config));
		assert_true(*key->help && *key->group && !strchr(key->help, '|'));
		/* No text is NULL, and numbers have bounds. */
		if (key->type->equal && key->type->shape == SETTING_SCALAR)
			assert_non_null(key->preset);
		assert_true(key->max >= key->min);
		for (j = 0; j < i; j++) {
			assert_string_not_equal(key->path, agent_keys[j].path);
			assert_string_not_equal(key->name, agent_keys[j].name);
			assert_int_not_equal(key->off, agent_keys[j].off);
		}
		assert_false(config_key_is_group(key->path));
		assert_ptr_equal(config_key_find(key->path), key);
	}
	assert_true(config_key_is_group("exporters") && config_key_is_group("exporters.otlp"));
	assert_false(config_key_is_group("exporters.ot"));
}

/* Every key away from its default. */
static const char everything[] =
	"rate: 1000\nwindow: 1500ms\nmodes: [cpu, offcpu, gil, exception]\nmin_wait: 250us\n"
	"memory: {every: 1MiB, interval: 1m}\n"
	"heap: {every: 1m, processes: 2, cpu: 2%}\n"
	"event: cycles\nprobability: 0.125\nnative_threads: no\nnative: full\n"
	"debuginfod: ['https://a', 'http://b:8002/c']\n"
	"trace_context: true\nthread_names: true\nasync: true\nlog_level: debug\n"
	"log_format: json\n"
	"labels: {a: 'x: \"y\" # \\z', b: \"\\u00e4\\U0001F40D\", c: ''}\n"
	"service_rules:\n- {name: 'a: b', match: {exe: '*', comm: \"it's\"}}\n"
	"- {name: '{pod}', match: {command: '* -m x'}}\n"
	"selection:\n  {container: [a, '- b'], pod: n/p, cgroup: /x, unit: u, uid: [root, 65534],\n"
	"   comm: 'c*', exe: /e, min_age: 90s, exclude: {container: a, pod: p, cgroup: /y,\n"
	"   unit: v, uid: root, comm: d, exe: f}}\n"
	"privacy: {command_line: no, paths: base, usernames: yes, host_name: no, containers: no,\n"
	"  exception_types: no}\n"
	"exporters:\n"
	"  otlp: {endpoint: 'http://a:1', profiles_endpoint: 'http://b/c', compression: none,\n"
	"    headers_file: /1, bearer_token_file: /2, timeout: 1h, ca_file: /4, cert_file: /5,\n"
	"    key_file: /6, insecure: yes, proxy: 'http://p:1', max_request_bytes: 64KiB}\n"
	"  pyroscope: {url: 'https://p', tenant_id: t, basic_auth_file: /3,\n"
	"    proxy: 'socks5://q:1', max_request_bytes: 1000000}\n"
	"  tach: {dir: /t, rotate_time: 1m, rotate_size: 1GiB, keep: 7}\n"
	"  pprof: {dir: /p, keep: 8}\n"
	"retry: {initial: 10ms, max: 24h}\n"
	"trust: process\n"
	"spool: {dir: /s, size: 1MiB, max_age: 2h}\n"
	"budget: {cpu: 0.125%, bytes_per_minute: 1MiB, min_rate: 2}\n"
	"metrics: {listen: '', hosts: [a.example], services: 0, labels: [team]}\n"
	"ctl: {socket: '', allow_group: adm}\n";

static void test_what_is_printed_loads_again(void **state)
{
	struct agent_config *first = accepted(everything), *second;
	struct agent_changes changes;
	char *text = printed(first);

	second = accepted(text);
	assert_int_equal(agent_config_diff(first, second, &changes), 0);
	assert_int_equal(changes.cnt, 0);
	free(text);
	agent_config_free(second);
	second = accepted("");
	listen();
	assert_int_equal(agent_config_diff(first, second, &changes), -EBUSY);
	heard();
	/* All but the headers, the protocol, and what Pyroscope has as OTLP does. */
	assert_true(changes.cnt >= agent_key_cnt - 12);
	text = printed(second);
	agent_config_free(first);
	first = accepted(text);
	assert_int_equal(agent_config_diff(first, second, &changes), 0);
	assert_int_equal(changes.cnt, 0);
	free(text);
	agent_config_free(first);
	agent_config_free(second);
}

static void test_secrets_are_not_printed(void **state)
{
	struct agent_config *c = accepted(
		"exporters:\n  otlp:\n    headers: {Authorization: Bearer hush}\n"
		"    proxy: http://me:hush@proxy:3128\n"
		"  pyroscope: {headers: {X-Key: hush}}\n");
	char *text;

	text = printed(c);
	assert_null(strstr(text, "hush"));
	assert_non_null(strstr(text, "      \"Authorization\": \"<secret>\"\n"));
	assert_non_null(strstr(text, "proxy: \"http://<secret>@proxy:3128\""));
	free(text);
	agent_config_free(c);
}

static void test_origins_are_printed(void **state)
{
	struct agent_config *c = accepted("\nrate: 5\nlabels:\n  a: b\n");
	char *text = printed(c);

	assert_non_null(strstr(text, "# file: \"a.yaml\"\nrate: 5    "));
	assert_non_null(strstr(text, " # line 2\nwindow: 15s  "));
	assert_non_null(strstr(text, " # default\n"));
	assert_non_null(strstr(text, " # line 4\n  \"a\": \"b\"\n"));
	free(text);
	agent_config_free(c);
}

static void test_help(void **state)
{
	char *text = text_of(agent_options_help);
	char flag[64];
	size_t i;

	for (i = 0; i < agent_key_cnt; i++) {
		const struct setting *key = &agent_keys[i];
		bool on = key->preset && !strcmp(key->preset, "true");

		snprintf(flag, sizeof(flag), "--%s%s%s%s", on ? "no-" : "", key->name,
			 setting_arg(key) ? " " : "", setting_arg(key) ? setting_arg(key) : "");
		if (key->secret ? strstr(text, flag) != NULL : !strstr(text, flag))
			fail_msg("%s is %sin --help", flag, key->secret ? "" : "not ");
	}
	free(text);
}

/* What the page has between these two texts, which are there; to be freed. */
static char *of_page(const char *begin, const char *end)
{
	struct buf page = { .data = NULL };
	FILE *f = fopen(PAGE, "r");
	char *text, *last;

	assert_non_null(f);
	assert_int_equal(buf_add_file(&page, fileno(f), 1 << 20), 0);
	assert_int_equal(buf_add(&page, "", 1), 0);
	fclose(f);
	text = strstr((char *)page.data, begin);
	assert_non_null(text);
	text += strlen(begin);
	last = strstr(text, end);
	assert_non_null(last);
	text = strndup(text, (size_t)(last - text));
	assert_non_null(text);
	buf_free(&page);
	return text;
}

static void print_row(const struct setting *key, FILE *out)
{
	size_t i;

	fprintf(out, "| `%s` | ", key->path);
	if (!key->secret)
		fprintf(out, "`--%s`", key->name);
	fprintf(out, " | %s | ", key->type->name);
	if (key->preset && *key->preset)
		fprintf(out, "`%s`", key->preset);
	else if (!key->type->arg)
		fputs("`false`", out);
	fputs(" | ", out);
	if (key->type->allowed)
		key->type->allowed(key, out);
	fprintf(out, " | %s | %s", key->restart ? "restart" : "SIGHUP", key->help);
	for (i = 0; i < 2 && key->env[i]; i++)
		fprintf(out, "%s`%s`", i ? ", " : "; variable: ", key->env[i]);
	fputs(" |\n", out);
}

/* The keys as tables in Markdown. */
static void print_keys(FILE *out)
{
	const char *group = "";
	size_t i;

	for (i = 0; i < agent_key_cnt; i++) {
		const struct setting *key = &agent_keys[i];

		if (strcmp(group, key->group) != 0)
			fprintf(out, "%s**%s**\n\n"
				"| key | flag | type | default | allowed | changed by | what |\n"
				"| --- | --- | --- | --- | --- | --- | --- |\n", i ? "\n" : "",
				key->group);
		group = key->group;
		print_row(key, out);
	}
}

static void test_the_page(void **state)
{
	char *want = text_of(print_keys), *got = of_page(BEGIN, END);
	size_t same = 0;

	while (got[same] && got[same] == want[same])
		same++;
	if (got[same] || want[same])
		fail_msg("the page has\n%.200s\nwhere `test_config_docs print` has\n%.200s",
			 got + same, want + same);
	free(got);
	free(want);
	/* Its example is good. */
	got = of_page("```yaml\n", "```\n");
	agent_config_free(accepted(got));
	free(got);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_table),
		cmocka_unit_test(test_what_is_printed_loads_again),
		cmocka_unit_test(test_secrets_are_not_printed),
		cmocka_unit_test(test_origins_are_printed),
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_the_page),
	};

	if (argc == 2 && !strcmp(argv[1], "print")) {
		print_keys(stdout);
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
