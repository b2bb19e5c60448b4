// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* row_service.c - see row_service.h. A service is a string: its parts, each with a NUL. */
#include "recording/row_service.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "base/util.h"
#include "model/intern.h"
#include "recording/session_json.h"

int row_service_number(struct intern *services, const struct profile_service *s, uint32_t *number)
{
	struct buf text = { 0 };
	uint32_t id;
	size_t i;
	int err = 0;

	*number = 0;
	if (!s->part[SERVICE_NAME] || !*s->part[SERVICE_NAME])
		return 0;
	for (i = 0; !err && i < SERVICE_PART_CNT; i++) {
		const char *part = s->part[i] ? s->part[i] : "";

		err = buf_add(&text, part, strlen(part) + 1);
	}
	if (!err)
		err = intern_string(services, (const char *)text.data, text.len, &id);
	buf_free(&text);
	if (!err)
		*number = id + 1;
	return err;
}

/* Fills *out, which points into services; number 0: with nothing. */
static void row_service_get(const struct intern *services, uint32_t number,
			    struct profile_service *out)
{
	const char *at;
	size_t i;

	*out = (struct profile_service){ 0 };
	if (!number)
		return;
	at = intern_tables(services)->strings[number - 1].data;
	for (i = 0; i < SERVICE_PART_CNT; i++, at += strlen(at) + 1)
		out->part[i] = *at ? at : NULL;
}

void row_service_json(const struct intern *services, uint32_t number, struct json *j)
{
	struct profile_service s;
	size_t i;

	if (!number)
		return;
	row_service_get(services, number, &s);
	json_object(j, SESSION_SERVICE);
	for (i = 0; i < SERVICE_PART_CNT; i++) {
		if (s.part[i])
			json_string(j, service_part_keys[i], s.part[i]);
	}
	json_object_end(j);
}
