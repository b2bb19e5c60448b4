// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_agent_metrics.c - all metrics: against Prometheus' own check, and docs/agent-metrics.md.
 *
 *     test_agent_metrics print         the table for the page, between its two marks
 *     test_agent_metrics text [open]   all metrics as text
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent_metrics.h"
#include "agent/python_metrics.h"
#include "bpf/abi.h"
#include "model/intern.h"

#define PAGE GOLDEN_DIR "/../../docs/agent-metrics.md"
#define BEGIN "<!-- metrics: made by test_agent_metrics print -->\n"
#define END "<!-- end of metrics -->\n"
#define PROMTOOL "promtool"

static void render_pythons(struct metrics_text *t)
{
	struct python_metrics *m = python_metrics_new(10, PYTHON_METRICS_ALL);
	struct intern *names = intern_new();
	struct python_process_args args = {
		.tables = intern_tables(names), .tgid = getpid(), .major = 3, .minor = 13,
		.free_threaded = true, .started = true,
	};
	const struct event ev = { .status = STATUS_ON_CPU | STATUS_HAS_GIL };
	struct python_process *p[3];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(p); i++) {
		args.service = (const char *[]){ "web", "a \"b\" \\ \xff\n", NULL }[i];
		p[i] = python_metrics_begin(m, &args);
		python_metrics_event(p[i], &ev, 1234567890);
		python_metrics_loops(p[i], (const uint64_t[PYTHON_LOOPS]){ 1, 1203, 17, 840000000,
									   850000000 });
	}
	python_metrics_tick(m, 1);
	python_metrics_render(m, t);
	for (i = 0; i < ARRAY_SIZE(p); i++)
		python_metrics_end(p[i]);
	python_metrics_free(m);
	intern_free(names);
}

/* Every family there is. */
static void render(struct metrics_text *t)
{
	static const struct delivery_counts counts[] = {
		{ .offered = { 5, 50, 500 }, .sent = { 3, 30, 300 }, .sent_bytes = 1 << 20,
		  .dropped[DROP_REFUSED] = { 1, 10, 100 }, .failures[CAUSE_TLS] = 7 },
		{ .retried = 3 },
	};
	static const struct agent_metrics_exporter exporters[] = {
		{ "otlp", &counts[0],
		  { .waiting = 4, .oldest_ns = 1700000000000000000, .last_status = 503 } },
		{ "pyroscope", &counts[1], { .oldest_ns = 1900000000000000000 } },
	};
	static const struct loop_poll_counts loops = { 6000, 2, 840000000, 0 };
	static const struct agent_heap_counts heap = {
		.results = { 12, [AGENT_HEAP_NO_POOLS] = 1 }, .cpu_ns = 250000000, .services = 3,
	};
	static const struct agent_metrics_files files[] = { { "tach", 1, 2, 3 } };
	const struct agent_metrics m = {
		.version = "0.1.0", .kernel = "6.1.0", .arch = "x86_64",
		.now_wall_ns = 1700000001500000000, .started_wall_ns = 1600000000000000000,
		.reload_ok = true, .reload_wall_ns = 1600000000000000000, .reloads = 1,
		.samples = { 1, 2, 3, 4 }, .lost = { [LOSS_ORPHANS] = 9 }, .ticks = 1000,
		.rate_hz = 10, .rate_configured_hz = 19, .probability = 0.1,
		.cpu_ns = { 1500000000, 2, 3 }, .rss_bytes = { 14 << 20, 8 << 20 },
		.budget_ratio = 0.005, .cost_ratio = 0.0013, .window_ns = 15000000000,
		.exporters = exporters, .exporter_cnt = ARRAY_SIZE(exporters),
		.files = files, .file_cnt = ARRAY_SIZE(files),
		.has_native = true, .native = { .frames = 5, .ends = { 3, [NATIVE_JIT] = 2 } },
		.native_counts = { .tables = 7, .memory_bytes = 1 << 20 },
		.heap = &heap, .heap_late_ns = 1500000000, .loops = &loops,
		.has_spool = true, .killed_samples = 3, .spool_bytes = 4096,
		.spool_limit_bytes = 256 << 20,
	};

	agent_metrics_render(&m, t);
	render_pythons(t);
	assert_int_equal(metrics_text_end(t), 0);
	assert_int_equal(t->left_out, 0);
}

