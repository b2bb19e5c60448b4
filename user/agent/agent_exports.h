/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * agent_exports.h - what becomes of a window that is over: messages for each exporter, which the
 * delivery brings to its server or keeps in the spool.
 *
 * If nothing at all is configured, OTLP requests wait in the spool for an endpoint. In the main
 * process.
 */
#ifndef TACHBPF_AGENT_EXPORTS_H
#define TACHBPF_AGENT_EXPORTS_H

#include <stdint.h>

#include "agent/agent_services.h"
#include "delivery/delivery.h"
#include "telemetry/window_links.h"

struct agent_config;
struct agent_exports;

/*
 * c stays the caller's, and valid until agent_exports_set() or the end. 0, or -errno after logging.
 */
int agent_exports_new(struct agent_exports **out, const struct agent_config *c);
/* Spools what was not sent. NULL: nothing. */
void agent_exports_free(struct agent_exports *x);

/*
 * Another configuration from now on, and the files that it names are read again: a token may be
 * another one. If that makes other servers, what is in flight is sent again. 0; -errno after
 * logging: the old configuration is in force.
 */
int agent_exports_set(struct agent_exports *x, const struct agent_config *c);

/* Of the window: how it was sampled, and the traces that its samples link to. */
struct agent_window_facts {
	uint64_t period_ns;		/* nominal, between two samples of a CPU */
	const struct window_links *links;	/* NULL: none */
};

/* Encode and offer a window. Errors are logged and counted: its samples are lost. */
void agent_exports_window(struct agent_exports *x, const struct window *w,
			  const struct agent_services *services,
			  const struct agent_window_facts *facts);

struct delivery *agent_exports_delivery(const struct agent_exports *x);
size_t agent_exports_cnt(const struct agent_exports *x);
/* The name of an exporter of the delivery by its index. */
const char *agent_exports_name(const struct agent_exports *x, size_t exporter);

/* Figures; they grow. */
struct agent_exports_counts {
	uint64_t requests, bytes;	/* offered; bytes compressed */
	uint64_t encode_ns;		/* CPU time of encoding and compressing */
	uint64_t failed;		/* windows that could not be encoded for an exporter */
	uint64_t too_large;		/* samples whose stack is larger than a request */
};
const struct agent_exports_counts *agent_exports_counts(const struct agent_exports *x);

#endif
