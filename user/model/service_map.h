/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* service_map.h - the services of the processes that share a file. */
#ifndef TACHBPF_SERVICE_MAP_H
#define TACHBPF_SERVICE_MAP_H

#include <stdint.h>

#include "base/u64map.h"
#include "model/profile_service.h"

/* Zero-initialise; freed by service_map_free(). */
struct service_map {
	struct u64map of;	/* tgid -> struct named_service */
};

/* Sets the service of a process, which is copied. Returns 0 or -ENOMEM. */
int service_map_put(struct service_map *m, uint32_t tgid, const struct profile_service *s);
/* Returns the service of a process; NULL: unknown. m may be NULL. */
const struct named_service *service_map_get(const struct service_map *m, uint32_t tgid);
void service_map_free(struct service_map *m);

#endif
