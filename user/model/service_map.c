// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* service_map.c - see service_map.h. */
#include "model/service_map.h"

#include <errno.h>

int service_map_put(struct service_map *m, uint32_t tgid, const struct profile_service *s)
{
	struct named_service *new = named_service_new(s), *old;

	if (!new)
		return -ENOMEM;
	old = u64map_get(&m->of, tgid);
	if (u64map_put(&m->of, tgid, new)) {
		named_service_free(new);
		return -ENOMEM;
	}
	named_service_free(old);
	return 0;
}

const struct named_service *service_map_get(const struct service_map *m, uint32_t tgid)
{
	return m ? u64map_get(&m->of, tgid) : NULL;
}

void service_map_free(struct service_map *m)
{
	struct named_service *n;
	size_t pos = 0;

	while ((n = u64map_next(&m->of, &pos)))
		named_service_free(n);
	u64map_free(&m->of);
}
