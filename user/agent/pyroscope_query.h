/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pyroscope_query.h - the query in the URL of a pprof for Grafana Pyroscope's /ingest. Pure. */
#ifndef TACHBPF_AGENT_PYROSCOPE_QUERY_H
#define TACHBPF_AGENT_PYROSCOPE_QUERY_H

#include "config/config.h"
#include "delivery/spool_entry.h"
#include "telemetry/service.h"

/*
 * Makes the query, URL-encoded: name (the service with labels), from, until, format. Labels are
 * those of the resource that many processes share, because each value of a label is a series in
 * Pyroscope, and those that the configuration names, with the resource's value or, if that has none
 * or a number, the configuration's. What does not fit is left out.
 */
void pyroscope_query(const struct service *service, const struct agent_map *labels,
		     uint64_t begin_ns, uint64_t end_ns, char out[SPOOL_QUERY_BYTES]);

#endif
