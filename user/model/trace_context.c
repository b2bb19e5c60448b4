// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* trace_context.c - see trace_context.h. */
#include "model/trace_context.h"

#include <string.h>

#include "bpf/abi.h"

_Static_assert(TRACE_ATTRS_BYTES == RAW_TRACE_ATTRS, "so much comes from the BPF side");

bool trace_context_parse(const void *record, size_t len, struct trace_context *out)
{
	static const uint8_t none[24];
	const struct raw_trace *raw = record;
	size_t bytes, have;

	if (len < RAW_TRACE_HEAD || raw->valid != 1 || !memcmp(raw, none, sizeof(none)))
		return false;
	have = len - RAW_TRACE_HEAD < TRACE_ATTRS_BYTES ? len - RAW_TRACE_HEAD : TRACE_ATTRS_BYTES;
	bytes = raw->attrs_bytes[0] | (size_t)raw->attrs_bytes[1] << 8;
	*out = (struct trace_context){
		.trace_id = raw->trace_id,
		.span_id = raw->span_id,
		.attrs = raw->attrs,
		.attrs_bytes = (uint16_t)(bytes < have ? bytes : have),
		.flags = raw->flags,
	};
	return true;
}

bool trace_attribute_next(const struct trace_context *t, size_t *pos, struct trace_attribute *out)
{
	const uint8_t *at = t->attrs + *pos;
	size_t left = t->attrs_bytes - *pos;

	if (left < 2 || left - 2 < at[1])
		return false;
	*out = (struct trace_attribute){ at[0], at[1], (const char *)at + 2 };
	*pos += 2 + (size_t)at[1];
	return true;
}
