// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * mlyze_stream.c - see mlyze_stream.h.
 *
 * Owns the two files, and which names, frames and stacks are in the journal. Memory grows with
 * distinct entries: some bytes for each string, frame and stack of the process's tables.
 */
#include "formats/mlyze/mlyze_stream.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "base/util.h"
#include "formats/mlyze/mlyze_encode.h"
#include "model/id_map.h"

#define FLUSH_BYTES (64 * 1024)
/* The limit of the metadata: it needs a little more for punctuation, and for the last marks. */
#define METADATA_MAX (UINT32_MAX - (64u << 20))
/* A frame in the metadata's stacks: {"file_id":4294967295,"line":...,"func_id":...}, */
#define FRAME_TEXT_BYTES 60

struct growing {
	char name[OUTPUT_NAME_MAX];
	struct stat was;	/* to recognise it again */
	struct buf buf;
	uint64_t bytes;		/* in the file */
};

struct mlyze_stream {
	int dirfd;
	const struct profile_tables *tables;
	int err;
	struct growing events, names;
	uint64_t time_us;
	uint64_t metadata;	/* its approximate size */
	struct id_map files, functions;	/* string id -> id in the journal */
	struct id_map frames, stacks;	/* frame id, stack's number -> the same */
	uint32_t file_cnt, function_cnt, frame_cnt, stack_cnt;
	struct buf unnamed;	/* struct unnamed */
};

/* A frame that may still get its name. */
struct unnamed {
	uint32_t frame;
	struct frame was;
};

static int fail_stream(struct mlyze_stream *s, int err)
{
	if (err && !s->err)
		s->err = err;
	return err;
}

/* ---- files ---- */

static int create_file(struct mlyze_stream *s, struct growing *g, const char *name,
		       const char *suffix)
{
	int fd, err = 0;

	if (snprintf(g->name, sizeof(g->name), "%s%s", name, suffix) >= (int)sizeof(g->name)) {
		log_error("cannot create '%s': its name is too long", name);
		return -ENAMETOOLONG;
	}
	fd = output_create_file(s->dirfd, g->name);
	if (fd < 0)
		return fd;
	if (fstat(fd, &g->was))
		err = -errno;
	close(fd);
	return err;
}

/* Appends what is buffered, from where the last whole record ends. */
static int append_file(struct mlyze_stream *s, struct growing *g)
{
	int fd, err;

	if (!g->buf.len)
		return 0;
	fd = output_reopen_file(s->dirfd, g->name, &g->was);
	if (fd < 0)
		return fd;
	err = pwrite_all(fd, g->buf.data, g->buf.len, g->bytes);
	if (close(fd) && !err)
		err = -errno;
	if (err)
		return err;
	g->bytes += g->buf.len;
	g->buf.len = 0;
	return 0;
}

/* Names first: no event in the file refers to one that is missing. */
static int write_out(struct mlyze_stream *s)
{
	int err = s->err;

	if (!err)
		err = append_file(s, &s->names);
	if (!err)
		err = append_file(s, &s->events);
	return fail_stream(s, err);
}

struct mlyze_stream *mlyze_stream_new(int dirfd, const char *name, uint64_t start_us,
				      const struct profile_tables *tables)
{
	struct mlyze_stream *s = calloc(1, sizeof(*s));
	uint64_t start = htole64(start_us);
	int err = s ? 0 : -ENOMEM;

	if (s) {
		s->dirfd = dirfd;
		s->tables = tables;
		s->time_us = start_us;
		err = create_file(s, &s->names, name, MLYZE_NAMES_SUFFIX);
		if (!err) {
			err = create_file(s, &s->events, name, MLYZE_EVENTS_SUFFIX);
			if (err)
				unlinkat(dirfd, s->names.name, 0);
		}
		if (!err)
			err = buf_add(&s->names.buf, MLYZE_NAMES_MAGIC, strlen(MLYZE_NAMES_MAGIC));
		if (!err)
			err = buf_add(&s->names.buf, &start, sizeof(start));
		if (!err)
			err = append_file(s, &s->names);
	}
	if (!err)
		return s;
	mlyze_stream_free(s);
	errno = -err;
	return NULL;
}

