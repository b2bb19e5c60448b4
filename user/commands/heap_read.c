// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * heap_read.c - see heap_read.h. Members that are missing are 0, except those that a comparison
 * needs.
 */
#include "commands/heap_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_members.h"
#include "base/text.h"
#include "base/util.h"
#include "commands/heap_show.h"

/* Larger numbers are cut, so that differences of two fit. */
#define NUMBER_MAX (INT64_MAX / 4)
#define PROGRAM_BYTES 256

bool heap_read_detects(const char *data, size_t len)
{
	struct json_pull j;
	struct buf key = { 0 };
	bool found;

	json_pull_start(&j, data, len, 0);
	j.string_max = 64;
	found = json_pull_enter(&j, JT_OBJECT) && json_pull_key(&j, &key) &&
		json_key_is(&key, HEAP_JSON_KEY);
	buf_free(&key);
	return found;
}

static int64_t number_of(const struct json_member *m)
{
	uint64_t v;

	if (!json_member_count(m, &v))
		return 0;
	return v > NUMBER_MAX ? NUMBER_MAX : (int64_t)v;
}

/* Copies a string, as whole characters; "" if there is none. */
static void copy_string(const struct json_member *m, char *out, size_t size)
{
	struct buf text = { 0 };

	*out = '\0';
	if (json_member_string(m, &text))
		utf8_copy(out, size, (const char *)text.data, strlen((const char *)text.data));
	buf_free(&text);
}

/* What is wrong after the last element of an array; NULL: nothing. */
static const char *array_error(const struct json_pull *j)
{
	return j->err ? "it is damaged" : NULL;
}

/* ---- a process ---- */

enum row_key { TYPE, OBJECTS, OBJECTS_ERROR, BYTES, BYTES_ERROR, OWNED, ROW_KEYS };

static bool read_row(struct json_pull *j, struct heap_row *row)
{
	struct json_member m[ROW_KEYS] = {
		[TYPE] = { .key = "type" }, [OBJECTS] = { .key = "objects" },
		[OBJECTS_ERROR] = { .key = "objects_error" }, [BYTES] = { .key = "bytes" },
		[BYTES_ERROR] = { .key = "bytes_error" }, [OWNED] = { .key = "owned" },
	};

	if (!json_members(j, m, ROW_KEYS))
		return false;
	copy_string(&m[TYPE], row->name, sizeof(row->name));
	row->objects = (uint64_t)number_of(&m[OBJECTS]);
	row->objects_error = (uint64_t)number_of(&m[OBJECTS_ERROR]);
	row->bytes = (uint64_t)number_of(&m[BYTES]);
	row->bytes_error = (uint64_t)number_of(&m[BYTES_ERROR]);
	row->owned = (uint64_t)number_of(&m[OWNED]);
	return true;
}

/* Returns NULL, or what is wrong. */
static const char *read_rows(const struct json_member *types, struct heap_census *c)
{
	struct json_pull j;

	if (!json_member_enter(types, JT_ARRAY, &j))
		return "a process has no types";
	while (json_pull_element(&j)) {
		if (c->row_cnt == HEAP_TYPES_MAX)
			return "a process has too many types";
		if (!read_row(&j, &c->rows[c->row_cnt]))
			return "a type is not an object";
		c->row_cnt++;
	}
	return array_error(&j);
}

enum left_key { BAD_POOLS, BAD_TYPES, UNREAD, LEFT_KEYS };

static void read_left_out(const struct json_member *left, struct heap_census *c)
{
	struct json_member m[LEFT_KEYS] = {
		[BAD_POOLS] = { .key = "bad_pools" }, [BAD_TYPES] = { .key = "bad_types" },
		[UNREAD] = { .key = "unread" },
	};

	if (!json_member_object(left, m, LEFT_KEYS))
		return;
	c->bad_pools = (uint64_t)number_of(&m[BAD_POOLS]);
	c->bad_types = (uint64_t)number_of(&m[BAD_TYPES]);
	c->unread = (uint64_t)number_of(&m[UNREAD]);
}

enum process_key { PID, PROGRAM, PYTHON, TIME, TOOK, RSS, POOLS, POOLS_READ, POOL_BYTES, LEFT_OUT,
		   LIMITED, ALLOCATOR, TYPES, PROCESS_KEYS };

/* Seconds as nanoseconds; 0: none, or not a time. */
static uint64_t time_of(const struct json_member *m)
{
	struct json_pull j = m->value;
	double s;

	if (!json_member_is(m, JT_NUMBER) || !json_pull_double(&j, &s) || s <= 0 || s > 1e9 * 8)
		return 0;
	return (uint64_t)(s * 1e9);
}

