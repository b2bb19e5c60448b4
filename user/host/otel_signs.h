/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * otel_signs.h - signs of OpenTelemetry in /proc/PID: mappings that may hold a process context
 * (OTEP 4719), and three environment variables. All of it is hostile.
 *
 * Knows where these things are, not what they mean: telemetry/process_ctx.h and telemetry/service.h
 * do. All functions are pure.
 */
#ifndef TACHBPF_OTEL_SIGNS_H
#define TACHBPF_OTEL_SIGNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/proc.h"

/* The thread-local variable through which threads publish their context (OTEP 4947). */
#define OTEL_THREAD_CTX_SYMBOL "otel_thread_ctx_v1"

/* A process has one. More come from libraries that do not know of each other, or from an attack. */
#define OTEL_MAPPINGS_MAX 4

/* Addresses where a process context may begin, in the order of /proc/PID/maps. */
struct otel_mappings {
	uint64_t at[OTEL_MAPPINGS_MAX];
	uint32_t cnt;
};

/* Add the mapping if it is named like a process context, and if there is space for it. */
void otel_mappings_take(struct otel_mappings *m, const struct proc_map *map);

/* At most this much of /proc/PID/environ is read. Variables that end after it are not seen. */
#define OTEL_ENVIRON_BYTES_MAX (256 * 1024)
#define OTEL_SERVICE_NAME_BYTES 256
#define OTEL_RESOURCE_BYTES 4096
#define OTEL_VERSION_BYTES 128

/* Values as the process has them: any bytes except NUL; "": the variable is not set. */
struct otel_environ {
	char service_name[OTEL_SERVICE_NAME_BYTES];	/* OTEL_SERVICE_NAME, cut to the size */
	char resource[OTEL_RESOURCE_BYTES];	/* OTEL_RESOURCE_ATTRIBUTES, cut at a comma */
	char version[OTEL_VERSION_BYTES];	/* DD_VERSION, of Datadog's unified service tagging;
						 * cut to the size */
	bool cut;			/* a variable, or the environment, was longer */
};

/*
 * Find the variables in the text of /proc/PID/environ; nothing else of it is kept. If a variable
 * occurs more than once, the first counts, as for getenv().
 */
void otel_environ_find(const char *text, size_t len, struct otel_environ *out);

#endif
