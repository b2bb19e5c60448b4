// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * regions_file.c - see regions_file.h.
 *
 * The text is decoded twice: first everything is checked, and only times and offsets are kept; then
 * in order, one region at a time.
 */
#include "recording/regions_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json_members.h"
#include "host/regular.h"

#define VERSION 1

struct region_place {
	uint64_t begin_ns, end_ns;
	size_t at;		/* offset of its array */
};

/* A region, and what owns its texts. */
struct decoded {
	struct profile_region region;
	struct region_attribute attributes[REGION_ATTRIBUTES_MAX];
	struct buf name, names[REGION_ATTRIBUTES_MAX], values[REGION_ATTRIBUTES_MAX];
};

static void free_decoded(struct decoded *d)
{
	size_t i;

	for (i = 0; i < REGION_ATTRIBUTES_MAX; i++) {
		buf_free(&d->names[i]);
		buf_free(&d->values[i]);
	}
	buf_free(&d->name);
}

static struct string_ref ref_of(const struct buf *b)
{
	return (struct string_ref){ (const char *)b->data, (uint32_t)b->len };
}

/* ---- a region ---- */

static bool next_part(struct json_pull *j)
{
	return json_pull_element(j) || json_pull_fail(j, "a region's next part");
}

static bool read_number(struct json_pull *j, uint64_t *v)
{
	return next_part(j) && json_pull_uint(j, v) &&
	       (*v <= INT64_MAX || json_pull_fail(j, "a number of at most 63 bits"));
}

static bool read_value(struct json_pull *j, struct buf *text, struct region_attribute *a)
{
	enum json_type type = json_pull_type(j);
	size_t from = j->at;

	a->is_text = type == JT_STRING;
	if (type == JT_OBJECT || type == JT_ARRAY)
		return json_pull_fail(j, "text, a number, true, false or null");
	if (a->is_text ? !json_pull_string(j, text) : !json_pull_skip(j))
		return false;
	if (!a->is_text && j->at - from > REGION_VALUE_BYTES)
		return json_pull_fail(j, "a shorter number");
	a->value = a->is_text ? ref_of(text) :
				(struct string_ref){ j->data + from, (uint32_t)(j->at - from) };
	return true;
}

static bool read_attributes(struct json_pull *j, struct decoded *d)
{
	struct buf more = { 0 };
	size_t cnt = 0;
	bool ok = next_part(j) && json_pull_enter(j, JT_OBJECT);

	j->string_max = REGION_VALUE_BYTES;
	while (ok && json_pull_key(j, cnt < REGION_ATTRIBUTES_MAX ? &d->names[cnt] : &more)) {
		if (cnt == REGION_ATTRIBUTES_MAX) {
			ok = json_pull_fail(j, "at most 16 attributes");
			break;
		}
		d->attributes[cnt].name = ref_of(&d->names[cnt]);
		ok = read_value(j, &d->values[cnt], &d->attributes[cnt]);
		cnt++;
	}
	buf_free(&more);
	d->region.attributes = d->attributes;
	d->region.attribute_cnt = cnt;
	return !j->err;
}

/* Reads the region that begins here. */
static bool decode(struct json_pull *j, struct decoded *d)
{
	struct profile_region *r = &d->region;

	j->string_max = REGION_NAME_BYTES;
	if (!json_pull_enter(j, JT_ARRAY) || !next_part(j) || !json_pull_string(j, &d->name) ||
	    !read_number(j, &r->thread_id) || !read_number(j, &r->begin_ns) ||
	    !read_number(j, &r->end_ns))
		return false;
	r->name = ref_of(&d->name);
	if (r->end_ns < r->begin_ns)
		return json_pull_fail(j, "a region's end after its begin");
	if (!read_attributes(j, d))
		return false;
	return json_pull_element(j) ? json_pull_fail(j, "a region of five parts") : !j->err;
}

/* ---- the file ---- */

bool regions_path(const char *recording, char out[PATH_MAX])
{
	return snprintf(out, PATH_MAX, "%s" REGIONS_BESIDE_SUFFIX, recording) < PATH_MAX;
}

