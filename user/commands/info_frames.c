// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* info_frames.c - see info_frames.h. */
#include "commands/info_frames.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/text.h"
#include "commands/limit.h"
#include "model/native_library.h"
#include "model/profile_names.h"

struct kinds {
	uint32_t cnt[FRAME_KIND_CNT];
};

static struct kinds count_kinds(const struct profile_tables *t)
{
	struct kinds k = { 0 };
	uint32_t i;

	for (i = 0; i < t->frame_cnt; i++)
		if (t->frames[i].kind < FRAME_KIND_CNT)
			k.cnt[t->frames[i].kind]++;
	return k;
}

static void json_library(struct json *j, const struct native_library *l)
{
	char build_id[NATIVE_BUILD_ID_TEXT];

	json_object(j, NULL);
	json_string_n(j, "name", l->name.data, l->name.len);
	if (l->path.len)
		json_string_n(j, "path", l->path.data, l->path.len);
	else
		json_null(j, "path");
	json_string(j, "build_id", l->build_id_bytes ? native_build_id_text(l, build_id) : NULL);
	json_object_end(j);
}

int info_frames_json(struct json *j, const struct profile_tables *tables)
{
	struct kinds k = count_kinds(tables);
	struct native_index x;
	int err = native_index_make(&x, tables);
	uint32_t i;

	json_object(j, "frame_kinds");
	for (i = 0; i < FRAME_KIND_CNT; i++)
		json_uint(j, profile_frame_kind_name((enum frame_kind)i), k.cnt[i]);
	json_object_end(j);
	json_array(j, "libraries");
	for (i = 0; !err && i < x.cnt; i++)
		json_library(j, &x.list[i]);
	json_array_end(j);
	native_index_free(&x);
	return err;
}

static void print_kinds(const struct kinds *k)
{
	const char *gap = "";
	uint32_t i;

	printf("  %-12s ", "frames");
	for (i = 0; i < FRAME_KIND_CNT; i++) {
		if (!k->cnt[i])
			continue;
		printf("%s%u %s", gap, k->cnt[i], profile_frame_kind_name((enum frame_kind)i));
		gap = ", ";
	}
	printf("\n");
}

static int print_library(const struct native_library *l, bool first)
{
	const struct string_ref *shown = l->path.len ? &l->path : &l->name;
	char build_id[NATIVE_BUILD_ID_TEXT], *text = text_escape(shown->data, shown->len);

	if (!text)
		return -ENOMEM;
	printf("  %-12s %s%s%s\n", first ? "libraries" : "", text,
	       l->build_id_bytes ? ", build id " : "", native_build_id_text(l, build_id));
	free(text);
	return 0;
}

int info_frames_print(const struct profile_tables *tables, uint32_t limit)
{
	struct kinds k = count_kinds(tables);
	struct native_index x;
	size_t i, shown;
	int err;

	if (k.cnt[FRAME_PYTHON] == tables->frame_cnt)
		return 0;
	print_kinds(&k);
	err = native_index_make(&x, tables);
	shown = limit_rows(limit, x.cnt);
	for (i = 0; !err && i < shown; i++)
		err = print_library(&x.list[i], !i);
	limit_print_more("               ", x.cnt, shown);
	native_index_free(&x);
	return err;
}
