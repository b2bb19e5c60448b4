/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * process_ctx.h - the process context (OTEP 4719): what a process with an SDK of OpenTelemetry
 * publishes of itself in a mapping with a known name, for whoever looks from outside.
 *
 * Where such a mapping may be, struct discovered and reader_otel_mappings() say. An SDK publishes
 * when it is set up, often after the process was inspected: process_ctx_watch.h looks again. With
 * the last published_ns, that is one read of 32 bytes if nothing has changed. A fork does not
 * inherit it. All that is read is hostile; nothing here trusts more than its length.
 */
#ifndef TACHBPF_PROCESS_CTX_H
#define TACHBPF_PROCESS_CTX_H

#include <stddef.h>
#include <stdint.h>

#include "cpython/code.h"
#include "host/otel_signs.h"
#include "telemetry/attrs.h"

/*
 * No more of a payload is read; a larger one is refused (-E2BIG). The resource of an SDK takes
 * some 500 bytes, with 64 keys of a thread context 2 KiB.
 */
#define PROCESS_CTX_BYTES_MAX (64 * 1024)
/* How often it is read again if it changes meanwhile. Then whoever asked tries again later. */
#define PROCESS_CTX_TRIES 3

/* What threads publish (OTEP 4947), if schema is not "". */
#define THREAD_KEYS_MAX 64
#define THREAD_KEYS_BYTES 2048
struct thread_keys {
	char schema[32];		/* threadlocal.schema_version: "tlsdesc_v1_dev" ... */
	uint16_t cnt;			/* of threadlocal.attribute_key_map, those with room */
	uint16_t beyond;		/* keys for which there was none, 65,535 at most */
	uint16_t at[THREAD_KEYS_MAX];	/* see thread_key() */
	char text[THREAD_KEYS_BYTES];
};

struct process_ctx {
	uint64_t published_ns;		/* CLOCK_BOOTTIME; the key by which a change is seen */
	uint32_t version;
	struct attrs resource;		/* the SDK's resource: service.name, ... */
	struct thread_keys threads;
};

/*
 * Read the process context at the first of several mappings that has a valid one, with mem
 * (remote_mem_read() reads by the worker tachbpf-reader, with a deadline). known_ns: published_ns
 * of the last time, 0: none.
 *
 * 0: *out is filled. -EALREADY: it is the known one. -ENOENT: none is there: another signature or
 * version, or no mappings. -EAGAIN: it is just being changed. -E2BIG: its payload is too large.
 * -EBADMSG: its payload is no such message. Else -errno of mem->read: -EFAULT, -ESRCH, -EBUSY ...
 * If all fail: -EAGAIN or -EBUSY if that may be different soon, else the last error. *out is only
 * changed by 0 and -EBADMSG. In the main process, once for a process and change; 5 µs a read.
 */
int process_ctx_read_any(const struct target_mem *mem, const struct otel_mappings *mappings,
			 uint64_t known_ns, struct process_ctx *out);

/*
 * Parse a payload into out->resource and out->threads; pure. 0, or -EBADMSG: it is no such message,
 * and *out has what came before the error.
 */
int process_ctx_parse(const void *payload, size_t len, struct process_ctx *out);

/* The name of a thread attribute by its index in a thread context; "": unknown. */
const char *thread_key(const struct thread_keys *keys, unsigned int index);

#endif
