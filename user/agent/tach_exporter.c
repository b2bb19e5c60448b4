// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * tach_exporter.c - see tach_exporter.h.
 *
 * Owns the table of processes, the rotation, and the names of recordings. What a recording contains
 * is up to the room `recording`; which old ones are removed, to dated_dir.
 */
#include "agent/tach_exporter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#include "agent/dated_dir.h"
#include "base/time.h"
#include "base/u64map.h"
#include "base/util.h"
#include "bpf/abi.h"
#include "model/profile_service.h"
#include "recording/totals.h"
#include "recording/replaced.h"
#include "recording/recording.h"
#include "resolve/process.h"

/* "YYYYMMDDTHHMMSSZ-02" */
#define NAME_BYTES (DATED_BYTES + 3)
#define SEQ_MAX 99
/* Another recording is tried this long after an error. */
#define RETRY_NS 60000000000ull
/*
 * The least age of a recording that ends by size: the tables of many processes alone may be larger
 * than rotate_size, and each recording has them.
 */
#define SIZE_MIN_AGE_NS 10000000000ull
/* After a full disk, a recording begins when this part of rotate_size is free. */
#define ROOM_PART 8

/* A live process. */
struct exported {
	struct process *process;
	struct observed *in;	/* its part of the recording; NULL: none */
	uint64_t left_ns;	/* of events' time: less than an interval */
};

struct tach_exporter {
	struct tach_exporter_args args;
	char *dir;		/* args.dir */
	uint64_t interval_ns;
	struct u64map live;	/* tgid -> struct exported */
	struct dated_dir *place;	/* NULL: off */
	struct recording *recording;	/* NULL: off, or it could not begin or continue */
	struct counts_since *since;	/* the counts when the recording began; freed with it */
	char name[NAME_BYTES];
	unsigned int seq;	/* in name; 1: it has none */
	char path[PATH_MAX];
	uint64_t begun_ns;	/* when the recording began (CLOCK_MONOTONIC) */
	uint64_t passed;	/* samples passed to it */
	int err;		/* its first error */
	uint64_t retry_ns;	/* without a recording: when the next is tried */
	bool was_full;		/* the disk was full at the last error */
	bool warned;		/* about a recording that cannot be removed */
	struct tach_exporter_stats stats;
};

/* ---- names ---- */

static bool time_of(const char *name, time_t *t)
{
	const char *seq = name + DATED_LEN;

	if (!dated_parse(name, t))
		return false;
	return !*seq || (seq[0] == '-' && seq[1] >= '0' && seq[1] <= '9' && seq[2] >= '0' &&
			 seq[2] <= '9' && !seq[3]);
}

/* Removes one of our recordings if all its files belong to it; also one whose agent was killed. */
static int remove_old(int dirfd, const char *name)
{
	char other[OLD_NAME_BYTES];
	size_t entries;
	int err = old_recording_find_other(dirfd, name, other, &entries);

	if (err)
		return err == -ENOENT ? 0 : err;
	return *other ? -ENOTEMPTY : old_recording_remove(dirfd, name);
}

static const struct dated_kind kind = {
	.what = "TACH recordings", .type = S_IFDIR, .time_of = time_of, .remove = remove_old,
};

/* Chooses a free name that is later than the last one. Returns 0 or -errno. */
static int choose_name(struct tach_exporter *e)
{
	char text[DATED_BYTES];
	bool again;
	struct stat st;

	dated_text(time(NULL), text);
	again = !strncmp(e->name, text, DATED_LEN);
	for (e->seq = again ? e->seq + 1 : 1; e->seq <= SEQ_MAX; e->seq++) {
		if (e->seq == 1)
			snprintf(e->name, sizeof(e->name), "%s", text);
		else
			snprintf(e->name, sizeof(e->name), "%s-%02u", text, e->seq % 100);
		if (fstatat(dated_dir_fd(e->place), e->name, &st, AT_SYMLINK_NOFOLLOW))
			return errno == ENOENT ? 0 : -errno;
	}
	return -EEXIST;
}

/* ---- one recording ---- */

