// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_config_reload.c - what differs between two configurations, and what needs a restart. */
#include "config_test.h"

#include "base/util.h"

/* The difference between two files; what was logged is in messages. */
static int diff(const char *old_text, const char *new_text, struct agent_changes *changes)
{
	struct agent_config *old = accepted(old_text), *new = accepted(new_text);
	int err;

	listen();
	err = agent_config_diff(old, new, changes);
	heard();
	agent_config_free(old);
	agent_config_free(new);
	return err;
}

static void test_nothing_changed(void **state)
{
	static const char *const pairs[][2] = {
		{ "", "" },
		{ "rate: 19", "" },
		{ "window: 60s", "window: 1m" },
		{ "labels: {a: b, c: d}", "labels: {c: d, a: b}" },
		{ "selection: {comm: a}", "selection: {comm: [a]}" },
		{ "modes: [cpu, gil]", "modes: 'gil,cpu'" },
		{ "service_rules: [{match: {exe: a}, name: b}]",
		  "service_rules: [{name: b, match: {exe: a}}]" },
	};
	struct agent_changes changes;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(pairs); i++) {
		assert_int_equal(diff(pairs[i][0], pairs[i][1], &changes), 0);
		assert_int_equal(changes.cnt, 0);
		assert_false(agent_config_changed(&changes, "rate"));
	}
}

static void test_what_a_reload_may_change(void **state)
{
	static const struct {
		const char *text, *key, *group;
	} changed[] = {
		{ "rate: 99", "rate", "rate" },
		{ "labels: {a: b}", "labels", "labels" },
		{ "selection: {exclude: {comm: a}}", "selection.exclude.comm", "selection" },
		{ "exporters: {otlp: {headers: {a: b}}}", "exporters.otlp.headers",
		  "exporters.otlp" },
		{ "exporters: {pprof: {dir: /x}}", "exporters.pprof.dir", "exporters" },
		{ "service_rules: [{match: {exe: a}, name: b}]", "service_rules",
		  "service_rules" },
		{ "privacy: {paths: base}", "privacy.paths", "privacy" },
		{ "budget: {cpu: 1%}", "budget.cpu", "budget" },
	};
	struct agent_changes changes;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(changed); i++) {
		assert_int_equal(diff("", changed[i].text, &changes), 0);
		assert_string_equal(messages, "");
		assert_int_equal(changes.cnt, 1);
		assert_true(agent_config_changed(&changes, changed[i].key));
		assert_true(agent_config_changed(&changes, changed[i].group));
		assert_false(agent_config_changed(&changes, "exporters.ot"));
		assert_false(agent_config_changed(&changes, "window"));
	}
	assert_int_equal(diff("service_rules: [{match: {exe: a}, name: b}]",
			      "service_rules: [{match: {exe: a, comm: c}, name: b}]", &changes), 0);
	assert_int_equal(changes.cnt, 1);
}

static void test_what_only_a_restart_changes(void **state)
{
	struct agent_changes changes;

	assert_int_equal(diff("rate: 19", "rate: 99\nspool: {dir: /x}\nmodes: [gil]", &changes),
			 -EBUSY);
	assert_string_equal(messages, "tachbpf: error: not reloaded: changing modes, spool.dir "
			    "requires a restart\n");
	assert_int_equal(changes.cnt, 3);
	assert_int_equal(diff("native: on", "native: on\ndebuginfod: http://a", &changes),
			 -EBUSY);
	assert_string_equal(messages, "tachbpf: error: not reloaded: changing debuginfod requires "
			    "a restart\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_changed),
		cmocka_unit_test(test_what_a_reload_may_change),
		cmocka_unit_test(test_what_only_a_restart_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
