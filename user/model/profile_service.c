// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* profile_service.c - see profile_service.h. */
#include "model/profile_service.h"

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