static void read_counts(const struct tach_exporter *e, struct capture_counts *out)
{
	static const uint64_t none[CNT_MAX];

	*out = (struct capture_counts){ .bpf = none };
	if (e->args.counts)
		e->args.counts(e->args.ctx, out);
}

static int open_recording(struct tach_exporter *e)
{
	struct recording_args args = {
		.output = e->path, .place = PLACE_DIR, .compress = true, .terse = true,
		.rate_hz = e->args.rate_hz, .mode = e->args.mode, .features = e->args.features,
		.async = e->args.async, .selection = "-a",
	};
	struct capture_counts counts;
	int err = choose_name(e);

	if (err)
		return err;
	if (snprintf(e->path, sizeof(e->path), "%s/%s", e->dir, e->name) >= (int)sizeof(e->path))
		return -ENAMETOOLONG;
	read_counts(e, &counts);
	e->since = counts_since_new(&counts);
	e->recording = e->since ? recording_new(&args) : NULL;
	if (e->recording)
		return 0;
	err = e->since ? -errno : -ENOMEM;
	counts_since_free(e->since);
	e->since = NULL;
	return err;
}

/* After an error. The next try is soon, but only if there is room. */
static void put_off(struct tach_exporter *e, int err, uint64_t now)
{
	uint64_t wait = e->args.rotate_time_ns < RETRY_NS ? e->args.rotate_time_ns : RETRY_NS;

	e->stats.errors++;
	e->was_full = err == -ENOSPC || err == -EDQUOT;
	e->retry_ns = now + wait;
}

/* Begins a recording with all live processes, if that is possible now. */
static void begin_recording(struct tach_exporter *e, uint64_t now)
{
	struct exported *x;
	size_t pos = 0;
	int err = open_recording(e);

	if (err) {
		if (!e->was_full || err != -ENOSPC)
			log_warn("cannot write a TACH recording in '%s': %s; retrying", e->dir,
				 strerror(-err));
		put_off(e, err, now);
		return;
	}
	e->begun_ns = now;
	e->passed = 0;
	e->err = 0;
	e->was_full = false;
	while ((x = u64map_next(&e->live, &pos))) {
		x->in = recording_begin(e->recording, x->process);
		x->left_ns = 0;
	}
}

/* Counts the samples that are in its files; the others that were passed are lost. */
static void settle_samples(struct tach_exporter *e, const struct recording_result *result)
{
	uint64_t written = result->samples < e->passed ? result->samples : e->passed;

	e->stats.written += written;
	e->stats.lost += e->passed - written;
	e->passed = 0;
	e->stats.recordings++;
}

/* A recording that is empty because of an error would only displace others. */
static void keep_or_remove(struct tach_exporter *e, const struct recording_result *result)
{
	struct stat st;

	if (e->err && !result->samples)
		old_recording_remove(dated_dir_fd(e->place), e->name);
	else if (!fstatat(dated_dir_fd(e->place), e->name, &st, AT_SYMLINK_NOFOLLOW))
		dated_dir_added(e->place);
}

/* Ends the process in the recording. 0 or -errno. */
static int end_process(struct tach_exporter *e, struct exported *x, uint64_t end_ns)
{
	struct profile_service service = { 0 };
	int err = 0, end_err;

	if (!x->in)
		return 0;
	if (e->args.service) {
		e->args.service(e->args.service_ctx, x->process, &service);
		err = recording_service(e->recording, x->in, &service);
	}
	end_err = recording_end(e->recording, x->in, end_ns);
	return end_err ? end_err : err;
}

static void end_processes(struct tach_exporter *e)
{
	struct exported *x;
	size_t pos = 0;
	int err;

	while ((x = u64map_next(&e->live, &pos))) {
		err = end_process(e, x, 0);
		e->err = e->err ? e->err : err;
		x->in = NULL;
	}
}

/*
 * Finishes the recording; all processes go on. The caller frees it, after taking its remarks.
 * Returns NULL if there is none.
 */
