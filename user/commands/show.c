// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* show.c - see show.h. */
#include "commands/show.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/text.h"
#include "base/time.h"
#include "base/util.h"
#include "commands/profile_set.h"
#include "model/native_frame.h"
#include "model/profile_names.h"
#include "model/thread_names.h"
#include "resolve/losses.h"

/* ---- amounts ---- */

const char *show_unit(enum profile_unit unit)
{
	return unit == UNIT_NANOSECONDS ? "seconds" : profile_unit_name(unit);
}

const char *show_amount(uint64_t amount, enum profile_unit unit, char out[SHOW_AMOUNT_BYTES])
{
	if (unit == UNIT_NANOSECONDS)
		snprintf(out, SHOW_AMOUNT_BYTES, "%.3f", (double)amount / (double)NS_PER_S);
	else
		snprintf(out, SHOW_AMOUNT_BYTES, "%" PRIu64, amount);
	return out;
}

const char *show_total(uint64_t amount, enum profile_unit unit, char out[SHOW_AMOUNT_BYTES])
{
	size_t len = strlen(show_amount(amount, unit, out));

	snprintf(out + len, SHOW_AMOUNT_BYTES - len, " %s",
		 unit == UNIT_NANOSECONDS ? "s sampled" : profile_unit_of(amount, unit));
	return out;
}

/* ---- functions and their places ---- */

char *show_place(enum frame_kind kind, const struct string_ref *file, int32_t line)
{
	char *path, *place = NULL;

	if (!frame_has_file(kind, file))
		return strdup("");
	path = text_escape(file->data, file->len);
	if (!path || line <= 0)
		return path;
	if (asprintf(&place, "%s:%d", path, line) < 0)
		place = NULL;
	free(path);
	return place;
}

static void json_file(struct json *j, enum frame_kind kind, const struct string_ref *file)
{
	if (frame_has_file(kind, file))
		json_ref(j, "file", file);
	else
		json_null(j, "file");
}

static void json_line(struct json *j, int32_t line)
{
	json_uint_known(j, "line", line > 0 ? (uint64_t)line : 0);
}

void show_json_row(struct json *j, const struct string_ref *func, enum frame_kind kind,
		   const struct string_ref *file, int32_t line)
{
	json_ref(j, "function", func);
	json_file(j, kind, file);
	json_string(j, "kind", profile_frame_kind_name(kind));
	json_line(j, line);
}

void show_json_frame(struct json *j, const char *key, const struct profile_tables *tables,
		     uint32_t frame)
{
	const struct frame *f = &tables->frames[frame];

	json_object(j, key);
	json_ref(j, "function", &tables->strings[f->func]);
	json_file(j, f->kind, &tables->strings[f->file]);
	json_line(j, f->line);
	json_object_end(j);
}

/* ---- losses: causes and names in the JSON may have any bytes ---- */

char *loss_words(const char *cause)
{
	const char *text = loss_text(cause);
	char *words = text_escape(text ? text : cause, strlen(text ? text : cause)), *p;

	for (p = words; p && *p; p++)
		*p = *p == '_' ? ' ' : *p;
	return words;
}

static void print_loss(void *ctx, const char *cause, uint64_t cnt)
{
	char *shown = loss_words(cause);
	bool *any = ctx;

	if (cnt)
		printf("%s%" PRIu64 " %s", *any ? "; " : "", cnt, shown ? shown : "?");
	*any |= cnt > 0;
	free(shown);
}

void losses_print(const struct session_json *session, const char *file)
{
	bool any = false;

	session_json_losses(session, file, print_loss, &any);
	printf("%s\n", any ? "" : "nothing");
}

static void json_loss(void *ctx, const char *cause, uint64_t cnt)
{
	json_uint(ctx, cause, cnt);
}

void losses_json(struct json *j, const struct session_json *session, const char *file)
{
	json_object(j, "lost");
	session_json_losses(session, file, json_loss, j);
	json_object_end(j);
}

/* ---- losses of threads ---- */

/* The losses of a thread are consecutive: the state of the last one. */
struct threads {
	const struct profile_file *file;
	const char *indent;
	struct json *json;
	size_t limit;		/* of lines; SIZE_MAX: all */
	size_t cnt;		/* threads so far */
	uint64_t tid;		/* of the last one */
	bool any;		/* it has had a cause */
};

/* Returns true if this loss is of another thread than the last one. */
static bool is_next(struct threads *t, uint64_t tid)
{
	if (t->cnt && t->tid == tid)
		return false;
	t->tid = tid;
	t->cnt++;
	return true;
}