/* All metrics, to be freed. */
static char *text_of(enum metrics_form form)
{
	struct metrics_text t;

	metrics_text_begin(&t, form, 1 << 20);
	render(&t);
	assert_int_equal(buf_add(&t.out, "", 1), 0);
	return (char *)t.out.data;
}

static void has(const char *text, const char *line)
{
	if (!strstr(text, line))
		fail_msg("\"%s\" is not there", line);
}

static void test_values(void **state)
{
	char *text = text_of(METRICS_PROMETHEUS);

	has(text, "\ntachbpf_agent_build_info{version=\"0.1.0\",kernel=\"6.1.0\","
		  "arch=\"x86_64\"} 1\n");
	has(text, "\ntachbpf_agent_start_time_seconds 1600000000\n");
	has(text, "\ntachbpf_agent_config_last_reload_successful 1\n");
	has(text, "\ntachbpf_agent_samples_total{type=\"offcpu\"} 2\n");
	has(text, "\ntachbpf_agent_lost_total{cause=\"orphans\"} 9\n");
	has(text, "\ntachbpf_agent_rate_hertz 10\n");
	has(text, "\ntachbpf_agent_budget_cpu_ratio 0.005\n");
	has(text, "\ntachbpf_agent_cpu_seconds_total{part=\"main\"} 1.5\n");
	has(text, "\ntachbpf_agent_resident_memory_bytes{part=\"workers\"} 8388608\n");
	has(text, "\ntachbpf_agent_heap_censuses_total{result=\"taken\"} 12\n");
	has(text, "\ntachbpf_agent_heap_censuses_total{result=\"no_pools\"} 1\n");
	has(text, "\ntachbpf_agent_heap_cpu_seconds_total 0.25\n");
	has(text, "\ntachbpf_agent_heap_late_seconds 1.5\n");
	has(text, "\ntachbpf_agent_exporter_sent_samples_total{exporter=\"otlp\"} 30\n");
	has(text, "\ntachbpf_agent_exporter_retries_total{exporter=\"pyroscope\"} 3\n");
	has(text, "\ntachbpf_agent_exporter_queue_requests{exporter=\"otlp\"} 4\n");
	has(text, "\ntachbpf_agent_exporter_last_status{exporter=\"otlp\"} 503\n");
	has(text, "\ntachbpf_agent_exporter_failures_total{exporter=\"otlp\",cause=\"tls\"} 7\n");
	has(text, "\ntachbpf_agent_exporter_oldest_age_seconds{exporter=\"otlp\"} 1.5\n");
	/* The clock was put back. */
	has(text, "\ntachbpf_agent_exporter_oldest_age_seconds{exporter=\"pyroscope\"} 0\n");
	has(text, "\ntachbpf_agent_exporter_dropped_requests_total{exporter=\"otlp\","
		  "cause=\"refused\"} 1\n");
	has(text, "\ntachbpf_agent_exporter_dropped_samples_total{exporter=\"otlp\","
		  "cause=\"refused\"} 10\n");
	has(text, "\ntachbpf_agent_exporter_written_bytes_total{exporter=\"tach\"} 2\n");
	has(text, "\ntachbpf_agent_spool_limit_bytes 268435456\n");
	has(text, "\ntachbpf_python_cpu_seconds_total{service=\"web\"} 1.23456789\n");
	has(text, "\ntachbpf_python_processes{service=\"web\",python=\"3.13t\"} 1\n");
	free(text);
}

/* Exporters and spool that are not there have no metrics. */
static void test_nothing_is_there(void **state)
{
	const struct agent_metrics m = { .version = "x" };
	struct metrics_text t;

	metrics_text_begin(&t, METRICS_PROMETHEUS, 1 << 20);
	agent_metrics_render(&m, &t);
	assert_int_equal(metrics_text_end(&t), 0);
	assert_int_equal(buf_add(&t.out, "", 1), 0);
	assert_null(strstr((char *)t.out.data, "exporter"));
	assert_null(strstr((char *)t.out.data, "spool"));
	assert_non_null(strstr((char *)t.out.data, "tachbpf_agent_windows_total 0\n"));
	metrics_text_free(&t);
}

