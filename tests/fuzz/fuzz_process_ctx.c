// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_process_ctx.c - any bytes as the payload of a process context. What comes out is within its
 * bounds and can be shown.
 */
#include <stdlib.h>

#include "telemetry/process_ctx.h"
#include "tests/fuzz/shown_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_attrs(const struct attrs *a)
{
	size_t i;

	if (a->cnt > ATTRS_MAX || a->text_len > ATTRS_TEXT_BYTES)
		abort();
	for (i = 0; i < a->cnt; i++) {
		check_shown_text(attr_key(a, &a->items[i]), ATTR_KEY_BYTES);
		check_shown_text(attr_value(a, &a->items[i]), ATTR_VALUE_BYTES);
		if (attrs_find(a, attr_key(a, &a->items[i])) != &a->items[i])
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct process_ctx ctx;
	unsigned int i;

	process_ctx_parse(data, size, &ctx);
	check_attrs(&ctx.resource);
	check_shown_text(ctx.threads.schema, sizeof(ctx.threads.schema));
	if (ctx.threads.cnt > THREAD_KEYS_MAX)
		abort();
	for (i = 0; i <= ctx.threads.cnt; i++)
		check_shown_text(thread_key(&ctx.threads, i), ATTR_KEY_BYTES);
	return 0;
}
