// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * mlyze_join.c - see mlyze_join.h. Both files are read, not mapped: their owner may truncate them
 * meanwhile.
 */
#include "formats/mlyze/mlyze_join.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/output.h"
#include "base/util.h"
#include "formats/mlyze/mlyze.h"
#include "formats/mlyze/mlyze_encode.h"
#include "formats/mlyze/mlyze_stream.h"
#include "host/regular.h"

/*
 * Reads the journal of names (mlyze_stream.h), any bytes, and writes the metadata of a .mlyze file
 * from it. It is read four times: once for what it has, then for each section of the metadata. So
 * only frames are kept, which may change up to the end: a few bytes for each.
 */

/* A frame of the journal, by the ids of its names. */
struct mlyze_frame {
	uint32_t file, func;
	int32_t line;		/* or LINE_NONE */
};

struct mlyze_names {
	FILE *f;		/* the journal; the caller's */
	uint64_t start_us;
	uint64_t records;	/* number of complete, valid records */
	uint32_t file_cnt, function_cnt, stack_cnt;
	struct buf frames;	/* struct mlyze_frame, by id */
	struct buf text;	/* the last record's name, or its stack's frames: u32 */
	bool last_is_end;	/* the last name is that of an end mark */
};

/* ---- records ---- */

struct record {
	char kind;
	uint32_t id;
	struct mlyze_frame frame;	/* 'R' */
};

/* What the preceding records have. */
struct counts {
	uint32_t files, functions, frames, stacks;
};

/* Reads a varint. Returns false if the file ends, or if it is none of at most 64 bits. */
static bool get_varint(FILE *f, uint64_t *v)
{
	uint8_t bytes[VARINT_MAX];
	size_t n = 0;
	int c;

	do {
		c = n < VARINT_MAX ? getc_unlocked(f) : EOF;
		if (c == EOF)
			return false;
		bytes[n++] = (uint8_t)c;
	} while (c & 0x80);
	return varint_get(bytes, bytes + n, v);
}

/* Reads a number below limit. */
static bool get_below(FILE *f, uint64_t limit, uint32_t *v)
{
	uint64_t wide;

	if (!get_varint(f, &wide) || wide >= limit)
		return false;
	*v = (uint32_t)wide;
	return true;
}

/* These return 0; -EBADMSG: incomplete or invalid; -ENOMEM. */
static int get_name(struct mlyze_names *n, struct record *r, uint32_t *cnt)
{
	uint32_t len;

	if (*cnt == UINT32_MAX || !get_below(n->f, MLYZE_NAME_BYTES + 1, &len))
		return -EBADMSG;
	n->text.len = 0;
	if (buf_reserve(&n->text, len + 1))
		return -ENOMEM;
	if (len && fread_unlocked(n->text.data, 1, len, n->f) != len)
		return -EBADMSG;
	n->text.len = len;
	r->id = (*cnt)++;
	return 0;
}

static int get_frame(struct mlyze_names *n, struct record *r, struct counts *c)
{
	uint32_t line;

	if (!get_below(n->f, (uint64_t)c->frames + 1, &r->id) ||
	    !get_below(n->f, c->files, &r->frame.file) ||
	    !get_below(n->f, c->functions, &r->frame.func) ||
	    !get_below(n->f, (uint64_t)INT32_MAX + 1, &line) || c->frames == UINT32_MAX)
		return -EBADMSG;
	r->frame.line = line ? (int32_t)line : LINE_NONE;
	c->frames += r->id == c->frames;
	return 0;
}

static int get_stack(struct mlyze_names *n, struct record *r, struct counts *c)
{
	uint32_t depth, id;

	if (c->stacks == UINT32_MAX || !get_below(n->f, EVENT_MAX_FRAMES + 1, &depth))
		return -EBADMSG;
	n->text.len = 0;
	for (; depth; depth--) {
		if (!get_below(n->f, c->frames, &id))
			return -EBADMSG;
		if (buf_add(&n->text, &id, sizeof(id)))
			return -ENOMEM;
	}
	r->id = c->stacks++;
	return 0;
}

static int next_record(struct mlyze_names *n, struct record *r, struct counts *c)
{
	int kind = getc_unlocked(n->f);

	r->kind = (char)kind;
	switch (kind) {
	case 'F':
		return get_name(n, r, &c->files);
	case 'N':
		return get_name(n, r, &c->functions);
	case 'R':
		return get_frame(n, r, c);
	case 'S':
		return get_stack(n, r, c);
	default:
		return -EBADMSG;
	}
}

