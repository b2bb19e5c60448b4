// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * profile_file.c - see profile_file.h.
 */
#include "recording/profile_file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/util.h"
#include "formats/formats.h"
#include "formats/tach/tach_write.h"
#include "recording/recording_rows.h"
#include "recording/session_json.h"

void profile_file_init(struct profile_file *f, struct recording *r, struct row *row,
		       const struct cpython_image *image, pid_t tgid, const char *comm)
{
	*f = (struct profile_file){
		.recording = r,
		.row = row,
		.meta = {
			.interval_us = r->args.mode->events ? 0 :	/* samples are not times */
				       sampling_interval_us(r->args.rate_hz),
			.mode = r->args.mode->header,
			.unit = r->args.mode->unit,
			.features_known = true,
			.features = r->args.features,
			.python_major = image->major,
			.python_minor = image->minor,
			.python_micro = image->micro,
			.tgid = tgid,
			.comm = comm,
		},
		.fd = -1,
		.journal_fd = -1,
	};
}

int profile_file_begin(struct profile_file *f, struct sink *sink,
		       const struct profile_tables *tables)
{
	f->sink = sink;
	f->meta.start_us = f->recording->start_ns / 1000;
	f->err = sink->ops->begin(sink, &f->meta, tables);
	return f->err;
}

/*
 * ---- profiles whose file and journal are open ----
 *
 * There may be more profiles than descriptors: the least recently written ones are closed, and
 * reopened when they are written. A file that processes share is written once in a while, and
 * outlives all of them, so few of these are open at a time. Both lists are ordered from the most to
 * the least recently used; a file that the user has named always stays open and is in none.
 *
 * While a profile is closed, its journal is not locked: the lock on the recording's directory shows
 * `tachbpf recover` that it is still being written.
 */

/*
 * Descriptors reserved for other uses: to inspect new processes, to start a worker, to write
 * session.json. A profile takes two, for its file and its journal.
 */
#define SPARE_FDS 8
#define PROFILE_FDS 2
/* At most this many profiles are open, and they take at most half of the descriptor limit. */
#ifndef OPEN_MAX_CNT
#define OPEN_MAX_CNT 256
#endif
#define OPEN_SHARE (2 * PROFILE_FDS)
/* Of these, files that processes share. */
#define SHARED_OPEN_MAX_CNT 8

static struct open_files *open_list(struct profile_file *f)
{
	struct recording *r = f->recording;

	return f->meta.tgid ? &r->open : &r->shared_open;
}

/* The caller will close it for good. Not an error if it is not in the list. */
static void open_files_remove(struct profile_file *f)
{
	struct open_files *list = open_list(f);

	if (!f->listed)
		return;
	*(f->newer ? &f->newer->older : &list->newest) = f->older;
	*(f->older ? &f->older->newer : &list->oldest) = f->newer;
	f->newer = f->older = NULL;
	f->listed = false;
	list->cnt--;
}

/* It was opened or used just now: it will be closed last. */
static void open_files_add(struct profile_file *f)
{
	struct open_files *list = open_list(f);

	if (list->newest == f)
		return;
	open_files_remove(f);
	f->older = list->newest;
	*(list->newest ? &list->newest->newer : &list->oldest) = f;
	list->newest = f;
	f->listed = true;
	list->cnt++;
}

/* All data was written to the kernel: nothing is lost by closing. */
static void close_oldest(struct open_files *list)
{
	struct profile_file *f = list->oldest;

	if (f->sink)
		tach_settle(f->sink);
	open_files_remove(f);
	if (f->journal_fd >= 0)
		close(f->journal_fd);
	close(f->fd);
	f->fd = f->journal_fd = -1;
}

/* 0, or -EMFILE: too few descriptors are left. New ones get the lowest free numbers. */
static int check_descriptors(int fd, const struct rlimit *lim)
{
	int next = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (next < 0)
		return -errno;
	close(next);
	return lim->rlim_cur != RLIM_INFINITY &&
	       (rlim_t)next + PROFILE_FDS + SPARE_FDS > lim->rlim_cur ? -EMFILE : 0;
}

/*
 * Closes others until there are descriptors for f. 0, or -errno (-EMFILE: too few are left although
 * all are closed).
 */
