// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_config_flags.c - the agent's flags and variables: which source wins, where a value came
 * from, what may not be on a command line, and what ends at once.
 */
#include "config_test.h"

#include "base/util.h"

static const char *const variables[] = {
	"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT",
	"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_PROFILES_HEADERS",
	"OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_EXPORTER_OTLP_PROFILES_TIMEOUT",
	"OTEL_EXPORTER_OTLP_COMPRESSION", "OTEL_EXPORTER_OTLP_PROFILES_COMPRESSION",
	"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_CERTIFICATE",
	"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "OTEL_EXPORTER_OTLP_CLIENT_KEY",
	"OTEL_EXPORTER_OTLP_PROFILES_CERTIFICATE", "OTEL_EXPORTER_OTLP_PROFILES_CLIENT_KEY",
	"OTEL_EXPORTER_OTLP_PROFILES_CLIENT_CERTIFICATE", "OTEL_EXPORTER_OTLP_PROFILES_PROTOCOL",
	"OTEL_RESOURCE_ATTRIBUTES", "OTEL_SERVICE_NAME",
};

static int no_variables(void **state)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(variables); i++)
		unsetenv(variables[i]);
	return 0;
}

static const struct agent_origin *origin_of(const struct agent_config *c, const char *path)
{
	const struct setting *key = config_key_find(path);

	assert_non_null(key);
	return &c->origin[key - agent_keys];
}

static void assert_wrong(const char *const *words, int status, const char *error)
{
	char want[1024];
	struct run r;

	run_words(&r, words);
	snprintf(want, sizeof(want), "tachbpf: error: %s\n", error);
	assert_string_equal(messages, want);
	assert_int_equal(r.status, status);
	assert_null(r.config);
	run_end(&r);
}

#define WRONG(status, error, ...)                                                                  \
	assert_wrong((const char *const[]){ __VA_ARGS__, NULL }, status, error)

static void test_flags(void **state)
{
	struct run r;

	RUN(&r, "--rate", "99", "--window=5s", "--trace-context", "--no-command-line",
	    "--container", "a", "--container=b", "--exclude-comm", "x*", "--modes", "cpu,gil",
	    "--label", "team = web", "--label", "a=b=c", "--otlp-endpoint", "http://c:4318",
	    "--service-rule", "exe=*/x,comm=y,name={unit}", "--metrics-listen", "",
	    "--rate", "50");
	assert_string_equal(messages, "");
	assert_int_equal(r.status, AGENT_GO);
	assert_int_equal(r.config->rate_hz, 50);
	assert_int_equal(r.config->window_ns, 5000000000);
	assert_true(r.config->trace_context && !r.config->privacy.command_line);
	assert_int_equal(r.config->select[0][FILTER_CONTAINER].cnt, 2);
	assert_string_equal(r.config->select[1][FILTER_COMM].items[0], "x*");
	assert_int_equal(r.config->modes, AGENT_CPU | AGENT_GIL);
	assert_string_equal(r.config->labels.pairs[0].name, "team");
	assert_string_equal(r.config->labels.pairs[0].value, "web");
	assert_string_equal(r.config->labels.pairs[1].value, "b=c");
	assert_string_equal(r.config->service_rules.rules[0].glob[FACT_COMM], "y");
	assert_string_equal(r.config->metrics.listen, "");
	assert_int_equal(origin_of(r.config, "rate")->source, AGENT_FLAG);
	assert_string_equal(origin_of(r.config, "window")->name, "window");
	assert_int_equal(origin_of(r.config, "spool.dir")->source, AGENT_DEFAULT);
	run_end(&r);
}

