/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * otel_signs.h - what /proc shows of OpenTelemetry in a process: mappings that may hold a process
 * context (OTEP 4719), and two variables of its environment. All of it is hostile.
 *
 * Knows where these things are, not what they mean: telemetry/process_ctx.h and
 * telemetry/service.h do. All functions are pure.
 */
#ifndef TACHBPF_OTEL_SIGNS_H
#define TACHBPF_OTEL_SIGNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/proc.h"

/* The thread-local variable through which threads publish their context (OTEP 4947). */
#define OTEL_THREAD_CTX_SYMBOL "otel_thread_ctx_v1"

/* A process has one. More are of libraries that do not know of each other, or an attack. */
#define OTEL_MAPPINGS_MAX 4

/* Addresses where a process context may begin, in the order of /proc/PID/maps. */
struct otel_mappings {
	uint64_t at[OTEL_MAPPINGS_MAX];
	uint32_t cnt;
};

/* Add the mapping if its name is one of a process context, and if there is a place for it. */
void otel_mappings_take(struct otel_mappings *m, const struct proc_map *map);

/* What is read of /proc/PID/environ at most. Variables that end behind it are not seen. */
#define OTEL_ENVIRON_BYTES_MAX (256 * 1024)
#define OTEL_SERVICE_NAME_BYTES 256
#define OTEL_RESOURCE_BYTES 4096

/* Values as the process has them: any bytes but NUL; "": the variable is not there. */
struct otel_environ {
	char service_name[OTEL_SERVICE_NAME_BYTES];	/* OTEL_SERVICE_NAME, cut to the size */
	char resource[OTEL_RESOURCE_BYTES];		/* OTEL_RESOURCE_ATTRIBUTES, cut at a comma */
	bool cut;			/* one of them was longer, or the environment was */
};

/*
 * Find both variables in the text of /proc/PID/environ; nothing else of it is kept. Of a variable
 * that occurs several times, the first counts, as for getenv().
 */
void otel_environ_find(const char *text, size_t len, struct otel_environ *out);

#endif
