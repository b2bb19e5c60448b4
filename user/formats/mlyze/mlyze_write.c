// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * mlyze_write.c - writes .mlyze files.
 *
 * Events go to a temporary file without a name, tables stay in memory; at the end header, metadata
 * and events are written. So fd may be a pipe, and memory only grows with what is distinct.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/util.h"
#include "formats/mlyze/mlyze_encode.h"
#include "model/intern.h"

#define SPOOL_BYTES (64 * 1024)

struct mlyze_writer {
	int fd;
	int err;		/* the first error; after it, nothing is written */
	bool finished;
	uint64_t start_us, time_us;
	struct intern *files, *functions;
	struct intern *stacks;	/* strings: arrays of struct mlyze_frame */
	FILE *spool;
	struct buf out;		/* output before the spooled events */
};

struct mlyze_writer *mlyze_writer_new(int fd, uint64_t start_us)
{
	struct mlyze_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->fd = fd;
	w->start_us = w->time_us = start_us;
	w->files = intern_new();
	w->functions = intern_new();
	w->stacks = intern_new();
	w->spool = tmpfile();
	if (!w->files || !w->functions || !w->stacks || !w->spool) {
		int err = w->spool ? ENOMEM : errno;

		mlyze_writer_free(w);
		errno = err;
		return NULL;
	}
	return w;
}

void mlyze_writer_free(struct mlyze_writer *w)
{
	if (!w)
		return;
	intern_free(w->files);
	intern_free(w->functions);
	intern_free(w->stacks);
	if (w->spool)
		fclose(w->spool);
	buf_free(&w->out);
	free(w);
}

static int check(const struct mlyze_writer *w)
{
	return w->err ? w->err : w->finished ? -EINVAL : 0;
}

static int fail(struct mlyze_writer *w, int err)
{
	if (err && !w->err)
		w->err = err;
	return err;
}

int mlyze_add_file(struct mlyze_writer *w, const char *s, size_t len, uint32_t *id)
{
	int err = check(w);

	return err ? err : fail(w, intern_string(w->files, s, len, id));
}

int mlyze_add_function(struct mlyze_writer *w, const char *s, size_t len, uint32_t *id)
{
	int err = check(w);

	return err ? err : fail(w, intern_string(w->functions, s, len, id));
}

int mlyze_add_stack(struct mlyze_writer *w, const struct mlyze_frame *frames, size_t cnt,
		    uint32_t *id)
{
	size_t i;
	int err = check(w);

	for (i = 0; !err && i < cnt; i++) {
		if (frames[i].file >= intern_tables(w->files)->string_cnt ||
		    frames[i].func >= intern_tables(w->functions)->string_cnt)
			err = -EINVAL;
	}
	if (!err && cnt > UINT32_MAX / sizeof(*frames))
		err = -EINVAL;
	if (err)
		return err;
	return fail(w, intern_string(w->stacks, cnt ? (const char *)frames : "",
				     cnt * sizeof(*frames), id));
}

/* ---- events ---- */

static int flush(struct mlyze_writer *w)
{
	int err = write_all(fileno(w->spool), w->out.data, w->out.len);

	w->out.len = 0;
	return fail(w, err);
}

static int put_event(struct mlyze_writer *w, const struct mlyze_event *ev)
{
	uint8_t *p;
	int err = check(w);

	if (!err && ev->time_us < w->time_us)
		err = -EINVAL;
	if (!err)
		err = fail(w, buf_reserve(&w->out, MLYZE_EVENT_MAX_BYTES));
	if (err)
		return err;
	p = mlyze_encode(w->out.data + w->out.len, ev, w->time_us);
	w->out.len = p - w->out.data;
	w->time_us = ev->time_us;
	return w->out.len < SPOOL_BYTES ? 0 : flush(w);
}

int mlyze_put_alloc(struct mlyze_writer *w, uint64_t time_us, uint64_t addr, uint64_t size,
		    uint32_t stack, uint16_t thread)
{
	const struct mlyze_event ev = { .type = MLYZE_ALLOC, .time_us = time_us, .addr = addr,
					.size = size, .stack = stack, .thread = thread };

	if (stack >= intern_tables(w->stacks)->string_cnt)
		return -EINVAL;
	return put_event(w, &ev);
}