static void test_wrong_flags(void **state)
{
	WRONG(AGENT_EXIT_USAGE, "invalid --rate '0': expected 1 to 50000", "--rate", "0");
	WRONG(AGENT_EXIT_USAGE, "unknown option '--windo': did you mean --window? See: tachbpf "
	      "agent --help", "--windo", "5s");
	WRONG(AGENT_EXIT_USAGE, "option --window needs a value: --window TIME", "--window");
	WRONG(AGENT_EXIT_USAGE, "option --trace-context takes no value: use "
	      "--trace-context alone", "--trace-context=true");
	WRONG(AGENT_EXIT_USAGE, "unexpected argument 'now': the agent takes only options; see: "
	      "tachbpf agent --help", "now");
	WRONG(AGENT_EXIT_USAGE, "invalid --config '': it is empty", "--config", "");
	WRONG(AGENT_EXIT_USAGE, "invalid --uid 'no-such-user-here': no such user: expected a name "
	      "or a number (getent passwd lists all)", "--uid", "no-such-user-here");
	WRONG(AGENT_EXIT_USAGE, "invalid --label 'team': expected NAME=VALUE", "--label", "team");
	WRONG(AGENT_EXIT_USAGE, "invalid --service-rule 'exe=a': a rule must have a name, and a "
	      "pattern for its processes", "--service-rule", "exe=a");
	/* Together they do not fit. */
	WRONG(AGENT_EXIT_CONFIG, "exporters.otlp.key_file requires exporters.otlp.cert_file",
	      "--otlp-key-file", "/k");
}

static void test_no_secret_on_the_command_line(void **state)
{
	WRONG(AGENT_EXIT_USAGE, "--otlp-headers may contain a secret, and command lines are "
	      "readable by everyone: set exporters.otlp.headers in the file of --config",
	      "--otlp-headers", "authorization=x");
	WRONG(AGENT_EXIT_USAGE, "--pyroscope-proxy may contain a secret, and command lines are "
	      "readable by everyone: set exporters.pyroscope.proxy in the file of --config",
	      "--pyroscope-proxy", "http://me:pw@proxy");
}

static void test_precedence(void **state)
{
	const char *path = file_with(
		"rate: 7\nwindow: 7s\nlabels: {a: file, b: file}\nselection: {comm: [f, g]}\n"
		"exporters:\n  otlp: {endpoint: http://file, timeout: 7s, compression: none,\n"
		"         headers: {h: file}}\n");
	struct run r;

	setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://env", 1);
	setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1500", 1);
	setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "", 1);
	setenv("OTEL_RESOURCE_ATTRIBUTES", "b=env, c=a%2Cb ,service.name=agent", 1);
	setenv("OTEL_EXPORTER_OTLP_HEADERS", "h=env,Authorization=Basic%20eA%3D%3D", 1);
	setenv("OTEL_SERVICE_NAME", "agent", 1);
	RUN(&r, "--config", path, "--rate", "9", "--comm", "x", "--label", "c=flag");
	assert_string_equal(messages, "");
	assert_int_equal(r.config->rate_hz, 9);
	assert_int_equal(r.config->window_ns, 7000000000);
	assert_string_equal(r.config->exporters.otlp.endpoint, "http://env");
	assert_int_equal(r.config->exporters.otlp.http.timeout_ns, 1500000000);
	assert_int_equal(r.config->exporters.otlp.compression, AGENT_COMPRESSION_NONE);
	assert_int_equal(r.config->select[0][FILTER_COMM].cnt, 1);
	assert_string_equal(r.config->select[0][FILTER_COMM].items[0], "x");
	assert_int_equal(r.config->labels.cnt, 3);
	assert_string_equal(r.config->labels.pairs[0].value, "file");
	assert_string_equal(r.config->labels.pairs[1].value, "env");
	assert_string_equal(r.config->labels.pairs[2].value, "flag");
	assert_string_equal(r.config->exporters.otlp.http.headers.pairs[0].value, "env");
	assert_string_equal(r.config->exporters.otlp.http.headers.pairs[1].value, "Basic eA==");
	assert_int_equal(origin_of(r.config, "window")->line, 2);
	assert_int_equal(origin_of(r.config, "window")->column, 9);
	assert_string_equal(origin_of(r.config, "exporters.otlp.endpoint")->name,
			    "OTEL_EXPORTER_OTLP_ENDPOINT");
	run_end(&r);
	unlink(path);
}

