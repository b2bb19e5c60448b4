// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * config_otlp.c - the OTLP exporters of a configuration: exporters.otlp, and exporters.otlp/NAME in
 * the file, as the Collector names them. See config_keys.h.
 *
 * An exporter otlp/NAME is a configuration of its own, of which only exporters.otlp counts: so its
 * values have defaults, checks and origins like any others.
 */
#include "config/config_keys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "otlp/"
#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

#define HTTP_PATH "/v1development/profiles"
#define GRPC_PATH "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"

bool config_otlp_is(const char *name)
{
	return !strncmp(name, PREFIX, strlen(PREFIX));
}

struct agent_config *config_otlp_add(struct config_loading *l, const struct agent_origin *at,
				     const char *name)
{
	struct agent_config *c = l->config, *more;
	const char *rest = name + strlen(PREFIX);

	if (!*rest || rest[strspn(rest, NAME_LETTERS)] || strlen(name) >= AGENT_OTLP_NAME_BYTES) {
		config_complain(l, at, "the name after " PREFIX " must have 1 to %zu letters, "
				"digits or . _ -",
				AGENT_OTLP_NAME_BYTES - sizeof(PREFIX));
		return NULL;
	}
	if (c->otlp_more_cnt == AGENT_OTLP_MAX - 1) {
		config_complain(l, at, "there are more than %d OTLP exporters", AGENT_OTLP_MAX);
		return NULL;
	}
	more = config_new(NULL);
	if (!more) {
		l->no_memory = true;
		l->errors++;
		return NULL;
	}
	strcpy(more->exporters.otlp.name, name);
	c->otlp_more[c->otlp_more_cnt++] = more;
	return more;
}

const struct agent_otlp *agent_config_otlp(const struct agent_config *c, size_t number)
{
	const struct agent_otlp *otlp;
	size_t i;

	for (i = 0; i <= c->otlp_more_cnt; i++) {
		otlp = i ? &c->otlp_more[i - 1]->exporters.otlp : &c->exporters.otlp;
		if ((*otlp->endpoint || *otlp->profiles_endpoint) && !number--)
			return otlp;
	}
	return NULL;
}

char *agent_config_otlp_url(const struct agent_otlp *otlp)
{
	const char *base = otlp->endpoint, *whole = otlp->profiles_endpoint;
	bool grpc = otlp->protocol == AGENT_GRPC;
	size_t len;
	char *url;

	if (*whole && !grpc)
		return strdup(whole);
	base = *whole ? whole : base;
	for (len = strlen(base); len && base[len - 1] == '/';)
		len--;
	if (asprintf(&url, "%.*s%s", (int)len, base, grpc ? GRPC_PATH : HTTP_PATH) >= 0)
		return url;
	errno = ENOMEM;
	return NULL;
}
