// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_thread_ctx.c - any bytes as a thread context, whose attributes become those of a link: all
 * within bounds, and printable.
 */
#include <stdlib.h>
#include <string.h>

#include "telemetry/window_links.h"
#include "tests/fuzz/shown_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct thread_keys keys = { .cnt = 4, .at = { 0, 2, 4, 6 }, .text = "a\0b\0c\0d" };
	static struct window_links *links;
	struct trace_context t;
	struct trace_attribute a;
	struct otlp_args args;
	size_t pos = 0, i;
	uint32_t link;

	if (!links)
		links = window_links_new(true);
	if (!links || !trace_context_parse(data, size, &t))
		return 0;
	while (trace_attribute_next(&t, &pos, &a))
		if (pos > t.attrs_bytes || (const uint8_t *)a.text + a.len > data + size)
			abort();
	link = window_links_add(links, &t, &keys, NULL);
	window_links_table(links, &args);
	if (!link || link > args.link_cnt ||
	    args.links[link - 1].attribute_cnt > WINDOW_LINK_ATTRIBUTES_MAX ||
	    memcmp(args.links[link - 1].trace_id, t.trace_id, 16))
		abort();
	for (i = 0; i < args.sample_attribute_cnt; i++)
		check_shown_text(args.sample_attributes[i].text, 1024);
	window_links_reset(links);
	return 0;
}
