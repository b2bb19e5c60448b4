// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * profile_file.c - see profile_file.h.
 */
#include "recording/profile_file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/util.h"
#include "formats/formats.h"
#include "formats/tach/tach_journal.h"
#include "recording/recording_rows.h"

void profile_file_init(struct profile_file *f, struct recording *r, struct row *row,
		       const struct cpython_image *image, pid_t tgid, const char *comm)
{
	*f = (struct profile_file){
		.recording = r,
		.row = row,
		.meta = {
			.interval_us = sampling_interval_us(r->args.rate_hz),
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

/* ---- the file ---- */

/*
 * The file that the user named. A second profile, after an exec of the process, is "x.1.tach"
 * beside "x.tach", so that the first one is not overwritten.
 */
static int create_single(const struct recording *r, struct row *row, unsigned int seq)
{
	const char *slash = strrchr(r->path, '/'), *base = slash ? slash + 1 : r->path;
	size_t stem = strlen(base);
	char path[PATH_MAX];

	if (!seq) {
		snprintf(row->file, sizeof(row->file), "%.*s", (int)sizeof(row->file) - 1, base);
		return output_create_path(r->path);
	}
	if (stem > 5 && !strcmp(base + stem - 5, ".tach"))
		stem -= 5;
	snprintf(row->file, sizeof(row->file), "%.*s.%u.tach",
		 (int)(stem < sizeof(row->file) - 24 ? stem : sizeof(row->file) - 24), base, seq);
	if (snprintf(path, sizeof(path), "%.*s%s", (int)(base - r->path), r->path, row->file) >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	return output_create_path(path);
}

/* The file of a shared profile has its name already. */
static int create_file(struct recording *r, struct row *row)
{
	if (r->args.single_file)
		return create_single(r, row, recording_name_used(r, row->tgid));
	if (!row->file[0])
		output_file_name(row->file, row->tgid, row->comm,
				 recording_name_used(r, row->tgid));
	return output_create_file(r->dirfd, row->file);
}

/* ---- the journal ---- */

/* The journal's path, or its name in r->dirfd. Returns false if it would be too long. */
static bool journal_place(const struct recording *r, const struct row *row, char out[PATH_MAX])
{
	const char *base = r->dirfd < 0 ? strrchr(r->path, '/') : NULL;
	int dir_len = base ? (int)(base + 1 - r->path) : 0, n;

	n = snprintf(out, PATH_MAX, "%.*s.%s" TACH_JOURNAL_SUFFIX, dir_len, r->path, row->file);
	return n < PATH_MAX && n - dir_len < OUTPUT_NAME_MAX;
}

static int create_journal(const struct recording *r, const struct row *row)
{
	char place[PATH_MAX];
	int fd;

	if (!journal_place(r, row, place)) {
		log_warn("no journal for '%s': its name is too long; a killed recording cannot be "
			 "recovered", row->file);
		return -1;
	}
	fd = r->dirfd < 0 ? output_create_path(place) : output_create_file(r->dirfd, place);
	if (fd < 0)	/* the reason was logged */
		return -1;
	flock(fd, LOCK_EX | LOCK_NB);	/* shows `tachbpf recover` that we still write */
	return fd;
}

/* Delete the journal if the file is complete: its header is written last, so it is there. */
static void close_journal(struct profile_file *f)
{
	const struct recording *r = f->recording;
	char place[PATH_MAX];
	uint32_t magic = 0;

	if (f->journal_fd < 0)
		return;
	if (pread(f->fd, &magic, sizeof(magic), 0) == sizeof(magic) && magic &&
	    journal_place(r, f->row, place))
		unlinkat(r->dirfd < 0 ? AT_FDCWD : r->dirfd, place, 0);
	close(f->journal_fd);
	f->journal_fd = -1;
}

/* ---- writing ---- */

int profile_file_create(struct profile_file *f, const struct profile_tables *tables)
{
	struct recording *r = f->recording;
	struct sink_args args = {
		.layout = r->args.layout, .compressor = r->compressor, .live = true,
	};
	struct sink *sink;

	f->fd = create_file(r, f->row);
	if (f->fd < 0) {
		f->err = f->fd;
		f->row->file[0] = '\0';
		return f->err;
	}
	f->journal_fd = create_journal(r, f->row);
	args.fd = f->fd;
	args.journal_fd = f->journal_fd;
	r->file_cnt++;
	sink = sink_tach.open(&args);
	if (!sink) {
		f->err = -errno;
		return f->err;
	}
	return profile_file_begin(f, sink, tables);
}

int profile_file_event(struct profile_file *f, const struct event *ev)
{
	if (!f->err)
		f->err = f->sink->ops->event(f->sink, ev);
	return f->err;
}

int profile_file_flush(struct profile_file *f)
{
	if (f->sink && !f->err && f->sink->ops->flush)
		f->err = f->sink->ops->flush(f->sink);
	return f->err;
}

static void log_write_error(const struct recording *r, const struct row *row, int err)
{
	const char *hint = "what was written before may be readable";

	if (err == -ENOSPC || err == -EDQUOT)
		hint = "free some space or choose another place with -o; "
		       "what was written before can be read";
	log_error("cannot write %s%s%s: %s: %s", r->path, r->dirfd >= 0 ? "/" : "",
		  r->dirfd >= 0 ? row->file : "", strerror(-err), hint);
}

/* The statistics of the whole profile, for the sink's end(). */
static void profile_stats(const struct profile_file *f, struct profile_stats *stats)
{
	const struct process_stats *s = &f->row->stats;
	const struct recording *r = f->recording;
	uint64_t bad = s->unreadable + s->write_lost;

	*stats = (struct profile_stats){
		.known = true,
		.duration_s = recording_since_start(r),
		.sample_rate = r->args.rate_hz,
		.error_known = true,
		.missed_known = true,
		.missed_pct = r->missed_pct,
	};
	stats->error_pct = percent(bad, s->samples + s->write_lost);
}

static void keep_first(int *err, int later)
{
	if (!*err)
		*err = later;
}

int profile_file_end(struct profile_file *f)
{
	struct profile_stats stats;

	if (f->sink) {
		profile_stats(f, &stats);
		keep_first(&f->err, f->sink->ops->end(f->sink, &stats));
		keep_first(&f->err, f->sink->ops->close(f->sink));
		f->sink = NULL;
	}
	close_journal(f);
	if (f->fd >= 0 && close(f->fd))
		keep_first(&f->err, -errno);
	f->fd = -1;
	f->row->err = f->err;
	if (f->err && f->row->file[0])	/* no name: its creation failed, which was logged */
		log_write_error(f->recording, f->row, f->err);
	return f->err;
}

void profile_file_abandon(struct profile_file *f)
{
	if (f->sink)
		f->sink->ops->close(f->sink);
	if (f->journal_fd >= 0)
		close(f->journal_fd);
	if (f->fd >= 0)
		close(f->fd);
	f->sink = NULL;
	f->fd = f->journal_fd = -1;
}