int mlyze_put_free(struct mlyze_writer *w, uint64_t time_us, uint64_t addr)
{
	const struct mlyze_event ev = { .type = MLYZE_FREE, .time_us = time_us, .addr = addr };

	return put_event(w, &ev);
}

int mlyze_put_gc(struct mlyze_writer *w, uint64_t time_us, uint64_t objects, uint64_t bytes)
{
	const struct mlyze_event ev = { .type = MLYZE_GC, .time_us = time_us, .objects = objects,
					.bytes = bytes };

	return put_event(w, &ev);
}

int mlyze_put_marker(struct mlyze_writer *w, uint64_t time_us, uint32_t function)
{
	const struct mlyze_event ev = { .type = MLYZE_MARKER, .time_us = time_us, .name = function };

	if (function >= intern_tables(w->functions)->string_cnt)
		return -EINVAL;
	return put_event(w, &ev);
}

/* ---- the end ---- */

static void write_names(struct json *j, const char *key, const struct profile_tables *tables)
{
	char id[16];
	uint32_t i;

	json_object(j, key);
	for (i = 0; i < tables->string_cnt; i++) {
		snprintf(id, sizeof(id), "%u", i);
		json_string_n(j, id, tables->strings[i].data, tables->strings[i].len);
	}
	json_object_end(j);
}

static void write_stack(struct json *j, const char *key, const struct string_ref *stack)
{
	struct mlyze_frame f;
	size_t at;

	json_array(j, key);
	for (at = 0; at < stack->len; at += sizeof(f)) {
		memcpy(&f, stack->data + at, sizeof(f));
		json_object(j, NULL);
		json_uint(j, "file_id", f.file);
		json_int(j, "line", f.line > 0 ? f.line : 0);
		json_uint(j, "func_id", f.func);
		json_object_end(j);
	}
	json_array_end(j);
}

static int write_metadata(const struct mlyze_writer *w, FILE *out)
{
	const struct profile_tables *stacks = intern_tables(w->stacks);
	struct json j;
	char id[16];
	uint32_t i;

	json_start(&j, out, false);
	json_object(&j, NULL);
	json_object(&j, "stack_traces");
	for (i = 0; i < stacks->string_cnt; i++) {
		snprintf(id, sizeof(id), "%u", i);
		write_stack(&j, id, &stacks->strings[i]);
	}
	json_object_end(&j);
	write_names(&j, "files", intern_tables(w->files));
	write_names(&j, "functions", intern_tables(w->functions));
	json_object_end(&j);
	return ferror(out) ? -ENOMEM : 0;
}

static int write_head(struct mlyze_writer *w, const char *metadata, size_t len)
{
	uint8_t header[MLYZE_HEADER_BYTES];
	int err;

	if (len > UINT32_MAX)
		return -EFBIG;
	mlyze_encode_header(header, w->start_us, (uint32_t)len);
	err = write_all(w->fd, header, sizeof(header));
	return err ? err : write_all(w->fd, metadata, len);
}

static int copy_spool(struct mlyze_writer *w)
{
	int from = fileno(w->spool), err = 0;
	ssize_t n = 1;

	if (lseek(from, 0, SEEK_SET) < 0 || buf_reserve(&w->out, SPOOL_BYTES))
		return -ENOMEM;
	while (!err && n) {
		n = read(from, w->out.data, SPOOL_BYTES);
		if (n < 0 && errno == EINTR)
			continue;
		err = n < 0 ? -errno : write_all(w->fd, w->out.data, (size_t)n);
	}
	return err;
}

int mlyze_finish(struct mlyze_writer *w)
{
	char *metadata = NULL;
	size_t len = 0;
	FILE *out;
	int err = check(w);

	if (!err)
		err = flush(w);
	if (err)
		return err;
	w->finished = true;
	out = open_memstream(&metadata, &len);
	if (!out)
		return fail(w, -ENOMEM);
	err = write_metadata(w, out);
	if (fclose(out) && !err)
		err = -ENOMEM;
	if (!err)
		err = write_head(w, metadata, len);
	if (!err)
		err = copy_spool(w);
	free(metadata);
	return fail(w, err);
}
