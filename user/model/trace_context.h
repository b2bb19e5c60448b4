/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * trace_context.h - what a thread worked on when a sample was taken, as reported by its process
 * (OTEP 4947): trace, span, and attributes such as the route. All of it is hostile: any bytes.
 */
#ifndef TACHBPF_TRACE_CONTEXT_H
#define TACHBPF_TRACE_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of all attributes, so there are at most half as many of them. */
#define TRACE_ATTRS_BYTES 612

/* Points into its creator's memory: valid as long as the creator documents. */
struct trace_context {
	const uint8_t *trace_id;	/* 16 bytes; all zeros: none */
	const uint8_t *span_id;		/* 8 bytes */
	const uint8_t *attrs;		/* for trace_attribute_next() */
	uint16_t attrs_bytes;		/* at most TRACE_ATTRS_BYTES */
	uint8_t flags;			/* W3C trace flags; bit 0: sampled */
};

struct trace_attribute {
	uint8_t key;		/* index into the process context's key map: thread_key() */
	uint8_t len;
	const char *text;	/* len bytes, not NUL-terminated */
};

/*
 * Parses a thread's record. Returns false if there is none (valid is not 1), or it has neither
 * trace nor span. Attributes that are cut at the record's end are left out.
 */
bool trace_context_parse(const void *record, size_t len, struct trace_context *out);

/* Gets the next attribute; start with *pos = 0. Returns false if there are no more. */
bool trace_attribute_next(const struct trace_context *t, size_t *pos, struct trace_attribute *out);

#endif
