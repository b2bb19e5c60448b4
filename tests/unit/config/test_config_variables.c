// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_config_variables.c - environment variables in the values of the agent's YAML: the cases of
 * OpenTelemetry's specification, what is refused, and what is printed.
 */
#include "config_test.h"

#include "base/util.h"

static int setup(void **state)
{
	setenv("T_VALUE", "value", 1);
	setenv("T_RATE", "99", 1);
	setenv("T_EMPTY", "", 1);
	setenv("T_REF", "${T_VALUE} $$", 1);
	setenv("T_MAP", "{a: b}\nc: d", 1);
	setenv("T_FLOW", "x, b: y", 1);
	unsetenv("T_NONE");
	return 0;
}

/* The value of the label a. */
static void assert_value(const char *yaml, const char *value)
{
	char text[8192];
	struct agent_config *c;

	snprintf(text, sizeof(text), "labels: {a: %s}\n", yaml);
	c = accepted(text);
	assert_int_equal(c->labels.cnt, 1);
	assert_string_equal(c->labels.pairs[0].value, value);
	agent_config_free(c);
}

static void test_values(void **state)
{
	static const struct { const char *yaml, *value; } rows[] = {
		{ "'${T_VALUE}'", "value" }, { "\"${env:T_VALUE}\"", "value" },
		{ "'x${T_VALUE}-${T_RATE}y'", "xvalue-99y" },
		{ "'${T_NONE:-fallback}'", "fallback" }, { "'${T_NONE:-}'", "" },
		{ "'${T_EMPTY:-fallback}'", "fallback" }, { "'${T_EMPTY}'", "" },
		{ "'${T_VALUE:-fallback}'", "value" }, { "'${T_NONE:-a: b $ {}'", "a: b $ {" },
		/* What a variable contains stays as it is. */
		{ "'${T_REF}'", "${T_VALUE} $$" }, { "'${T_FLOW}'", "x, b: y" },
		{ "'$${T_VALUE}'", "${T_VALUE}" }, { "'$$${T_VALUE}'", "$value" },
		{ "'$$$${T_VALUE}'", "$${T_VALUE}" }, { "'a $$ b'", "a $ b" },
		{ "'a $ b $'", "a $ b $" }, { "'$T_VALUE'", "$T_VALUE" },
		{ "'${T_VALUE'", "${T_VALUE" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		assert_value(rows[i].yaml, rows[i].value);
}

/* Types are those of the result; lists, rules and secrets have variables, too; names have none. */
static void test_everywhere(void **state)
{
	struct agent_config *c = accepted(
		"rate: ${T_RATE}\nmodes: [cpu, \"${T_NONE:-gil}\"]\n"
		"service_rules: [{match: {exe: '${T_VALUE}*'}, name: '${T_VALUE}-{pod}'}]\n"
		"exporters: {otlp: {headers: {a$$b: 'Bearer ${T_VALUE}'}}}\n");

	assert_int_equal(c->rate_hz, 99);
	assert_int_equal(c->modes, AGENT_CPU | AGENT_GIL);
	assert_string_equal(c->service_rules.rules[0].glob[FACT_EXE], "value*");
	assert_string_equal(c->service_rules.rules[0].name, "value-{pod}");
	assert_string_equal(c->exporters.otlp.http.headers.pairs[0].name, "a$$b");
	assert_string_equal(c->exporters.otlp.http.headers.pairs[0].value, "Bearer value");
	agent_config_free(c);
}

/* Printed, it can be loaded again, and a secret is not in it. */
static void test_printed(void **state)
{
	struct agent_config *c = accepted(
		"labels: {a: 'x $$ $${T_VALUE} ${T_REF}'}\ndebuginfod: [\"http://a/$${b}\"]\n"
		"native: on\nexporters: {pyroscope: {tenant_id: '$$$$'},\n"
		"  otlp: {headers: {a: '${T_VALUE}-secret'}}}\n"
		"service_rules: [{match: {exe: '$$$$'}, name: '$${pod}'}]\n");
	char *text = printed(c), *secret;
	struct agent_changes changes;
	struct agent_config *again;

	assert_null(strstr(text, "value-secret"));
	secret = strstr(text, "<secret>");
	assert_non_null(secret);
	memset(secret, 'x', 8);
	again = accepted(text);
	assert_int_equal(agent_config_diff(c, again, &changes), 0);
	assert_int_equal(changes.cnt, 1);	/* the secret */
	assert_string_equal(again->labels.pairs[0].value, "x $ ${T_VALUE} ${T_VALUE} $$");
	assert_string_equal(again->service_rules.rules[0].name, "${pod}");
	agent_config_free(c);
	agent_config_free(again);
	free(text);
}

#define NO_NAME "after ${ there must be the name of an environment variable, and then } or " \
		":-DEFAULT}; write $$ for a $"

static void test_refused(void **state)
{
	static char text[64 * 1024];
	size_t i;

	assert_refused("rate: ${T_NONE}", "a.yaml:1:7: the environment variable T_NONE is not "
		       "set: set it, or write ${T_NONE:-DEFAULT}");
	assert_refused("labels:\n  a: ${1X}", "a.yaml:2:6: " NO_NAME);
	assert_refused("labels:\n  a: ${X-Y}", "a.yaml:2:6: " NO_NAME);
	assert_refused("labels:\n  a: ${}", "a.yaml:2:6: " NO_NAME);
	assert_refused("labels:\n  a: ${file:/etc/passwd}", "a.yaml:2:6: " NO_NAME);
	/* A map in a variable is text, and text has no line feeds. */
	assert_refused("labels: {a: \"${T_MAP}\"}", "a.yaml:1:10: invalid labels 'a': it contains "
		       "characters that are not printable UTF-8");
	assert_refused("rate: ${T_EMPTY}", "a.yaml:1:7: rate has no value: add one, or leave the "
		       "line out");
	strcpy(text, "labels: {a: '");
	for (i = 0; i < 1000; i++)
		strcat(text, "${T_VALUE}");
	strcat(text, "'}");
	assert_refused(text, "a.yaml:1:13: it is longer than 4096 bytes with its variables");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_values, setup),
		cmocka_unit_test_setup(test_everywhere, setup),
		cmocka_unit_test_setup(test_printed, setup),
		cmocka_unit_test_setup(test_refused, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
