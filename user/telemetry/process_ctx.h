/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * process_ctx.h - the process context (OTEP 4719): what a process with an OpenTelemetry SDK
 * publishes about itself in a mapping with a known name, for readers outside.
 *
 * struct discovered and reader_otel_mappings() say where such a mapping may be. An SDK publishes
 * when it is set up, often after the process was inspected: process_ctx_watch.h looks again. With
 * the last published_ns, that is one read of 32 bytes if nothing has changed. A fork does not
 * inherit it. All input is hostile; nothing here trusts more than its length.
 */
#ifndef TACHBPF_PROCESS_CTX_H
#define TACHBPF_PROCESS_CTX_H

#include <stddef.h>
#include <stdint.h>

#include "cpython/code.h"
#include "host/otel_signs.h"
#include "telemetry/attrs.h"

/*
 * The limit of a payload; a larger one is refused (-E2BIG). An SDK's resource takes some 500 bytes,
 * with 64 keys of a thread context 2 KiB.
 */
#define PROCESS_CTX_BYTES_MAX (64 * 1024)
/* How often it is read again if it changes meanwhile. After that the caller tries again later. */
#define PROCESS_CTX_TRIES 3

/* What threads publish (OTEP 4947), if schema is not "". */
#define THREAD_KEYS_MAX 64
#define THREAD_KEYS_BYTES 2048
struct thread_keys {
	char schema[32];		/* threadlocal.schema_version: "tlsdesc_v1_dev" ... */
	uint16_t cnt;			/* of threadlocal.attribute_key_map, as far as they fit */
	uint16_t beyond;		/* keys that did not fit, at most 65,535 */
	uint16_t at[THREAD_KEYS_MAX];	/* see thread_key() */
	char text[THREAD_KEYS_BYTES];
};

struct process_ctx {
	uint64_t published_ns;		/* CLOCK_BOOTTIME; changes with the context */
	uint32_t version;
	struct attrs resource;		/* the SDK's resource: service.name, ... */
	struct thread_keys threads;
};

/*
 * Reads the process context at the first of several mappings that has a valid one, with mem
 * (remote_mem_read() reads by the worker tachbpf-reader, with a deadline). known_ns: published_ns
 * of the last time; 0: none.
 *
 * Returns 0: *out is filled. -EALREADY: it is the known one. -ENOENT: there is none, or one with
 * another signature or version, or no mappings. -EAGAIN: it is being changed. -E2BIG: its payload
 * is too large. -EBADMSG: its payload is malformed. Else -errno of mem->read: -EFAULT, -ESRCH,
 * -EBUSY ... If all fail: -EAGAIN or -EBUSY if that may change soon, else the last error. Only 0
 * and -EBADMSG change *out. In the main process, once for a process and change; 5 µs a read.
 */
int process_ctx_read_any(const struct target_mem *mem, const struct otel_mappings *mappings,
			 uint64_t known_ns, struct process_ctx *out);

/*
 * Parses a payload into out->resource and out->threads; pure. Returns 0, or -EBADMSG: it is
 * malformed, and *out has what came before the error.
 */
int process_ctx_parse(const void *payload, size_t len, struct process_ctx *out);

/* The name of a thread attribute by its index in a thread context; "": unknown. */
const char *thread_key(const struct thread_keys *keys, unsigned int index);

#endif