void mlyze_stream_free(struct mlyze_stream *s)
{
	if (!s)
		return;
	buf_free(&s->events.buf);
	buf_free(&s->names.buf);
	buf_free(&s->unnamed);
	id_map_free(&s->files);
	id_map_free(&s->functions);
	id_map_free(&s->frames);
	id_map_free(&s->stacks);
	free(s);
}

/* ---- the journal ---- */

static int put_varint(struct buf *b, uint64_t v)
{
	uint8_t bytes[VARINT_MAX];

	return buf_add(b, bytes, varint_put(bytes, v) - bytes);
}

/* Counts what a record will take in the metadata. */
static int grow_metadata(struct mlyze_stream *s, uint64_t bytes)
{
	if (bytes > METADATA_MAX - s->metadata)
		return -EFBIG;
	s->metadata += bytes;
	return 0;
}

/* In JSON, a byte may become \u00XX; the id and quotes are added. */
static int put_name(struct mlyze_stream *s, char kind, const char *text, size_t len)
{
	struct buf *b = &s->names.buf;
	int err;

	if (len > MLYZE_NAME_BYTES)
		len = MLYZE_NAME_BYTES;
	err = grow_metadata(s, 6 * (uint64_t)len + 24);
	if (!err)
		err = buf_add(b, &kind, 1);
	if (!err)
		err = put_varint(b, len);
	return err || !len ? err : buf_add(b, text, len);
}

/* The id of a string of the tables in the journal, which a new string is written to. */
static int name_id(struct mlyze_stream *s, char kind, struct id_map *map, uint32_t *cnt,
		   uint32_t string, uint32_t *id)
{
	const struct string_ref *text = &s->tables->strings[string];
	int err;

	if (id_map_get(map, string, id))
		return 0;
	err = put_name(s, kind, text->data, text->len);
	if (!err)
		err = id_map_set(map, string, *cnt);
	if (!err)
		*id = (*cnt)++;
	return err;
}

/* A frame's record. id: its id in the journal. */
static int put_frame(struct mlyze_stream *s, uint32_t id, const struct frame *f)
{
	uint64_t fields[4] = { id, 0, 0, f->line > 0 ? (uint64_t)f->line : 0 };
	uint32_t file, func;
	size_t i;
	int err = name_id(s, 'F', &s->files, &s->file_cnt, f->file, &file);

	if (!err)
		err = name_id(s, 'N', &s->functions, &s->function_cnt, f->func, &func);
	if (err)
		return err;
	fields[1] = file;
	fields[2] = func;
	err = buf_add(&s->names.buf, "R", 1);
	for (i = 0; !err && i < ARRAY_SIZE(fields); i++)
		err = put_varint(&s->names.buf, fields[i]);
	return err;
}

/* Returns true if the name may change: "<unresolved>", machine code. See intern_later(). */
static bool may_change(const struct frame *f)
{
	return f->kind != FRAME_PYTHON;
}

static int frame_id(struct mlyze_stream *s, uint32_t frame, uint32_t *id)
{
	const struct frame *f = &s->tables->frames[frame];
	const struct unnamed unnamed = { frame, *f };
	int err;

	if (id_map_get(&s->frames, frame, id))
		return 0;
	err = put_frame(s, s->frame_cnt, f);
	if (!err && may_change(f))
		err = buf_add(&s->unnamed, &unnamed, sizeof(unnamed));
	if (!err)
		err = id_map_set(&s->frames, frame, s->frame_cnt);
	if (!err)
		*id = s->frame_cnt++;
	return err;
}

/* A new stack; its frames are written before it. */
static int put_stack(struct mlyze_stream *s, const uint32_t *frames, uint32_t nframes)
{
	uint32_t ids[EVENT_MAX_FRAMES], i;
	int err = nframes > EVENT_MAX_FRAMES ? -EINVAL : 0;

	if (!err)
		err = grow_metadata(s, 24 + (uint64_t)nframes * FRAME_TEXT_BYTES);
	for (i = 0; !err && i < nframes; i++)
		err = frames[i] < s->tables->frame_cnt ? frame_id(s, frames[i], &ids[i]) : -EINVAL;
	if (!err)
		err = buf_add(&s->names.buf, "S", 1);
	if (!err)
		err = put_varint(&s->names.buf, nframes);
	for (i = nframes; !err && i; i--)
		err = put_varint(&s->names.buf, ids[i - 1]);
	return err;
}

