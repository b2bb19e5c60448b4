// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_service.c - any bytes as a command line and, behind the first newline, an environment. The
 * service has a name, and all of it can be shown.
 */
#include <stdlib.h>
#include <string.h>

#include "telemetry/service.h"
#include "tests/fuzz/shown_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct service_rule rules[] = {
	{ { [FACT_COMMAND] = "*x*y*z*", [FACT_EXE] = "py*" }, "{command}{command}" },
	{ { [FACT_PROGRAM] = "p*" }, "{program}/{service}" },
};

static void check(const struct service *s)
{
	const struct attrs *a = &s->resource;
	size_t i;

	if (!s->id || !a->cnt || strcmp(attr_key(a, &a->items[0]), "service.name") ||
	    !*service_name_of(s))
		abort();
	for (i = 0; i < a->cnt; i++) {
		check_shown_text(attr_key(a, &a->items[i]), ATTR_KEY_BYTES);
		check_shown_text(attr_value(a, &a->items[i]), ATTR_VALUE_BYTES);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *newline = size ? memchr(data, '\n', size) : NULL;
	size_t head = newline ? (size_t)(newline - data) : size;
	struct service_config config = {
		.rules = rules, .privacy = { true, true, true, true, true, true },
	};
	struct otel_environ env;
	struct service_facts facts = {
		.env = &env, .exe = "/usr/bin/python3", .comm = "python3",
		.cmdline = (const char *)data, .cmdline_len = head,
	};
	static struct service s, again;

	otel_environ_find((const char *)data + head, size - head, &env);
	service_make(&facts, &config, &s);
	check(&s);
	service_make(&facts, &config, &again);
	if (s.id != again.id || !service_same(&s, &again))
		abort();
	config.trust_processes = true;
	service_make(&facts, &config, &again);
	check(&again);
	config.rule_cnt = 2;
	service_make(&facts, &config, &s);
	check(&s);
	return 0;
}
