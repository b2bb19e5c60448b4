/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pyroscope_query.h - the query in the URL of a pprof for Grafana Pyroscope's /ingest. Pure. */
#ifndef TACHBPF_AGENT_PYROSCOPE_QUERY_H
#define TACHBPF_AGENT_PYROSCOPE_QUERY_H

#include "delivery/spool_entry.h"
#include "telemetry/service.h"

/*
 * Makes the query, URL-encoded: name (the service with labels), from, until, format. Labels are
 * those attributes that many processes share, because each value of a label is a series in
 * Pyroscope, and the labels of the configuration (service_labels.h). What does not fit is left out.
 * service NULL: that of number 0.
 */
void pyroscope_query(const struct service *service, const struct service_config *config,
		     uint64_t begin_ns, uint64_t end_ns, char out[SPOOL_QUERY_BYTES]);

#endif
