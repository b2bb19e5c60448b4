/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * agent_exports.h - turns a finished window into messages for each exporter, which the delivery
 * sends to its server or keeps in the spool.
 *
 * If no exporter is configured, OTLP requests wait in the spool for an endpoint. Runs in the main
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
 * c stays the caller's and valid until agent_exports_set() or the end. 0, or -errno after logging.
 */
int agent_exports_new(struct agent_exports **out, const struct agent_config *c);
/* Spools what was not sent. x may be NULL. */
void agent_exports_free(struct agent_exports *x);

/*
 * Applies another configuration and reads the files that it names again, as a token may have
 * changed. If the servers differ then, requests in flight are sent again. Returns 0, or -errno
 * after logging: the old configuration stays in force.
 */
int agent_exports_set(struct agent_exports *x, const struct agent_config *c);

/* How a window was sampled, and the traces that its samples link to. */
struct agent_window_facts {
	uint64_t period_ns;		/* nominal, between two samples of a CPU */
	const struct window_links *links;	/* NULL: none */
	uint64_t samples;		/* that were added to it */
	const struct service_config *config;	/* for labels */
};

/* Encodes and offers a window. Errors are logged and counted: its samples are lost. */
void agent_exports_window(struct agent_exports *x, const struct window *w,
			  const struct agent_services *services,
			  const struct agent_window_facts *facts);

/* The same for a window that is not finished: what it has is kept in case that we are killed. */
void agent_exports_draft(struct agent_exports *x, const struct window *w,
			 const struct agent_services *services,
			 const struct agent_window_facts *facts);

struct delivery *agent_exports_delivery(const struct agent_exports *x);
size_t agent_exports_cnt(const struct agent_exports *x);
/* Returns the name of an exporter by its index in the delivery. */
const char *agent_exports_name(const struct agent_exports *x, size_t exporter);

/* Cumulative figures. */
struct agent_exports_counts {
	uint64_t requests, bytes;	/* offered; compressed bytes */
	uint64_t encode_ns;		/* CPU time of encoding and compressing */
	uint64_t failed;		/* windows that could not be encoded for an exporter */
	uint64_t too_large;		/* samples whose stack is larger than a request */
};
const struct agent_exports_counts *agent_exports_counts(const struct agent_exports *x);

#endif