static struct recording *end_recording(struct tach_exporter *e)
{
	struct recording *r = e->recording;
	struct observer *o = r ? recording_observer(r) : NULL;
	struct capture_counts now, since;
	struct recording_result result;
	int err;

	if (!r)
		return NULL;
	read_counts(e, &now);
	o->ops->stop(o, counts_since(e->since, &now, &since));
	end_processes(e);
	err = recording_finish(r, &since);
	e->err = e->err ? e->err : err;
	recording_result(r, &since, &result);
	settle_samples(e, &result);
	keep_or_remove(e, &result);
	counts_since_free(e->since);
	e->since = NULL;
	e->recording = NULL;
	return r;
}

static void remove_oldest(struct tach_exporter *e)
{
	uint32_t failed = dated_dir_keep(e->place, e->args.keep, e->recording ? e->name : NULL,
					 &e->stats.removed);

	if (failed && !e->warned)
		log_warn("%u old recordings in '%s' cannot be removed, or contain other files, and "
			 "are kept", failed, e->dir);
	e->warned |= failed != 0;
}

static void rotate_recording(struct tach_exporter *e, uint64_t now)
{
	struct recording *old = end_recording(e);

	e->stats.errors += old && e->err;
	begin_recording(e, now);
	if (old && e->recording)
		recording_keep_remarks(e->recording, old);
	recording_free(old);
	remove_oldest(e);
}

/* The recording cannot go on: finishes what there is of it. */
static void give_up(struct tach_exporter *e, uint64_t now)
{
	int err = e->err;

	log_warn("the TACH recording '%s' ended early: %s; a new one is started later", e->path,
		 strerror(-err));
	recording_free(end_recording(e));
	put_off(e, err, now);
	remove_oldest(e);
}

/* Somebody has removed the directory: makes it again. */
static void renew_place(struct tach_exporter *e)
{
	struct dated_dir *new;
	struct stat st;

	if (fstat(dated_dir_fd(e->place), &st) || st.st_nlink)
		return;
	new = dated_dir_open(e->dir, &kind);
	if (!new)
		return;
	dated_dir_close(e->place);
	e->place = new;
}

/* Returns true if the disk has room again, in case that was why the last recording ended. */
static bool has_room(const struct tach_exporter *e)
{
	struct statvfs st;

	return !e->was_full || fstatvfs(dated_dir_fd(e->place), &st) ||
	       (uint64_t)st.f_bavail * st.f_frsize >= e->args.rotate_size_bytes / ROOM_PART;
}

/* ---- configuration ---- */

static void close_place(struct tach_exporter *e)
{
	recording_free(end_recording(e));
	if (e->place)
		remove_oldest(e);
	dated_dir_close(e->place);
	e->place = NULL;
}

int tach_exporter_configure(struct tach_exporter *e, const struct tach_exporter_args *args)
{
	bool same_dir = e->dir && !strcmp(e->dir, args->dir);
	bool same_rate = e->args.rate_hz == args->rate_hz && e->args.mode == args->mode &&
			 e->args.features == args->features;
	struct dated_dir *place = e->place;
	char *dir = strdup(args->dir);

	if (!dir)
		return -ENOMEM;
	if (!same_dir && *dir) {
		place = dated_dir_open(dir, &kind);
		if (!place) {
			free(dir);
			return -errno;
		}
	}
	if (!same_dir)
		close_place(e);
	free(e->dir);
	e->dir = dir;
	e->args = *args;
	e->args.dir = dir;
	e->interval_ns = sampling_interval_us(args->rate_hz) * 1000;
	e->place = *dir ? place : NULL;
	if (e->place && (!same_dir || !same_rate))
		rotate_recording(e, now_ns());
	return 0;
}

struct tach_exporter *tach_exporter_new(const struct tach_exporter_args *args)
{
	struct tach_exporter *e = calloc(1, sizeof(*e));
	int err = e ? tach_exporter_configure(e, args) : -ENOMEM;

	if (!err)
		return e;
	tach_exporter_free(e);
	errno = -err;
	return NULL;
}