static void test_variables(void **state)
{
	struct run r;
	char *url;

	/* The endpoint alone switches the exporter on. */
	setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318", 1);
	RUN(&r, NULL);
	assert_non_null(agent_config_otlp(r.config, 0));
	url = agent_config_otlp_url(&r.config->exporters.otlp);
	assert_string_equal(url, "http://collector:4318/v1development/profiles");
	free(url);
	run_end(&r);
	/* The one for profiles is used as it is. */
	setenv("OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT", "https://p/x", 1);
	setenv("OTEL_EXPORTER_OTLP_PROFILES_TIMEOUT", "2000", 1);
	setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "3000", 1);
	setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", "/ca", 1);
	RUN(&r, NULL);
	url = agent_config_otlp_url(&r.config->exporters.otlp);
	assert_string_equal(url, "https://p/x");
	assert_int_equal(r.config->exporters.otlp.http.timeout_ns, 2000000000);
	assert_string_equal(r.config->exporters.otlp.http.ca_file, "/ca");
	assert_string_equal(r.config->exporters.pyroscope.http.ca_file, "");
	free(url);
	run_end(&r);
	/* gRPC has no path of its own. */
	setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", 1);
	setenv("OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT", "https://p:4317/", 1);
	RUN(&r, NULL);
	url = agent_config_otlp_url(&r.config->exporters.otlp);
	assert_string_equal(url, "https://p:4317/opentelemetry.proto.collector.profiles."
				 "v1development.ProfilesService/Export");
	free(url);
	run_end(&r);
	unsetenv("OTEL_EXPORTER_OTLP_PROTOCOL");
	/* A flag switches it off again. */
	RUN(&r, "--otlp-endpoint", "", "--otlp-profiles-endpoint", "");
	assert_null(agent_config_otlp(r.config, 0));
	run_end(&r);
}

static void test_wrong_variables(void **state)
{
	setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json", 1);
	WRONG(AGENT_EXIT_CONFIG, "environment variable OTEL_EXPORTER_OTLP_PROTOCOL: invalid "
	      "exporters.otlp.protocol 'http/json': expected http/protobuf or grpc", "--check");
	no_variables(NULL);
	setenv("OTEL_RESOURCE_ATTRIBUTES", "a=%zz", 1);
	WRONG(AGENT_EXIT_CONFIG, "environment variable OTEL_RESOURCE_ATTRIBUTES: invalid labels "
	      "'a=%zz': % must be followed by two hexadecimal digits of printable UTF-8",
	      "--check");
	setenv("OTEL_RESOURCE_ATTRIBUTES", "a=%0a", 1);
	WRONG(AGENT_EXIT_CONFIG, "environment variable OTEL_RESOURCE_ATTRIBUTES: invalid labels "
	      "'a=%0a': % must be followed by two hexadecimal digits of printable UTF-8",
	      "--check");
	setenv("OTEL_RESOURCE_ATTRIBUTES", "a", 1);
	WRONG(AGENT_EXIT_CONFIG, "environment variable OTEL_RESOURCE_ATTRIBUTES: invalid labels "
	      "'a': expected NAME=VALUE", "--check");
	no_variables(NULL);
	setenv("OTEL_EXPORTER_OTLP_HEADERS", "secret", 1);
	WRONG(AGENT_EXIT_CONFIG, "environment variable OTEL_EXPORTER_OTLP_HEADERS: invalid "
	      "exporters.otlp.headers: expected NAME=VALUE", "--check");
}

static void test_what_ends_at_once(void **state)
{
	struct run r;

	RUN(&r, "--check");
	assert_int_equal(r.status, 0);
	assert_string_equal(r.out, "");
	assert_string_equal(messages, "");
	run_end(&r);
	RUN(&r, "--version");
	assert_int_equal(r.status, 0);
	assert_string_equal(r.out, "tachbpf " TACHBPF_VERSION "\n");
	run_end(&r);
	RUN(&r, "--print-config", "--rate", "5");
	assert_int_equal(r.status, 0);
	assert_non_null(strstr(r.out, "rate: 5 "));
	assert_non_null(strstr(r.out, "# --rate\n"));
	run_end(&r);
	RUN(&r, "--check", "--help");
	assert_int_equal(r.status, 0);
	assert_non_null(strstr(r.out, "Usage: tachbpf agent"));
	run_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_flags, no_variables),
		cmocka_unit_test_setup(test_wrong_flags, no_variables),
		cmocka_unit_test_setup(test_no_secret_on_the_command_line, no_variables),
		cmocka_unit_test_setup(test_precedence, no_variables),
		cmocka_unit_test_setup(test_variables, no_variables),
		cmocka_unit_test_setup(test_wrong_variables, no_variables),
		cmocka_unit_test_setup(test_what_ends_at_once, no_variables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