static int in_order(const void *a, const void *b)
{
	const struct region_place *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns ? -1 : 1;
	return x->at < y->at ? -1 : 1;	/* open all the time: the outer one comes first */
}

/* Notes every region of the array that j has entered. 0 or -ENOMEM; other errors are j's. */
static int note_regions(struct regions *r, struct json_pull *j)
{
	struct decoded d = { 0 };
	int err = 0;

	while (!err && json_pull_element(j)) {
		struct region_place place;

		if (r->cnt == REGIONS_MAX)
			json_pull_fail(j, "at most 100000 regions");
		json_pull_type(j);	/* skips white space */
		place.at = j->at;
		if (!decode(j, &d))
			break;
		place.begin_ns = d.region.begin_ns;
		place.end_ns = d.region.end_ns;
		err = array_add(r->list, r->cnt, r->cap, place);
	}
	free_decoded(&d);
	return err;
}

static int damaged(const struct json_pull *j, char *why, size_t why_size)
{
	snprintf(why, why_size, "expected %s at byte %zu", j->err, json_pull_offset(j));
	return -EBADMSG;
}

static int read_text(struct regions *r, char *why, size_t why_size)
{
	enum { MEMBER_VERSION, MEMBER_PID, MEMBER_BEGIN, MEMBER_LOST, MEMBER_REGIONS, CNT };
	struct json_member m[CNT] = { { .key = "version" }, { .key = "pid" },
				      { .key = "begin_ns" }, { .key = "lost" },
				      { .key = "regions" } };
	struct json_pull j;
	uint64_t version;
	int err;

	json_pull_start(&j, r->text.data, r->text.len, 0);
	j.string_max = REGION_NAME_BYTES;
	if (!json_members(&j, m, CNT) || !json_pull_finish(&j))
		return damaged(&j, why, why_size);
	if (!json_member_count(&m[MEMBER_VERSION], &version) || version != VERSION ||
	    !json_member_count(&m[MEMBER_BEGIN], &r->begin_ns) ||
	    !json_member_count(&m[MEMBER_LOST], &r->lost) ||
	    !json_member_enter(&m[MEMBER_REGIONS], JT_ARRAY, &j)) {
		snprintf(why, why_size, "this version of tachbpf did not write it");
		return -EBADMSG;
	}
	json_member_count(&m[MEMBER_PID], &r->pid);
	err = note_regions(r, &j);
	if (err)
		snprintf(why, why_size, "%s", strerror(-err));
	else if (j.err)
		err = damaged(&j, why, why_size);
	if (!err && r->cnt)
		qsort(r->list, r->cnt, sizeof(*r->list), in_order);
	return err;
}

int regions_read(struct regions *r, int dirfd, const char *name, char *why, size_t why_size)
{
	int fd = open_regular(dirfd, name, 0), err = fd < 0 ? fd : 0;

	*r = (struct regions){ 0 };
	if (!err)
		err = buf_add_file(&r->text, fd, REGIONS_FILE_BYTES);
	if (fd >= 0)
		close(fd);
	if (err == -EFBIG)
		snprintf(why, why_size, "it is larger than %zu MiB", REGIONS_FILE_BYTES >> 20);
	else if (err)
		snprintf(why, why_size, "%s", strerror(-err));
	else
		err = read_text(r, why, why_size);
	if (err)
		regions_free(r);
	return err;
}

int regions_each(const struct regions *r,
		 int (*each)(void *ctx, const struct profile_region *region), void *ctx)
{
	struct decoded d = { 0 };
	struct json_pull j;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < r->cnt; i++) {
		json_pull_start(&j, r->text.data, r->text.len, 0);
		j.at = r->list[i].at;
		err = decode(&j, &d) ? each(ctx, &d.region) : -ENOMEM;	/* it was read before */
	}
	free_decoded(&d);
	return err;
}

void regions_free(struct regions *r)
{
	buf_free(&r->text);
	free(r->list);
	*r = (struct regions){ 0 };
}
