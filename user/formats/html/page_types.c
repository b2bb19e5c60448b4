// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* page_types.c - see page_types.h. */
#include "formats/html/page_types.h"

#include "formats/html/html_page.h"

static void put_known(struct json *j, uint64_t v)
{
	if (v == TYPE_SERIES_UNKNOWN)
		json_null(j, NULL);
	else
		json_uint(j, NULL, v);
}

static void put_column(struct json *j, const char *key, const uint64_t *list, uint32_t cnt)
{
	uint32_t i;

	json_array(j, key);
	for (i = 0; i < cnt; i++)
		put_known(j, list[i]);
	json_array_end(j);
}

static int put_type(struct json *j, const struct type_series *s, const struct type_line *l)
{
	int err;

	json_object(j, NULL);
	err = html_json_text(j, "name", l->name);
	put_column(j, "objects", l->objects, 2);
	json_int(j, "more_objects", l->more_objects);
	json_uint(j, "objects_error", l->objects_error);
	json_int(j, "more_bytes", l->more_bytes);
	json_uint(j, "bytes_error", l->bytes_error);
	put_column(j, "bytes", l->bytes, s->cnt);
	json_object_end(j);
	return err;
}

int page_types_json(struct json *j, const struct type_series *s)
{
	uint32_t i;
	int err = 0;

	if (!s)
		return 0;
	json_object(j, "types");
	put_column(j, "times_us", s->times_us, s->cnt);
	json_uint(j, "grown", s->grown);
	json_array(j, "list");
	for (i = 0; !err && i < s->type_cnt; i++)
		err = put_type(j, s, &s->types[i]);
	json_array_end(j);
	json_object_end(j);
	return err;
}