/* ---- the whole journal ---- */

static int read_head(struct mlyze_names *n)
{
	char magic[sizeof(MLYZE_NAMES_MAGIC) - 1];
	uint64_t start;

	rewind(n->f);
	if (fread(magic, sizeof(magic), 1, n->f) != 1 ||
	    memcmp(magic, MLYZE_NAMES_MAGIC, sizeof(magic)) ||
	    fread(&start, sizeof(start), 1, n->f) != 1)
		return -EBADMSG;
	n->start_us = le64toh(start);
	return 0;
}

static int keep_frame(struct mlyze_names *n, const struct record *r)
{
	size_t at = r->id * sizeof(r->frame);

	if (at == n->frames.len)
		return buf_add(&n->frames, &r->frame, sizeof(r->frame));
	memcpy(n->frames.data + at, &r->frame, sizeof(r->frame));
	return 0;
}

static bool is_end(const struct buf *text)
{
	struct mlyze_mark mark;

	mlyze_mark_parse((const char *)text->data, text->len, &mark);
	return mark.word == MARK_END;
}

/*
 * Reads all of f, from its beginning. Zero-initialise *n; free it by mlyze_names_free(), even after
 * errors. Returns 0; -EBADMSG: it is no journal; -ENOMEM; -EIO.
 */
static int mlyze_names_read(struct mlyze_names *n, FILE *f)
{
	struct counts c = { 0 }, whole = { 0 };
	struct record r;
	int err;

	n->f = f;
	err = read_head(n);
	if (err)
		return ferror(f) ? -EIO : err;
	while (!err && !(err = next_record(n, &r, &c))) {
		if (r.kind == 'R')
			err = keep_frame(n, &r);
		if (r.kind == 'N')
			n->last_is_end = is_end(&n->text);
		n->records++;
		whole = c;
	}
	if (ferror(f))
		return -EIO;
	n->file_cnt = whole.files;
	n->function_cnt = whole.functions;
	n->stack_cnt = whole.stacks;
	return err == -EBADMSG ? 0 : err;
}

static void mlyze_names_free(struct mlyze_names *n)
{
	buf_free(&n->frames);
	buf_free(&n->text);
}

/* ---- the metadata ---- */

static void write_stack(struct json *j, const char *key, const struct mlyze_names *n)
{
	const uint32_t *ids = (const uint32_t *)(const void *)n->text.data;
	const struct mlyze_frame *frames = (const void *)n->frames.data, *f;
	size_t i;

	json_array(j, key);
	for (i = 0; i < n->text.len / sizeof(*ids); i++) {
		f = &frames[ids[i]];
		json_object(j, NULL);
		json_uint(j, "file_id", f->file);
		json_int(j, "line", f->line > 0 ? f->line : 0);
		json_uint(j, "func_id", f->func);
		json_object_end(j);
	}
	json_array_end(j);
}

/* Writes a section: the records of one kind. */
static int write_section(struct mlyze_names *n, struct json *j, const char *key, char kind)
{
	struct counts c = { 0 };
	struct record r;
	uint64_t i;
	char id[16];
	int err = read_head(n);

	json_object(j, key);
	for (i = 0; !err && i < n->records; i++) {
		err = next_record(n, &r, &c);
		if (err || r.kind != kind)
			continue;
		snprintf(id, sizeof(id), "%u", r.id);
		if (kind == 'S')
			write_stack(j, id, n);
		else
			json_string_n(j, id, n->text.len ? (const char *)n->text.data : "",
				      n->text.len);
	}
	json_object_end(j);
	return err;
}

/* Writes the metadata. Returns 0 or -errno; the caller checks ferror(out). */
static int mlyze_names_metadata(struct mlyze_names *n, FILE *out)
{
	struct json j;
	int err;

	json_start(&j, out, false);
	json_object(&j, NULL);
	err = write_section(n, &j, "stack_traces", 'S');
	if (!err)
		err = write_section(n, &j, "files", 'F');
	if (!err)
		err = write_section(n, &j, "functions", 'N');
	json_object_end(&j);
	return err;
}

#define COPY_BYTES (256 * 1024)

struct join {
	int events;
	FILE *names_file;
	struct mlyze_names names;
	uint64_t bytes, all;	/* of the events: valid ones; the file's size */
	struct mlyze_joined *joined;
	char *why;
	size_t why_size;
};

__attribute__((format(printf, 3, 4)))
static int fail_join(struct join *j, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(j->why, j->why_size, fmt, ap);
	va_end(ap);
	return err;
}

/* ---- reading ---- */