static void print_thread_loss(void *ctx, uint64_t tid, const char *cause, uint64_t cnt)
{
	char label[THREAD_LABEL_BYTES];
	struct threads *t = ctx;

	if (!cnt)
		return;
	if (is_next(t, tid) && t->cnt <= t->limit) {
		t->any = false;
		printf("%s%s%s: ", t->cnt > 1 ? "\n" : "", t->indent,
		       thread_label(t->file->process.thread_names, tid, "thread ", label));
	}
	if (t->cnt <= t->limit)
		print_loss(&t->any, cause, cnt);
}

void losses_print_threads(const struct profile_file *file, const char *indent, uint32_t limit)
{
	struct threads t = { .file = file, .indent = indent,
			     .limit = limit ? limit : SIZE_MAX };

	session_json_thread_losses(file->session, file->name, print_thread_loss, &t);
	if (t.cnt)
		printf("\n");
	limit_print_more(indent, t.cnt, limit_rows(limit, t.cnt));
}

static void json_thread_loss(void *ctx, uint64_t tid, const char *cause, uint64_t cnt)
{
	struct threads *t = ctx;
	char key[24];

	if (is_next(t, tid)) {
		if (t->cnt > 1)
			json_object_end(t->json);
		snprintf(key, sizeof(key), "%" PRIu64, tid);
		json_object(t->json, key);
	}
	json_uint(t->json, cause, cnt);
}

void losses_json_threads(struct json *j, const struct profile_file *file)
{
	struct threads t = { .json = j };

	json_object(j, "lost_threads");
	session_json_thread_losses(file->session, file->name, json_thread_loss, &t);
	if (t.cnt)
		json_object_end(j);
	json_object_end(j);
}

/* ---- report's foot ---- */

struct loser {
	const struct profile_file *file;
	uint64_t lost;
};

static void add_loss(void *ctx, const char *cause, uint64_t cnt)
{
	uint64_t *sum = ctx;

	*sum = add_capped(*sum, cnt);
}

static int by_lost(const void *a, const void *b)
{
	const struct loser *x = a, *y = b;

	if (x->lost != y->lost)
		return x->lost > y->lost ? -1 : 1;
	return x->file->process.tgid < y->file->process.tgid ? -1 : 1;
}

/*
 * Returns the files with losses, sorted, to be freed; NULL: there are none. The processes of a
 * shared file are consecutive and have its path.
 */
static struct loser *find_losers(const struct profile_file *const *files, size_t cnt, size_t *found)
{
	struct loser *list = calloc(cnt + 1, sizeof(*list));
	size_t i;

	*found = 0;
	for (i = 0; list && i < cnt; i++) {
		struct loser *one = &list[*found];

		if (!files[i]->session || (i && files[i]->path == files[i - 1]->path))
			continue;
		*one = (struct loser){ .file = files[i] };
		session_json_losses(files[i]->session, files[i]->name, add_loss, &one->lost);
		*found += one->lost > 0;
	}
	if (list)
		qsort(list, *found, sizeof(*list), by_lost);
	return list;
}

static void print_loser(const struct profile_file *file)
{
	const char *comm = file->process.comm ? file->process.comm : "";
	char *shown = text_escape(comm, strlen(comm));

	if (file->process.tgid)
		printf("  %u %s: ", file->process.tgid, shown ? shown : "?");
	else
		printf("  %s: ", *comm && shown ? shown : file->shown);
	losses_print(file->session, file->name);
	free(shown);
}

void losses_print_foot(const struct profile_file *const *files, size_t cnt, uint32_t limit,
		       bool by_thread)
{
	size_t found, shown, i;
	struct loser *list = find_losers(files, cnt, &found);

	shown = limit_rows(limit, found);
	if (found)
		printf("\nLost:\n");
	for (i = 0; i < shown; i++) {
		print_loser(list[i].file);
		if (by_thread)
			losses_print_threads(list[i].file, "    ", limit);
	}
	limit_print_more("  ", found, shown);
	free(list);
}

void losses_json_foot(struct json *j, const struct profile_file *const *files, size_t cnt)
{
	size_t found, i;
	struct loser *list = find_losers(files, cnt, &found);

	json_array(j, "lost");
	for (i = 0; i < found; i++) {
		json_object(j, NULL);
		json_string(j, "path", list[i].file->path);
		json_uint_known(j, "pid", list[i].file->process.tgid);
		losses_json(j, list[i].file->session, list[i].file->name);
		losses_json_threads(j, list[i].file);
		json_object_end(j);
	}
	json_array_end(j);
	free(list);
}
