// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* profile_service.c - see profile_service.h. */
#include "model/profile_service.h"

#include <fnmatch.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const service_part_keys[SERVICE_PART_CNT] = {
	[SERVICE_NAME] = "service.name",
	[SERVICE_NAMESPACE] = "service.namespace",
	[SERVICE_VERSION] = "service.version",
	[SERVICE_ENVIRONMENT] = "deployment.environment.name",
	[SERVICE_HOST] = "host.name",
	[SERVICE_TEAM] = "team",
};

bool service_part_find(const char *key, size_t len, enum service_part *part)
{
	size_t i;

	for (i = 0; i < SERVICE_PART_CNT; i++) {
		if (strlen(service_part_keys[i]) != len || memcmp(service_part_keys[i], key, len))
			continue;
		*part = (enum service_part)i;
		return true;
	}
	return false;
}

bool profile_service_same(const struct profile_service *a, const struct profile_service *b)
{
	size_t i;

	for (i = 0; i < SERVICE_PART_CNT; i++) {
		const char *x = service_part_of(a, (enum service_part)i);
		const char *y = service_part_of(b, (enum service_part)i);

		if (!x != !y || (x && strcmp(x, y)))
			return false;
	}
	return true;
}

void named_service_free(struct named_service *n)
{
	size_t i;

	if (!n)
		return;
	for (i = 0; i < SERVICE_PART_CNT; i++)
		free((char *)(uintptr_t)n->of.part[i]);
	free(n->name);
	free(n->release);
	free(n);
}

/* Copies all parts. Returns false if there is no memory. */
static bool copy_parts(struct named_service *n, const struct profile_service *s)
{
	size_t i;

	for (i = 0; i < SERVICE_PART_CNT; i++) {
		n->of.part[i] = s->part[i] ? strdup(s->part[i]) : NULL;
		if (s->part[i] && !n->of.part[i])
			return false;
	}
	return true;
}

struct named_service *named_service_new(const struct profile_service *s)
{
	struct named_service *n = calloc(1, sizeof(*n));
	const char *name = service_part_of(s, SERVICE_NAME);
	const char *space = service_part_of(s, SERVICE_NAMESPACE);
	const char *version = service_part_of(s, SERVICE_VERSION);

	if (!n || !copy_parts(n, s))
		goto fail;
	if (asprintf(&n->name, "%s%s%s", space ? space : "", space ? "/" : "",
		     name ? name : "") < 0) {
		n->name = NULL;
		goto fail;
	}
	if (asprintf(&n->release, "%s%s%s", n->name, version ? " " : "",
		     version ? version : "") >= 0)
		return n;
	n->release = NULL;
fail:
	named_service_free(n);
	return NULL;
}

bool named_service_matches(const struct named_service *n, const char *glob)
{
	size_t space = n->of.part[SERVICE_NAMESPACE] ? strlen(n->of.part[SERVICE_NAMESPACE]) + 1 :
						       0;

	return !fnmatch(glob, n->name, 0) || !fnmatch(glob, n->name + space, 0) ||
	       !fnmatch(glob, n->release, 0) || !fnmatch(glob, n->release + space, 0);
}