/* Opens one of the files. Returns the file descriptor or -errno. */
static int open_part(int dirfd, const char *name, const char *suffix)
{
	char part[OUTPUT_NAME_MAX];

	if (snprintf(part, sizeof(part), "%s%s", name, suffix) >= (int)sizeof(part))
		return -ENAMETOOLONG;
	return open_regular(dirfd, part, 0);
}

static int open_names(struct join *j, int dirfd, const char *name)
{
	int fd = open_part(dirfd, name, MLYZE_NAMES_SUFFIX), err;

	if (fd < 0)
		return fd;
	j->names_file = fdopen(fd, "r");
	if (j->names_file)
		return 0;
	err = -errno;
	close(fd);
	return err;
}

static int open_parts(struct join *j, int dirfd, const char *name)
{
	int err = open_names(j, dirfd, name);
	struct stat st;

	if (!err) {
		j->events = open_part(dirfd, name, MLYZE_EVENTS_SUFFIX);
		err = j->events < 0 ? j->events : 0;
	}
	if (!err && fstat(j->events, &st))
		err = -errno;
	if (err)
		return fail_join(j, err, "cannot read its events and names: %s", strerror(-err));
	j->all = (uint64_t)st.st_size;
	err = mlyze_names_read(&j->names, j->names_file);
	if (err)
		return fail_join(j, err, err == -EBADMSG ? "its names are not there" :
							   "cannot read its names: %s",
				 strerror(-err));
	return 0;
}

/*
 * Returns true if the event refers to existing entries. An ALLOC of nothing is not ours: a file
 * that was not on the disk when the machine crashed may have zeros.
 */
static bool makes_sense(const struct mlyze_event *ev, const struct mlyze_names *n)
{
	if (ev->type == MLYZE_ALLOC)
		return ev->stack < n->stack_cnt && ev->size;
	return ev->type != MLYZE_MARKER || ev->name < n->function_cnt;
}

/* A part of the events, in memory. */
struct window {
	uint8_t *data;		/* COPY_BYTES */
	size_t at, len;
	bool is_last;
};

