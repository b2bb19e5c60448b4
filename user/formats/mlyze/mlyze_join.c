// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * mlyze_join.c - see mlyze_join.h. Both files are read, not mapped: who owns them may truncate them
 * meanwhile.
 */
#include "formats/mlyze/mlyze_join.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output.h"
#include "base/util.h"
#include "formats/mlyze/mlyze_encode.h"
#include "formats/mlyze/mlyze_names.h"
#include "formats/mlyze/mlyze_stream.h"
#include "host/regular.h"

#define COPY_BYTES (256 * 1024)

struct join {
	int events;
	FILE *names_file;
	struct mlyze_names names;
	uint64_t bytes, all;	/* of the events: those that are valid; the file's size */
	struct mlyze_joined *joined;
	char *why;
	size_t why_size;
};

__attribute__((format(printf, 3, 4)))
static int fail(struct join *j, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(j->why, j->why_size, fmt, ap);
	va_end(ap);
	return err;
}

/* ---- reading ---- */

/* Open one of the files. Returns the file descriptor or -errno. */
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
		return fail(j, err, "cannot read its events and names: %s", strerror(-err));
	j->all = (uint64_t)st.st_size;
	err = mlyze_names_read(&j->names, j->names_file);
	if (err)
		return fail(j, err, err == -EBADMSG ? "its names are not there" :
						     "cannot read its names: %s", strerror(-err));
	return 0;
}

/*
 * Does the event refer to what there is? An ALLOC of nothing is not ours: a file that was not on
 * the disk when the machine crashed may have zeros.
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

/* Make sure that the whole next event is in memory, if the file has it. 0 or -errno. */
static int fill(struct window *w, int fd)
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

/* Count the events that are whole and make sense. 0 or -errno. */
static int count_events(struct join *j, struct window *w)
{
	uint64_t time_us = j->names.start_us;
	const uint8_t *end;
	struct mlyze_event ev;
	int err;

	while (!(err = fill(w, j->events))) {
		end = mlyze_decode(w->data + w->at, w->data + w->len, &ev, time_us);
		if (!end || !makes_sense(&ev, &j->names))
			return 0;
		j->bytes += end - (w->data + w->at);
		w->at = end - w->data;
		time_us = ev.time_us;
		j->joined->events++;
		/* The last name is the one of the last marker. */
		j->joined->ended = ev.type == MLYZE_MARKER && j->names.last_is_end &&
				   ev.name == j->names.function_cnt - 1;
	}
	return err;
}

/* Find where the events end that are whole. 0 or -errno. */
static int check_events(struct join *j)
{
	struct window w = { .data = malloc(COPY_BYTES) };
	int err = w.data ? count_events(j, &w) : -ENOMEM;

	free(w.data);
	if (err)
		return fail(j, err, "cannot read its events: %s", strerror(-err));
	j->joined->dropped = j->all > j->bytes ? j->all - j->bytes : 0;
	return 0;
}

/* ---- writing ---- */

/* Write the metadata behind the header. *bytes: its length. */
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
	return err ? fail(j, err, "cannot write it: %s", strerror(-err)) : 0;
}

/* ---- */

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
	/* The events first: without names they are nothing. */
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
