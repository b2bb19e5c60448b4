// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* service_labels.c - see service_labels.h. */
#include "telemetry/service_labels.h"

#include <string.h>

#define NAME_KEY "service.name"

static const struct attrs nothing;

/* Adds all of a list except the name and keys of another one. */
static uint32_t add_others(const struct attrs *a, const struct attrs *before,
			   struct otlp_attribute *out)
{
	uint32_t cnt = 0;
	size_t i;

	for (i = 0; i < a->cnt; i++) {
		const struct attr *at = &a->items[i];
		const char *key = attr_key(a, at);

		if (strcmp(key, NAME_KEY) && !attrs_find(before, key))
			out[cnt++] = (struct otlp_attribute){
				key, at->is_number ? NULL : attr_value(a, at), at->number,
				at->is_list,
			};
	}
	return cnt;
}

uint32_t service_attributes(const struct service *service, const struct service_config *config,
			    struct otlp_attribute out[SERVICE_ATTRIBUTES_MAX])
{
	const struct attrs *own = service ? &service->resource : &nothing;
	const struct attrs *labels = config->labels ? config->labels : &nothing;
	const struct attrs *first = config->trust_processes ? own : labels;
	const struct attrs *then = config->trust_processes ? labels : own;
	uint32_t cnt = 0;

	out[cnt++] = (struct otlp_attribute){
		NAME_KEY, service ? service_name_of(service) : SERVICE_OTHER_NAME, 0, false,
	};
	cnt += add_others(first, &nothing, out + cnt);
	return cnt + add_others(then, first, out + cnt);
}

const char *service_attribute(const struct service *service, const struct service_config *config,
			      const char *key)
{
	const struct attrs *own = service ? &service->resource : &nothing;
	const struct attrs *labels = config->labels ? config->labels : &nothing;
	const struct attrs *first = config->trust_processes ? own : labels;

	return attrs_text(attrs_find(first, key) ? first : first == own ? labels : own, key);
}