/* Makes sure that the whole next event is in memory, if the file has it. Returns 0 or -errno. */
static int fill_window(struct window *w, int fd)
{
	ssize_t n;

	if (w->is_last || w->len - w->at >= MLYZE_EVENT_MAX_BYTES)
		return 0;
	memmove(w->data, w->data + w->at, w->len - w->at);
	w->len -= w->at;
	w->at = 0;
	while (!w->is_last && w->len < MLYZE_EVENT_MAX_BYTES) {
		n = read(fd, w->data + w->len, COPY_BYTES - w->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		w->is_last = !n;
		w->len += (size_t)n;
	}
	return 0;
}

/* Counts the complete, valid events. Returns 0 or -errno. */
static int count_events(struct join *j, struct window *w)
{
	uint64_t time_us = j->names.start_us;
	const uint8_t *end;
	struct mlyze_event ev;
	int err;

	while (!(err = fill_window(w, j->events))) {
		end = mlyze_decode(w->data + w->at, w->data + w->len, &ev, time_us);
		if (!end || !makes_sense(&ev, &j->names))
			return 0;
		j->bytes += end - (w->data + w->at);
		w->at = end - w->data;
		time_us = ev.time_us;
		j->joined->events++;
		/* The last name is that of the last marker. */
		j->joined->ended = ev.type == MLYZE_MARKER && j->names.last_is_end &&
				   ev.name == j->names.function_cnt - 1;
	}
	return err;
}

/* Finds where the complete events end. Returns 0 or -errno. */
static int check_events(struct join *j)
{
	struct window w = { .data = malloc(COPY_BYTES) };
	int err = w.data ? count_events(j, &w) : -ENOMEM;

	free(w.data);
	if (err)
		return fail_join(j, err, "cannot read its events: %s", strerror(-err));
	j->joined->dropped = j->all > j->bytes ? j->all - j->bytes : 0;
	return 0;
}

/* ---- writing ---- */

/* Writes the metadata after the header. *bytes: its length. */
static int write_metadata(struct join *j, int out, uint32_t *bytes)
{
	int copy = fcntl(out, F_DUPFD_CLOEXEC, 0), err;
	FILE *f = copy < 0 ? NULL : fdopen(copy, "w");
	long end = 0;

	if (!f) {
		err = -errno;
		if (copy >= 0)
			close(copy);
		return err;
	}
	err = fseek(f, MLYZE_HEADER_BYTES, SEEK_SET) ? -errno :
						       mlyze_names_metadata(&j->names, f);
	if (!err && (fflush(f) || ferror(f) || (end = ftell(f)) < 0))
		err = errno ? -errno : -EIO;
	if (fclose(f) && !err)
		err = -errno;
	if (!err && end - MLYZE_HEADER_BYTES > UINT32_MAX)
		err = -EFBIG;
	*bytes = (uint32_t)(end - MLYZE_HEADER_BYTES);
	return err;
}

/* By reading and writing: where the kernel cannot copy. */
static int copy_slowly(int from, int out, uint64_t left)
{
	uint8_t *buf = malloc(COPY_BYTES);
	int err = buf ? 0 : -ENOMEM;
	ssize_t n;

	while (!err && left) {
		n = read(from, buf, left < COPY_BYTES ? left : COPY_BYTES);
		if (n < 0 && errno == EINTR)
			continue;
		err = n < 0 ? -errno : n ? write_all(out, buf, (size_t)n) : -EIO;
		left -= n > 0 ? (uint64_t)n : 0;
	}
	free(buf);
	return err;
}

static int copy_events(const struct join *j, int out)
{
	uint64_t left = j->bytes;
	ssize_t n = 1;

	if (lseek(j->events, 0, SEEK_SET) < 0)
		return -errno;
	while (left && n > 0) {
		n = copy_file_range(j->events, NULL, out, NULL, left, 0);
		left -= n > 0 ? (uint64_t)n : 0;
	}
	return left ? copy_slowly(j->events, out, left) : 0;
}

static int write_all_of_it(struct join *j, int out)
{
	uint8_t header[MLYZE_HEADER_BYTES];
	uint32_t metadata = 0;
	int err = write_metadata(j, out, &metadata);

	if (!err && lseek(out, MLYZE_HEADER_BYTES + (off_t)metadata, SEEK_SET) < 0)
		err = -errno;
	if (!err)
		err = copy_events(j, out);
	mlyze_encode_header(header, j->names.start_us, metadata);
	if (!err)
		err = pwrite_all(out, header, sizeof(header), 0);
	return err ? fail_join(j, err, "cannot write it: %s", strerror(-err)) : 0;
}

/* ---- joining ---- */

static void close_join(struct join *j)
{
	mlyze_names_free(&j->names);
	if (j->events >= 0)
		close(j->events);
	if (j->names_file)
		fclose(j->names_file);
}

int mlyze_join_to(int out, int dirfd, const char *name, struct mlyze_joined *joined, char *why,
		  size_t why_size)
{
	struct join j = { .events = -1, .joined = joined, .why = why, .why_size = why_size };
	int err;

	*joined = (struct mlyze_joined){ 0 };
	err = open_parts(&j, dirfd, name);
	if (!err)
		err = check_events(&j);
	if (!err)
		err = write_all_of_it(&j, out);
	close_join(&j);
	return err;
}

static void remove_part(int dirfd, const char *name, const char *suffix)
{
	char part[OUTPUT_NAME_MAX];

	if (snprintf(part, sizeof(part), "%s%s", name, suffix) < (int)sizeof(part))
		unlinkat(dirfd, part, 0);
}

void mlyze_remove_parts(int dirfd, const char *name)
{
	/* The events first: without names they are useless. */
	remove_part(dirfd, name, MLYZE_EVENTS_SUFFIX);
	remove_part(dirfd, name, MLYZE_NAMES_SUFFIX);
}

int mlyze_join(int dirfd, const char *name, struct mlyze_joined *joined, char *why,
	       size_t why_size)
{
	struct output_file f;
	int err = output_reserve(&f, dirfd, name, 1);

	*joined = (struct mlyze_joined){ 0 };
	*why = '\0';
	if (err)
		return err;
	err = mlyze_join_to(f.fd, dirfd, name, joined, why, why_size);
	if (err)
		output_abort(&f);
	else if ((err = output_commit(&f)))
		*why = '\0';
	if (err)
		return err;
	mlyze_remove_parts(dirfd, name);
	return 0;
}

static bool is_locked(int fd)
{
	if (!flock(fd, LOCK_SH | LOCK_NB)) {
		flock(fd, LOCK_UN);
		return false;
	}
	return errno == EWOULDBLOCK;
}

bool mlyze_is_live(int dirfd, const char *name)
{
	int names = open_part(dirfd, name, MLYZE_NAMES_SUFFIX);
	bool live = is_locked(dirfd);

	if (names < 0)
		return live;
	live |= is_locked(names);
	close(names);
	return live;
}