static const char *fill_process(const struct json_member m[PROCESS_KEYS],
				struct heap_file_process *p)
{
	char text[PROGRAM_BYTES], python[sizeof(p->python)];
	struct heap_census *c = p->census;

	p->pid = (int32_t)(number_of(&m[PID]) & INT32_MAX);
	copy_string(&m[PROGRAM], text, sizeof(text));
	p->program = text_escape(text, strlen(text));
	copy_string(&m[PYTHON], python, sizeof(python));
	escape_text(python, strlen(python), p->python, sizeof(p->python));
	c->time_ns = time_of(&m[TIME]);
	c->took_ns = time_of(&m[TOOK]);
	c->rss = (uint64_t)number_of(&m[RSS]);
	c->pools = (uint64_t)number_of(&m[POOLS]);
	c->pools_read = (uint64_t)number_of(&m[POOLS_READ]);
	c->pool_bytes = (uint64_t)number_of(&m[POOL_BYTES]);
	c->limited = json_member_is(&m[LIMITED], JT_TRUE);
	copy_string(&m[ALLOCATOR], text, sizeof(text));
	c->pages = !strcmp(text, "mimalloc");
	read_left_out(&m[LEFT_OUT], c);
	if (!c->time_ns)
		return "a process has no time";
	return read_rows(&m[TYPES], c);
}

/* Returns NULL, or what is wrong; "": no memory. */
static const char *read_process(struct json_pull *j, struct heap_file *out)
{
	struct json_member m[PROCESS_KEYS] = {
		[PID] = { .key = "pid" }, [PROGRAM] = { .key = "program" },
		[PYTHON] = { .key = "python" }, [TIME] = { .key = "time" },
		[TOOK] = { .key = "took" }, [RSS] = { .key = "rss" },
		[POOLS] = { .key = "pools" }, [POOLS_READ] = { .key = "pools_read" },
		[POOL_BYTES] = { .key = "pool_bytes" },
		[LEFT_OUT] = { .key = "left_out" }, [LIMITED] = { .key = "limited" },
		[ALLOCATOR] = { .key = "allocator" },
		[TYPES] = { .key = "types" },
	};
	struct heap_file_process p = { 0 };
	const char *wrong;

	if (!json_members(j, m, PROCESS_KEYS))
		return "a process is not an object";
	p.census = calloc(1, sizeof(*p.census));
	if (!p.census)
		return "";
	wrong = fill_process(m, &p);
	if (!wrong && p.program && !array_add(out->list, out->cnt, out->cap, p))
		return NULL;
	free(p.program);
	free(p.census);
	return wrong ? wrong : "";
}

/* ---- the file ---- */

static const char *read_processes(const struct json_member *processes, struct heap_file *out)
{
	const char *wrong = NULL;
	struct json_pull j;

	if (!json_member_enter(processes, JT_ARRAY, &j))
		return "it has no list of processes";
	while (!wrong && json_pull_element(&j))
		wrong = out->cnt < HEAP_FILE_PROCESSES_MAX ? read_process(&j, out) :
			"it has too many processes";
	return wrong ? wrong : array_error(&j);
}

int heap_read(const char *data, size_t len, struct heap_file *out, char why[HEAP_READ_WHY_BYTES])
{
	struct json_member m[] = { { .key = HEAP_JSON_KEY }, { .key = "processes" } };
	const char *wrong = NULL;
	struct json_pull j;
	uint64_t version;

	*out = (struct heap_file){ .list = NULL };
	json_pull_start(&j, data, len, 0);
	if (!json_members(&j, m, ARRAY_SIZE(m))) {
		snprintf(why, HEAP_READ_WHY_BYTES, "at byte %zu: expected %s",
			 json_pull_offset(&j), j.err ? j.err : "an object");
		return -EBADMSG;
	}
	if (!json_member_count(&m[0], &version) || version != HEAP_JSON_VERSION)
		wrong = "its version is not known: it is of a newer tachbpf";
	if (!wrong)
		wrong = read_processes(&m[1], out);
	if (!wrong)
		return 0;
	snprintf(why, HEAP_READ_WHY_BYTES, "%s", *wrong ? wrong : strerror(ENOMEM));
	return *wrong ? -EBADMSG : -ENOMEM;
}

void heap_file_free(struct heap_file *f)
{
	size_t i;

	for (i = 0; i < f->cnt; i++) {
		free(f->list[i].program);
		free(f->list[i].census);
	}
	free(f->list);
	*f = (struct heap_file){ .list = NULL };
}
