/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * profile_service.h - the service that a profile is of: the resource attributes of OpenTelemetry's
 * semantic conventions by which a fleet's profiles are told apart.
 *
 * The agent writes them to its files: as comments KEY=VALUE in pprof (`pprof -comments`), and with
 * the processes in session.json. Readers return them in reader_info.meta.service.
 */
#ifndef TACHBPF_PROFILE_SERVICE_H
#define TACHBPF_PROFILE_SERVICE_H

#include <stdbool.h>
#include <stddef.h>

enum service_part {
	SERVICE_NAME,
	SERVICE_NAMESPACE,
	SERVICE_VERSION,
	SERVICE_ENVIRONMENT,
	SERVICE_HOST,
	SERVICE_TEAM,		/* a label of the administrator: who pays */
	SERVICE_PART_CNT
};

/* The keys: "service.name", "service.namespace", ...; by enum service_part. */
extern const char *const service_part_keys[SERVICE_PART_CNT];

/* Strings may have any bytes. NULL: unknown. Owned by whoever made it, as profile_meta.comm. */
struct profile_service {
	const char *part[SERVICE_PART_CNT];
};

/* Finds the part with this key of len bytes. Returns false if it is another attribute. */
bool service_part_find(const char *key, size_t len, enum service_part *part);

/* Returns a part; NULL: unknown. s may be NULL. */
static inline const char *service_part_of(const struct profile_service *s, enum service_part part)
{
	return s ? s->part[part] : NULL;
}

/* A service of one's own, with its names for people: "shop/checkout", "shop/checkout 1.2". */
struct named_service {
	struct profile_service of;
	char *name;	/* its namespace, if it has one, and its name */
	char *release;	/* the same, with its version */
};

/* Returns a copy, freed by named_service_free(); NULL: no memory. */
struct named_service *named_service_new(const struct profile_service *s);
void named_service_free(struct named_service *n);
/*
 * Returns true if a glob (fnmatch(3)) matches one of its names, with or without the namespace and
 * the version.
 */
bool named_service_matches(const struct named_service *n, const char *glob);

/* Returns true if all parts are the same. Either may be NULL. */
bool profile_service_same(const struct profile_service *a, const struct profile_service *b);

#endif