static int open_files_make_room(struct profile_file *f)
{
	struct rlimit lim = { .rlim_cur = RLIM_INFINITY };
	struct recording *r = f->recording;
	struct open_files *own = &r->open, *shared = &r->shared_open;
	rlim_t most = OPEN_MAX_CNT;
	int err;

	getrlimit(RLIMIT_NOFILE, &lim);
	if (most > lim.rlim_cur / OPEN_SHARE)
		most = lim.rlim_cur / OPEN_SHARE;
	while (!f->meta.tgid && shared->cnt >= SHARED_OPEN_MAX_CNT)
		close_oldest(shared);
	while (own->cnt + shared->cnt && own->cnt + shared->cnt >= most)
		close_oldest(own->cnt ? own : shared);
	while ((err = check_descriptors(r->dirfd, &lim)) == -EMFILE && own->cnt + shared->cnt)
		close_oldest(own->cnt ? own : shared);
	return err;
}

/* Opens the profile's file and journal if they are closed. 0 or -errno. */
static int open_files_ready(struct profile_file *f)
{
	struct recording *r = f->recording;
	char journal[PATH_MAX];
	int err;

	if (f->fd < 0) {
		err = open_files_make_room(f);
		if (err)
			return err;
		f->fd = output_reopen_file(r->dirfd, f->row->file, &f->was);
		if (f->fd < 0)
			return f->fd;
		if (f->has_journal && recording_journal(r, f->row, journal))
			f->journal_fd = output_reopen_file(r->dirfd, journal, &f->journal_was);
		if (f->journal_fd >= 0)
			flock(f->journal_fd, LOCK_EX | LOCK_NB);
	}
	if (!f->row->named)
		open_files_add(f);
	return 0;
}

/* ---- the file ---- */

/* Creates the file that the user named, or after an exec one next to it. */
static int create_named(struct recording *r, struct row *row)
{
	char path[PATH_MAX];
	int fd, err;

	recording_name_row(r, row);
	fd = recording_beside(r, row->file, path) ? output_create_path(path) : -errno;
	err = fd >= 0 ? recording_add_named(r, row->file) : 0;
	if (err) {
		close(fd);
		unlink(path);
		return err;
	}
	return fd;
}

/* The file of a shared profile already has its name. */
static int create_file(struct profile_file *f)
{
	struct recording *r = f->recording;
	struct row *row = f->row;
	int dir, err;

	if (row->named)
		return create_named(r, row);
	dir = recording_dir(r);
	if (dir < 0)
		return dir;
	err = open_files_make_room(f);
	if (err)
		return err;
	recording_name_row(r, row);
	return output_create_file(dir, row->file);
}

/* ---- the journal ---- */

static int create_journal(const struct recording *r, const struct row *row)
{
	char place[PATH_MAX];
	int fd;

	if (!recording_journal(r, row, place)) {
		log_warn("no journal for '%s': its name is too long; a killed recording cannot be "
			 "recovered", row->file);
		return -1;
	}
	fd = row->named ? output_create_path(place) : output_create_file(r->dirfd, place);
	if (fd < 0)	/* the reason was logged */
		return -1;
	flock(fd, LOCK_EX | LOCK_NB);	/* shows `tachbpf recover` that it is still being written */
	return fd;
}

/* Deletes the journal if the file is complete: its header, written last, is there. */
static void close_journal(struct profile_file *f)
{
	const struct recording *r = f->recording;
	char place[PATH_MAX];
	uint32_t magic = 0;

	if (!f->has_journal)
		return;
	if (f->fd >= 0 && pread(f->fd, &magic, sizeof(magic), 0) == sizeof(magic) && magic &&
	    recording_journal(r, f->row, place))
		unlinkat(f->row->named ? AT_FDCWD : r->dirfd, place, 0);
	if (f->journal_fd >= 0)
		close(f->journal_fd);
	f->journal_fd = -1;
	f->has_journal = false;
}

/* ---- writing ---- */

/* The profile could not be begun: leaves no empty file. Returns f->err. */
static int undo_create(struct profile_file *f)
{
	struct recording *r = f->recording;
	char place[PATH_MAX];

	profile_file_abandon(f);
	if (recording_judge_error(f->recording, f->row, f->err))
		recording_log_write_error(r, f->row, f->err);
	if (f->row->named)	/* recording_discard() removes it */
		return f->err;
	if (recording_journal(r, f->row, place))
		unlinkat(r->dirfd, place, 0);
	unlinkat(r->dirfd, f->row->file, 0);
	f->recording->file_cnt--;
	f->row->file[0] = '\0';
	return f->err;
}

/* sink_args.ready */
static int make_ready(void *ctx, int *fd, int *journal_fd)
{
	struct profile_file *f = ctx;
	int err = open_files_ready(f);

	*fd = f->fd;
	*journal_fd = f->journal_fd;
	return err;
}