/* Writes frames that have got their names again. They change once. */
static int rename_frames(struct mlyze_stream *s)
{
	struct unnamed *all = (struct unnamed *)(void *)s->unnamed.data;
	size_t cnt = s->unnamed.len / sizeof(*all), i, kept = 0;
	const struct frame *now;
	uint32_t id = 0;
	int err = 0;

	for (i = 0; i < cnt; i++) {
		now = &s->tables->frames[all[i].frame];
		if (!memcmp(now, &all[i].was, sizeof(*now)) || err ||
		    !id_map_get(&s->frames, all[i].frame, &id))
			all[kept++] = all[i];
		else
			err = put_frame(s, id, now);
	}
	s->unnamed.len = kept * sizeof(*all);
	return err;
}

/* ---- events ---- */

/* ev: its time may be earlier than that of the last event, and is corrected then. */
static int put_event(struct mlyze_stream *s, struct mlyze_event *ev)
{
	struct buf *b = &s->events.buf;
	int err = s->err ? s->err : buf_reserve(b, MLYZE_EVENT_MAX_BYTES);

	if (err)
		return fail_stream(s, err);
	if (ev->time_us < s->time_us)
		ev->time_us = s->time_us;
	b->len = mlyze_encode(b->data + b->len, ev, s->time_us) - b->data;
	s->time_us = ev->time_us;
	return b->len + s->names.buf.len < FLUSH_BYTES ? 0 : write_out(s);
}

/* The stack's id in the journal. */
static int stack_id(struct mlyze_stream *s, uint32_t number, const uint32_t *frames,
		    uint32_t nframes, uint32_t *id)
{
	int err;

	if (id_map_get(&s->stacks, number, id))
		return 0;
	err = put_stack(s, frames, nframes);
	if (!err)
		err = id_map_set(&s->stacks, number, s->stack_cnt);
	if (!err)
		*id = s->stack_cnt++;
	return err;
}

int mlyze_stream_alloc(struct mlyze_stream *s, uint64_t time_us, uint64_t addr, uint64_t bytes,
		       uint32_t number, const uint32_t *frames, uint32_t nframes, uint16_t thread)
{
	struct mlyze_event ev = { .type = MLYZE_ALLOC, .time_us = time_us, .addr = addr,
				  .size = bytes, .thread = thread };
	int err = s->err ? s->err : stack_id(s, number, frames, nframes, &ev.stack);

	return err ? fail_stream(s, err) : put_event(s, &ev);
}

bool mlyze_stream_stack_id(const struct mlyze_stream *s, uint32_t number, uint32_t *id)
{
	return id_map_get(&s->stacks, number, id);
}

int mlyze_stream_freed(struct mlyze_stream *s, uint64_t time_us, uint64_t addr)
{
	struct mlyze_event ev = { .type = MLYZE_FREE, .time_us = time_us, .addr = addr };

	return put_event(s, &ev);
}

int mlyze_stream_gc(struct mlyze_stream *s, uint64_t time_us, uint64_t objects)
{
	struct mlyze_event ev = { .type = MLYZE_GC, .time_us = time_us, .objects = objects };

	return put_event(s, &ev);
}

int mlyze_stream_mark(struct mlyze_stream *s, uint64_t time_us, const struct mlyze_mark_text *mark)
{
	struct mlyze_event ev = { .type = MLYZE_MARKER, .time_us = time_us,
				  .name = s->function_cnt };
	int err = s->err ? s->err : put_name(s, 'N', mark->text, mark->len);

	if (err)
		return fail_stream(s, err);
	s->function_cnt++;
	return put_event(s, &ev);
}

int mlyze_stream_flush(struct mlyze_stream *s)
{
	int err = s->err ? s->err : rename_frames(s);

	return err ? fail_stream(s, err) : write_out(s);
}

uint64_t mlyze_stream_bytes(const struct mlyze_stream *s)
{
	return s->names.bytes + s->names.buf.len + s->events.bytes + s->events.buf.len;
}

uint64_t mlyze_stream_event_bytes(const struct mlyze_stream *s)
{
	return s->events.bytes + s->events.buf.len;
}
