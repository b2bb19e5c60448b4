/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * exporter_servers.h - the configuration's servers in the form that delivery.h wants, including the
 * content of the files that it names (headers, tokens, certificates).
 *
 * The files are the administrator's. They are read in the main process, at the start and at a
 * reload; after the start it can read root's files only, without CAP_DAC_OVERRIDE.
 */
#ifndef TACHBPF_AGENT_EXPORTER_SERVERS_H
#define TACHBPF_AGENT_EXPORTER_SERVERS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/util.h"
#include "config/config.h"
#include "delivery/delivery.h"

#define EXPORTER_OTLP "otlp"		/* or "otlp/NAME": agent_otlp.name */
#define EXPORTER_PYROSCOPE "pyroscope"
#define EXPORTER_SERVERS_MAX (AGENT_OTLP_MAX + 1)
#define EXPORTER_SERVER_TEXTS 8

struct exporter_servers {
	/* The OTLP exporters that are on, in the configuration's order; then Pyroscope. */
	struct delivery_exporter exporters[EXPORTER_SERVERS_MAX];
	uint64_t hash;			/* of everything: equal servers have equal hashes */
	size_t cnt;			/* at least one: without any, OTLP waits in the spool */
	/* What they point to, each with a final NUL. Names are the configuration's. */
	struct buf texts[EXPORTER_SERVERS_MAX * EXPORTER_SERVER_TEXTS];
	size_t text_cnt;
};

/*
 * Makes the list. Returns 0, or -errno after logging which file cannot be read or is wrong. Free it
 * by exporter_servers_free() in any case.
 */
int exporter_servers_make(const struct agent_config *c, struct exporter_servers *out);
/* The texts are secret, so they are overwritten. */
void exporter_servers_free(struct exporter_servers *s);

#endif