/* The file and its journal exist and are open. 0 or -errno. */
static int note_files(struct profile_file *f)
{
	f->made = true;
	f->has_journal = f->journal_fd >= 0;
	if (fstat(f->fd, &f->was) || (f->has_journal && fstat(f->journal_fd, &f->journal_was)))
		return -errno;
	if (!f->row->named)
		open_files_add(f);
	return 0;
}

int profile_file_create(struct profile_file *f, const struct profile_tables *tables)
{
	struct recording *r = f->recording;
	struct sink_args args = {
		.layout = r->args.layout, .compressor = r->compressor, .joins = r->joins,
		.live = true,
		.ready = make_ready, .ready_ctx = f,
	};
	struct sink *sink;

	f->fd = create_file(f);
	if (f->fd < 0) {
		f->err = f->fd;
		f->row->file[0] = '\0';
		return f->err;
	}
	f->journal_fd = create_journal(r, f->row);
	args.fd = f->fd;
	args.journal_fd = f->journal_fd;
	r->file_cnt++;
	f->err = note_files(f);
	sink = f->err ? NULL : sink_tach.open(&args);
	if (!f->err && !sink)
		f->err = -errno;
	if (!f->err)
		profile_file_begin(f, sink, tables);
	return f->err ? undo_create(f) : 0;
}

int profile_file_event(struct profile_file *f, const struct event *ev)
{
	if (!f->err)
		f->err = f->sink->ops->event(f->sink, ev);
	return f->err;
}

/* Adds the growth of the files to the recording's size; they are a TACH file, or nothing. */
static void count_bytes(struct profile_file *f)
{
	uint64_t bytes = f->made && f->sink ? tach_bytes(f->sink) : f->bytes;

	f->recording->bytes += bytes - f->bytes;
	f->bytes = bytes;
}

int profile_file_flush(struct profile_file *f)
{
	if (f->sink && !f->err && f->sink->ops->flush)
		f->err = f->sink->ops->flush(f->sink);
	count_bytes(f);
	return f->err;
}

/* Fills in the statistics of the whole profile, for the sink's end(). */
static void profile_stats(const struct profile_file *f, struct profile_stats *stats)
{
	const struct process_stats *s = &f->row->stats;
	const struct recording *r = f->recording;
	uint64_t bad = s->unreadable + s->lost[LOSS_WRITE];

	*stats = (struct profile_stats){
		.known = true,
		.duration_s = recording_since_start(r),
		.sample_rate = r->args.rate_hz,
		.error_known = true,
		.missed_known = true,
		.missed_pct = r->missed_pct,
	};
	stats->error_pct = percent(bad, s->samples + s->lost[LOSS_WRITE]);
}

/*
 * After an error: samples in the file count, and the rest is lost. In a shared file these are of
 * the processes that ended last.
 */
static void settle_counts(struct row *row, uint64_t kept)
{
	struct process_stats *s = &row->stats;
	uint64_t all = s->samples + s->lost[LOSS_WRITE];
	size_t i;

	s->samples = kept < all ? kept : all;
	s->lost[LOSS_WRITE] = all - s->samples;
	for (i = 0; i < row->member_cnt; i++) {
		if (row->members[i].samples > kept)
			row->members[i].samples = (uint32_t)kept;
		kept -= row->members[i].samples;
	}
}

static void keep_first(int *err, int later)
{
	if (!*err)
		*err = later;
}

int profile_file_end(struct profile_file *f)
{
	struct profile_stats stats;
	uint64_t kept = 0;
	int err;

	if (f->sink) {
		profile_stats(f, &stats);
		keep_first(&f->err, f->sink->ops->end(f->sink, &stats));
		kept = tach_sample_cnt(f->sink);
		count_bytes(f);
		keep_first(&f->err, f->sink->ops->close(f->sink));
		f->sink = NULL;
	}
	close_journal(f);
	open_files_remove(f);
	if (f->fd >= 0 && close(f->fd))
		keep_first(&f->err, -errno);
	f->fd = -1;
	f->row->kept = kept;
	f->row->err = f->err;
	f->recording->incomplete |= f->err != 0;
	if (f->err)
		settle_counts(f->row, kept);
	err = recording_judge_error(f->recording, f->row, f->err);
	if (err && f->row->file[0])	/* no name: its creation failed, which was logged */
		recording_log_write_error(f->recording, f->row, err);
	return err;
}

void profile_file_abandon(struct profile_file *f)
{
	if (f->sink)
		f->sink->ops->close(f->sink);
	open_files_remove(f);
	if (f->journal_fd >= 0)
		close(f->journal_fd);
	if (f->fd >= 0)
		close(f->fd);
	f->sink = NULL;
	f->fd = f->journal_fd = -1;
}
