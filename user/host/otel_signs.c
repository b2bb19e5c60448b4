// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* otel_signs.c - see otel_signs.h. */
#include "host/otel_signs.h"

#include <string.h>

#include "base/util.h"

/* Beginnings of the path of such a mapping: OTEP 4719. " (deleted)" can follow. */
static const char *const names[] = { "[anon_shmem:OTEL_CTX]", "[anon:OTEL_CTX]",
				     "/memfd:OTEL_CTX" };

void otel_mappings_take(struct otel_mappings *m, const struct proc_map *map)
{
	const char *path = map->path;
	size_t i;

	/* Nearly all paths return here: they begin with a directory that is not called memfd:... */
	if (path[0] == '/' ? path[1] != 'm' : path[0] != '[')
		return;
	for (i = 0; i < ARRAY_SIZE(names) && m->cnt < OTEL_MAPPINGS_MAX; i++) {
		if (strncmp(path, names[i], strlen(names[i])))
			continue;
		m->at[m->cnt++] = map->start;
		return;
	}
}

/* The value of "NAME=value"; NULL: it is another variable. */
static const char *value_of(const char *var, size_t len, const char *name, size_t *value_len)
{
	size_t name_len = strlen(name);

	if (len <= name_len || var[name_len] != '=' || memcmp(var, name, name_len))
		return NULL;
	*value_len = len - name_len - 1;
	return var + name_len + 1;
}

/* Keep the value if it is the first one. Returns how many of its bytes were kept. */
static size_t keep_value(char *out, size_t size, const char *value, size_t len)
{
	size_t kept = len < size ? len : size - 1;

	memcpy(out, value, kept);
	out[kept] = '\0';
	return kept;
}

/* Keep the value of a variable, if it is this one, and the first of its name. */
static void take_value(struct otel_environ *out, const char *var, size_t len, const char *name,
		       char *value, size_t size, bool *seen)
{
	size_t value_len;
	const char *from = value_of(var, len, name, &value_len);

	if (!from || *seen)
		return;
	*seen = true;
	if (keep_value(value, size, from, value_len) == value_len)
		return;
	out->cut = true;
	if (value == out->resource) {
		const char *comma = strrchr(value, ',');

		value[comma ? comma - value : 0] = '\0';
	}
}

static void take_variable(struct otel_environ *out, const char *var, size_t len, bool seen[3])
{
	if (len < 5 || (memcmp(var, "OTEL_", 5) && memcmp(var, "DD_VE", 5)))
		return;
	take_value(out, var, len, "OTEL_SERVICE_NAME", out->service_name,
		   sizeof(out->service_name), &seen[0]);
	take_value(out, var, len, "OTEL_RESOURCE_ATTRIBUTES", out->resource,
		   sizeof(out->resource), &seen[1]);
	take_value(out, var, len, "DD_VERSION", out->version, sizeof(out->version), &seen[2]);
}

void otel_environ_find(const char *text, size_t len, struct otel_environ *out)
{
	const char *end = text + len, *var, *nul;
	bool seen[3] = { false };

	memset(out, 0, sizeof(*out));
	for (var = text; var < end; var = nul + 1) {
		nul = memchr(var, '\0', (size_t)(end - var));
		if (!nul && len >= OTEL_ENVIRON_BYTES_MAX) {
			out->cut = true;
			return;
		}
		if (!nul)
			nul = end;
		take_variable(out, var, (size_t)(nul - var), seen);
	}
}
