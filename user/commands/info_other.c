// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* info_other.c - see info_show.h. Does not know any format: the reader describes its file. */
#include "commands/info_show.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "commands/show.h"
#include "formats/describe.h"
#include "formats/readers.h"
#include "model/profile_names.h"
#include "model/reader.h"

/* ---- JSON ---- */

struct json_describe {
	struct describe d;
	struct json *j;
	bool in_item;
};

static struct json_describe *to_json(struct describe *d)
{
	return (struct json_describe *)d;
}

static void json_text(struct describe *d, const char *key, const char *s, size_t len)
{
	json_string_n(to_json(d)->j, key, s, len);
}

static void json_number(struct describe *d, const char *key, uint64_t v)
{
	json_uint(to_json(d)->j, key, v);
}

static void json_list(struct describe *d, const char *key)
{
	json_array(to_json(d)->j, key);
}

static void end_item(struct json_describe *d)
{
	if (d->in_item)
		json_object_end(d->j);
	d->in_item = false;
}

static void json_item(struct describe *d)
{
	end_item(to_json(d));
	to_json(d)->in_item = true;
	json_object(to_json(d)->j, NULL);
}

static void json_list_end(struct describe *d)
{
	end_item(to_json(d));
	json_array_end(to_json(d)->j);
}

void info_other_json(struct json *j, const struct reader *r)
{
	const struct reader_info *info = reader_info(r);
	struct json_describe d = {
		.d = { json_text, json_number, json_list, json_item, json_list_end }, .j = j,
	};

	json_string(j, "format", reader_format(r));
	if (info->name.len)
		json_ref(j, "name", &info->name);
	else
		json_null(j, "name");
	json_string(j, "mode", profile_mode_name(info->meta.mode));
	json_string(j, "unit", profile_unit_name(info->meta.unit));
	json_uint(j, "total", info->weight_sum);
	json_uint(j, "stack_events", info->event_cnt);
	json_uint(j, "truncated", info->truncated_cnt);
	if (info->stats.known) {
		json_uint(j, "start_us", info->meta.start_us);
		json_uint(j, "interval_us", info->meta.interval_us);
		json_double(j, "duration_s", info->stats.duration_s);
	} else {
		json_null(j, "start_us");
		json_null(j, "interval_us");
		json_null(j, "duration_s");
	}
	json_uint(j, "string_count", reader_tables(r)->string_cnt);
	json_uint(j, "frame_count", reader_tables(r)->frame_cnt);
	json_uint(j, "size_bytes", info->file_size);
	reader_describe(r, &d.d);
}

/* ---- text ---- */

struct text_describe {
	struct describe d;
	bool in_list, in_item;
};

static struct text_describe *to_text(struct describe *d)
{
	return (struct text_describe *)d;
}

/* Prints a key, such as "peak_bytes", as a heading, or in a list before its value. */
static void print_key(struct describe *d, const char *key)
{
	char words[64], *p;

	snprintf(words, sizeof(words), "%s", key);
	for (p = words; (p = strchr(p, '_')); p++)
		*p = ' ';
	if (!to_text(d)->in_list) {
		printf("  %-24s ", words);
		return;
	}
	printf("%s%s ", to_text(d)->in_item ? ", " : "    ", words);
	to_text(d)->in_item = true;
}

static void text_text(struct describe *d, const char *key, const char *s, size_t len)
{
	char *shown = text_escape(s, len);

	print_key(d, key);
	printf("%s%s", shown ? shown : "?", to_text(d)->in_list ? "" : "\n");
	free(shown);
}

static void text_number(struct describe *d, const char *key, uint64_t v)
{
	print_key(d, key);
	printf("%" PRIu64 "%s", v, to_text(d)->in_list ? "" : "\n");
}

static void text_list(struct describe *d, const char *key)
{
	print_key(d, key);
	to_text(d)->in_list = true;
	to_text(d)->in_item = false;
}

static void text_item(struct describe *d)
{
	printf("\n");
	to_text(d)->in_item = false;
}

static void text_list_end(struct describe *d)
{
	printf("\n");
	to_text(d)->in_list = false;
	to_text(d)->in_item = false;
}

void info_other_print(const struct reader *r)
{
	const struct reader_info *info = reader_info(r);
	const struct profile_tables *tables = reader_tables(r);
	struct text_describe d = {
		.d = { text_text, text_number, text_list, text_item, text_list_end },
	};
	char total[SHOW_AMOUNT_BYTES];

	text_text(&d.d, "format", reader_format(r), strlen(reader_format(r)));
	if (info->name.len)
		text_text(&d.d, "name", info->name.data, info->name.len);
	printf("  %-24s %s in %" PRIu64 " %s\n", "total",
	       show_total(info->weight_sum, info->meta.unit, total), info->event_cnt,
	       text_plural(info->event_cnt, "event", "events"));
	if (info->truncated_cnt)
		text_number(&d.d, "truncated stacks", info->truncated_cnt);
	if (info->stats.known)
		printf("  %-24s %.3f s\n", "duration", info->stats.duration_s);
	if (info->stats.known && info->meta.unit != UNIT_BYTES)
		printf("  %-24s %" PRIu64 " us\n", "interval", info->meta.interval_us);
	printf("  %-24s %u %s, %u %s\n", "tables", tables->string_cnt,
	       text_plural(tables->string_cnt, "string", "strings"), tables->frame_cnt,
	       text_plural(tables->frame_cnt, "frame", "frames"));
	printf("  %-24s %" PRIu64 " bytes\n", "size", info->file_size);
	reader_describe(r, &d.d);
}
