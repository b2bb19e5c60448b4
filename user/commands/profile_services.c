// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* profile_services.c - services of files, and of processes that share one; see profile_set.h. */
#include <errno.h>

#include "commands/profile_set.h"

int profile_file_set_service(struct profile_file *f, const struct profile_service *s)
{
	if (!service_part_of(s, SERVICE_NAME))
		return 0;
	f->service = named_service_new(s);
	return f->service ? 0 : -ENOMEM;
}

static int put_service(void *ctx, uint32_t tgid, const struct profile_service *service)
{
	return service_map_put(ctx, tgid, service);
}

const struct service_map *profile_set_services(struct profile_set *set,
					       const struct profile_file *file)
{
	if (set->services_of == file->path)
		return &set->services;
	service_map_free(&set->services);
	set->services_of = file->path;
	if (file->session && session_json_members(file->session, file->name, put_service,
						  &set->services))
		return NULL;
	return &set->services;
}

const struct profile_service *profile_set_service_of(struct profile_set *set,
						     const struct profile_file *file,
						     uint32_t tgid)
{
	const struct named_service *n = file->session && !file->process.tgid ?
		service_map_get(profile_set_services(set, file), tgid) : NULL;

	return n ? &n->of : NULL;
}