/* Prometheus' own opinion; 3 is its exit status for what it finds ugly. */
static void test_promtool(void **state)
{
	char *text = text_of(METRICS_PROMETHEUS);
	FILE *check;
	int status;

	if (system("command -v " PROMTOOL " >/dev/null")) {
		print_message("there is no " PROMTOOL " (Debian's package prometheus)\n");
		free(text);
		skip();
	}
	check = popen(PROMTOOL " check metrics", "w");
	assert_non_null(check);
	fputs(text, check);
	status = pclose(check);
	free(text);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- the page ---- */

static const char *line_after(const char *line)
{
	const char *end = strchr(line, '\n');

	return end ? end + 1 : line + strlen(line);
}

/* The names of a sample's labels: "service, kind". */
static void print_labels(const char *sample, FILE *out)
{
	const char *end = line_after(sample), *p = sample + strcspn(sample, "{ "), *comma = "";

	while (p < end && (*p == '{' || *p == ',')) {
		size_t len = strcspn(++p, "=");

		fprintf(out, "%s`%.*s`", comma, (int)len, p);
		comma = ", ";
		for (p += len + 2; *p != '"'; p++)
			p += *p == '\\';
		p++;
	}
}

/* A row for each family: name, type, labels, help. */
static void print_table(FILE *out)
{
	char *text = text_of(METRICS_PROMETHEUS);
	const char *help, *type, *name;

	fputs("| metric | type | labels | |\n| --- | --- | --- | --- |\n", out);
	for (help = text; *help; help = line_after(help)) {
		if (strncmp(help, "# HELP ", 7))
			continue;
		name = help + 7;
		type = strchr(line_after(help) + 7, ' ') + 1;
		fprintf(out, "| `%.*s` | %.*s | ", (int)strcspn(name, " "), name,
			(int)strcspn(type, "\n"), type);
		print_labels(line_after(type), out);
		fputs(" | ", out);
		for (name = strchr(name, ' ') + 1; *name != '\n'; name++)
			fprintf(out, "%s%c", *name == '<' ? "\\" : "", *name);
		fputs(" |\n", out);
	}
	free(text);
}

/* All of the page, to be freed. */
static char *read_page(void)
{
	struct buf page = { .data = NULL };
	FILE *f = fopen(PAGE, "r");

	assert_non_null(f);
	assert_int_equal(buf_add_file(&page, fileno(f), 1 << 20), 0);
	assert_int_equal(buf_add(&page, "", 1), 0);
	fclose(f);
	return (char *)page.data;
}

static void test_the_page_has_the_table(void **state)
{
	char *page = read_page(), *got = strstr(page, BEGIN), *end = strstr(page, END), *want;
	size_t len, same = 0;
	FILE *out = open_memstream(&want, &len);

	print_table(out);
	fclose(out);
	assert_non_null(got);
	assert_non_null(end);
	got += strlen(BEGIN);
	*end = '\0';
	while (got[same] && got[same] == want[same])
		same++;
	if (got[same] || want[same])
		fail_msg("the page has\n%.200s\nwhere `test_agent_metrics print` has\n%.200s",
			 got + same, want + same);
	free(want);
	free(page);
}

/* What its sentences and queries name is rendered. */
static void test_the_page_names_what_there_is(void **state)
{
	char *page = read_page(), *text = text_of(METRICS_PROMETHEUS), *at;
	char name[128];
	size_t len;

	for (at = page; (at = strstr(at, "tachbpf_"));) {
		len = strspn(at, "abcdefghijklmnopqrstuvwxyz_0123456789");
		snprintf(name, sizeof(name), "\n%.*s", (int)len, at);
		at += len;
		if (*at == '*' || *at == ':')	/* a group of names; a rule's own */
			continue;
		if (!strstr(text, strcat(name, "{")) && !(name[len + 1] = ' ', strstr(text, name)))
			fail_msg("the page has %s, which is not rendered", name);
	}
	free(text);
	free(page);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_nothing_is_there),
		cmocka_unit_test(test_promtool),
		cmocka_unit_test(test_the_page_has_the_table),
		cmocka_unit_test(test_the_page_names_what_there_is),
	};

	if (argc == 2 && !strcmp(argv[1], "print")) {
		print_table(stdout);
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "text")) {
		char *text = text_of(argc > 2 ? METRICS_OPENMETRICS : METRICS_PROMETHEUS);

		fputs(text, stdout);
		free(text);
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