void tach_exporter_free(struct tach_exporter *e)
{
	struct exported *x;
	size_t pos = 0;

	if (!e)
		return;
	close_place(e);
	while ((x = u64map_next(&e->live, &pos)))
		free(x);
	u64map_free(&e->live);
	free(e->dir);
	free(e);
}

/* ---- what the agent's observer passes ---- */

int tach_exporter_begin(struct tach_exporter *e, struct process *p)
{
	struct exported *x = calloc(1, sizeof(*x));

	if (!x || u64map_put(&e->live, process_tgid(p), x)) {
		free(x);
		return -ENOMEM;
	}
	x->process = p;
	if (e->recording)
		x->in = recording_begin(e->recording, p);
	return 0;
}

/* Returns true if this is the duration in nominal intervals, apart from rounding. */
static bool is_nominal(const struct tach_exporter *e, uint64_t weight, uint32_t tick_ns)
{
	uint64_t nominal = weight * e->interval_ns, rounded = weight * 1000;

	return tick_ns < nominal + rounded && tick_ns + rounded > nominal;
}

/* The event's time in intervals; the remainder is kept. */
static uint64_t take_intervals(const struct tach_exporter *e, struct exported *x, uint32_t tick_ns)
{
	uint64_t time_ns = tick_ns + x->left_ns;

	x->left_ns = time_ns % e->interval_ns;
	return time_ns / e->interval_ns;
}

static void lose_samples(struct tach_exporter *e, uint64_t samples)
{
	e->stats.samples += samples;
	e->stats.lost += samples;
}

void tach_exporter_event(struct tach_exporter *e, struct process *p, const struct event *ev,
			 uint32_t tick_ns)
{
	struct exported *x;
	struct event other;
	int err;

	if (!e->place)
		return;
	x = e->recording ? u64map_get(&e->live, process_tgid(p)) : NULL;
	if (!x || !x->in) {
		lose_samples(e, process_samples_in(p, ev));
		return;
	}
	if (tick_ns && !is_nominal(e, ev->weight, tick_ns)) {
		other = *ev;
		other.weight = take_intervals(e, x, tick_ns);
		if (!other.weight)
			return;
		ev = &other;
	}
	e->stats.samples += ev->weight;
	e->passed += ev->weight;
	err = recording_event(e->recording, x->in, ev);
	if (err && !e->err)
		e->err = err;
}

void tach_exporter_end(struct tach_exporter *e, struct process *p, uint64_t end_ns)
{
	struct exported *x = u64map_remove(&e->live, process_tgid(p));
	int err = x ? end_process(e, x, end_ns) : 0;

	if (err && !e->err)
		e->err = err;
	free(x);
}

void tach_exporter_remark(struct tach_exporter *e, pid_t tgid, uint32_t uid, const char *comm,
			  const char *text)
{
	struct observer *o = e->recording ? recording_observer(e->recording) : NULL;

	if (o)
		o->ops->remark(o, tgid, uid, comm, text);
}

void tach_exporter_tick(struct tach_exporter *e, uint64_t now_ns)
{
	struct observer *o = e->recording ? recording_observer(e->recording) : NULL;
	uint64_t age = now_ns > e->begun_ns ? now_ns - e->begun_ns : 0;
	int err = o ? o->ops->tick(o) : 0;

	e->err = e->err ? e->err : err;
	if (!e->place)
		return;
	if (!e->recording) {
		if (now_ns < e->retry_ns || !has_room(e))
			return;
		renew_place(e);
		rotate_recording(e, now_ns);
	} else if (e->err) {
		give_up(e, now_ns);
	} else if (age >= e->args.rotate_time_ns ||
		   (age >= SIZE_MIN_AGE_NS &&
		    recording_bytes(e->recording) >= e->args.rotate_size_bytes)) {
		rotate_recording(e, now_ns);
	}
}

void tach_exporter_stats(const struct tach_exporter *e, struct tach_exporter_stats *out)
{
	*out = e->stats;
	out->on = e->place;
	out->works = e->recording;
}

const char *tach_exporter_path(const struct tach_exporter *e)
{
	return e->recording ? e->path : NULL;
}
