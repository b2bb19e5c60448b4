/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * exporter_servers.h - the servers of the configuration, as delivery.h wants them: with what is in
 * the files that it names (headers, tokens, certificates).
 *
 * The files are the administrator's. They are read in the main process, at the start and at a
 * reload; after the start it has the rights of root's files only, without CAP_DAC_OVERRIDE.
 */
#ifndef TACHBPF_AGENT_EXPORTER_SERVERS_H
#define TACHBPF_AGENT_EXPORTER_SERVERS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/util.h"
#include "delivery/delivery.h"

struct agent_config;

#define EXPORTER_OTLP "otlp"
#define EXPORTER_PYROSCOPE "pyroscope"
#define EXPORTER_SERVERS_MAX 2

struct exporter_servers {
	struct delivery_exporter exporters[EXPORTER_SERVERS_MAX];
	uint64_t hash;			/* of all of it: the same servers have the same */
	size_t cnt;			/* at least one: without any, OTLP waits in the spool */
	struct buf texts[24];		/* what they point to, each with a NUL at its end */
	size_t text_cnt;
};

/*
 * Make the list. 0; -errno after logging which file cannot be read, or what is wrong in it. Free it
 * by exporter_servers_free() in any case.
 */
int exporter_servers_make(const struct agent_config *c, struct exporter_servers *out);
/* The texts are secret: they are overwritten. */
void exporter_servers_free(struct exporter_servers *s);

#endif
