// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * memory_file.c - see memory_file.h.
 */
#include "recording/memory_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/time.h"
#include "base/util.h"
#include "formats/mlyze/mlyze_join.h"
#include "formats/mlyze/mlyze_stream.h"
#include "recording/recording_rows.h"
#include "recording/session_json.h"

/* Thread numbers in a file have 16 bits; the last one stands for all further threads. */
#define THREAD_BEYOND UINT16_MAX
/* Copying this many bytes takes some ms; larger files are joined at the recording's end. */
#define JOIN_NOW_BYTES (4u << 20)
#define WHY_BYTES 256

struct memory_thread {
	uint16_t number;
	bool named;		/* its mark has its name */
};

void memory_file_init(struct memory_file *f, struct recording *r, struct row *row,
		      struct process *p)
{
	*f = (struct memory_file){
		.recording = r, .row = row, .process = p, .dirfd = -1, .lock_fd = -1,
	};
}

/* Converts a time of CLOCK_MONOTONIC to the time of day. */
static uint64_t utc_us(const struct memory_file *f, uint64_t monotonic_us)
{
	return monotonic_us + f->recording->utc_us;
}

static int place_of(const struct memory_file *f)
{
	return f->dirfd >= 0 ? f->dirfd : f->recording->dirfd;
}

/* ---- marks ---- */

static int put_mark(struct memory_file *f, uint64_t time_us, const struct mlyze_mark_text *t)
{
	return mlyze_stream_mark(f->stream, utc_us(f, time_us), t);
}

static int mark_recording(struct memory_file *f, uint64_t time_us)
{
	const struct recording_memory *m = &f->recording->args.memory;
	struct mlyze_mark_text t;

	mlyze_mark_begin(&t, MARK_RECORDING);
	mlyze_mark_put(&t, "mode", m->exact ? "exact" : "sampled");
	if (m->exact)
		mlyze_mark_put_number(&t, "min", m->min_block_bytes);
	else
		mlyze_mark_put_number(&t, "every", m->every_bytes);
	mlyze_mark_put_number(&t, "interval_us", m->interval_us);
	mlyze_mark_put(&t, "version", TACHBPF_VERSION);
	return put_mark(f, time_us, &t);
}

static int mark_process(struct memory_file *f, uint64_t time_us)
{
	const struct row *row = f->row;
	char label[CONTAINER_LABEL_BYTES];
	struct mlyze_mark_text t;

	mlyze_mark_begin(&t, MARK_PROCESS);
	mlyze_mark_put_number(&t, "pid", (uint64_t)row->tgid);
	mlyze_mark_put(&t, "comm", row->comm);
	mlyze_mark_put(&t, "python", row->version);
	if (row->identity.container)
		mlyze_mark_put(&t, "container", container_label(row->identity.container, label));
	mlyze_mark_put(&t, "command", row->command);
	return put_mark(f, time_us, &t);
}

static int mark_thread(struct memory_file *f, uint64_t time_us, uint64_t tid,
		       struct memory_thread *thread)
{
	const char *name = thread_names_find(process_thread_names(f->process), tid);
	struct mlyze_mark_text t;

	mlyze_mark_begin(&t, MARK_THREAD);
	mlyze_mark_put_number(&t, "n", thread->number);
	mlyze_mark_put_number(&t, "tid", tid);
	if (name)
		mlyze_mark_put(&t, "name", name);
	thread->named = name;
	return put_mark(f, time_us, &t);
}

static int mark_check(struct memory_file *f, const struct memory_event *ev)
{
	struct mlyze_mark_text t;

	mlyze_mark_begin(&t, MARK_CHECK);
	mlyze_mark_put_number(&t, "rss_anon", ev->check.rss_anon);
	mlyze_mark_put_number(&t, "swapped", ev->check.swapped);
	mlyze_mark_put_number(&t, "held", ev->check.held);
	mlyze_mark_put_number(&t, "unchecked", ev->check.unchecked);
	return put_mark(f, ev->time_us, &t);
}

struct census_time {
	struct memory_file *file;
	uint64_t time_us;
};

static int put_census_mark(void *ctx, const struct mlyze_mark_text *t)
{
	const struct census_time *c = ctx;

	return put_mark(c->file, c->time_us, t);
}

/* Before the file has begun there is nothing that has grown. */
static int mark_census(struct memory_file *f, const struct memory_event *ev)
{
	struct census_time at = { f, ev->time_us };

	return f->stream ? census_marks_put(&f->census, ev->census, put_census_mark, &at) : 0;
}

static int mark_collection(struct memory_file *f, const struct memory_event *ev)
{
	const struct memory_collection *c = &ev->collection;
	struct mlyze_mark_text t;

	mlyze_mark_begin(&t, MARK_GC);
	mlyze_mark_put_number(&t, "generation", c->generation);
	mlyze_mark_put_number(&t, "runs", c->runs);
	mlyze_mark_put_number(&t, "uncollectable", c->uncollectable);
	mlyze_mark_put_number(&t, "duration_us", c->duration_us);
	return put_mark(f, ev->time_us, &t);
}

/* A stack that is not in the file holds nothing of it. */
static int mark_fate(struct memory_file *f, const struct memory_event *ev)
{
	struct mlyze_mark_text t;
	uint32_t id;

	memory_sums_fate(&f->row->memory, &ev->fate);
	if (!mlyze_stream_stack_id(f->stream, ev->stack, &id))
		return 0;
	mlyze_mark_begin(&t, MARK_FATE);
	mlyze_mark_put_number(&t, "stack", id);
	mlyze_mark_put_number(&t, "pages", ev->fate.pages);
	mlyze_mark_put_number(&t, "own", ev->fate.own);
	mlyze_mark_put_number(&t, "reused", ev->fate.reused);
	mlyze_mark_put_number(&t, "unused", ev->fate.unused);
	return put_mark(f, ev->time_us, &t);
}

static int mark_losses(struct memory_file *f, uint64_t time_us)
{
	struct mlyze_mark_text t;
	uint64_t cnt;
	int cause, err = 0;

	for (cause = 0; !err && cause < LOSS_CNT; cause++) {
		cnt = row_lost(&f->row->stats, cause, false);
		if (!cnt)
			continue;
		mlyze_mark_begin(&t, MARK_LOST);
		mlyze_mark_put(&t, "cause", loss_names[cause].key);
		mlyze_mark_put_number(&t, "cnt", cnt);
		err = put_mark(f, time_us, &t);
	}
	return err;
}

/* ---- the file ---- */

/*
 * Opens the directory of a file that the user has named, and locks it, as it may hold other files.
 */
static int open_named(struct memory_file *f)
{
	char path[PATH_MAX], name[OUTPUT_NAME_MAX];
	int err;

	recording_name_row(f->recording, f->row);
	if (!recording_beside(f->recording, f->row->file, path))
		return -errno;
	f->dirfd = output_open_parent(path, name, false);
	if (f->dirfd < 0)
		return f->dirfd;
	err = output_check_replaceable(f->dirfd, name);
	return err ? err : recording_add_named(f->recording, f->row->file);
}

static int open_place(struct memory_file *f)
{
	int dir;

	if (f->row->named)
		return open_named(f);
	dir = recording_dir(f->recording);
	if (dir < 0)
		return dir;
	recording_name_row(f->recording, f->row);
	return 0;
}

static void lock_file(struct memory_file *f)
{
	char names[OUTPUT_NAME_MAX + 8];

	snprintf(names, sizeof(names), "%s" MLYZE_NAMES_SUFFIX, f->row->file);
	f->lock_fd = openat(f->dirfd, names, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (f->lock_fd >= 0)
		flock(f->lock_fd, LOCK_EX | LOCK_NB);
}

static int create_file(struct memory_file *f)
{
	uint64_t start_us = f->recording->start_ns / 1000;
	int err = open_place(f);

	if (err) {
		f->row->file[0] = '\0';
		return err;
	}
	f->stream = mlyze_stream_new(place_of(f), f->row->file, utc_us(f, start_us),
				     process_tables(f->process));
	if (!f->stream) {
		err = -errno;
		f->row->file[0] = '\0';
		return err;
	}
	if (f->row->named)
		lock_file(f);
	f->recording->file_cnt++;
	err = mark_recording(f, start_us);
	if (!err)
		err = mark_process(f, start_us);
	if (!err && f->has_first)
		err = mark_check(f, &f->first);
	return err;
}

int memory_file_create(struct memory_file *f)
{
	if (!f->stream && !f->err)
		f->err = create_file(f);
	return f->err;
}

/* ---- events ---- */

/* Returns the thread's number; its mark is written if it is new. */
static int thread_number(struct memory_file *f, const struct memory_event *ev, uint16_t *number)
{
	struct memory_thread *thread = u64map_get(&f->threads, ev->thread_id);

	*number = thread ? thread->number : THREAD_BEYOND;
	if (thread)
		return 0;
	if (f->thread_cnt >= THREAD_BEYOND) {
		f->row->memory.beyond_threads++;
		return 0;
	}
	thread = calloc(1, sizeof(*thread));
	if (!thread || u64map_put(&f->threads, ev->thread_id, thread)) {
		free(thread);
		return -ENOMEM;
	}
	thread->number = *number = (uint16_t)f->thread_cnt++;
	return mark_thread(f, ev->time_us, ev->thread_id, thread);
}

/* Returns true if it is the stack of all those without a number. */
static bool is_not_kept(const struct memory_file *f, const struct memory_event *ev)
{
	static const char name[] = "<stacks not kept>";
	const struct profile_tables *t = process_tables(f->process);
	const struct string_ref *func;

	if (ev->nframes != 1)
		return false;
	func = &t->strings[t->frames[ev->frames[0]].func];
	return func->len == strlen(name) && !memcmp(func->data, name, func->len);
}

static int put_alloc(struct memory_file *f, const struct memory_event *ev)
{
	uint16_t number;
	int err = thread_number(f, ev, &number);

	if (!err)
		err = mlyze_stream_alloc(f->stream, utc_us(f, ev->time_us), ev->addr, ev->bytes,
					 ev->stack, ev->frames, ev->nframes, number);
	f->put += !err;
	f->row->memory.not_kept += is_not_kept(f, ev);
	return err;
}

static int put_collection(struct memory_file *f, const struct memory_event *ev)
{
	int err = mark_collection(f, ev);

	return err ? err : mlyze_stream_gc(f->stream, utc_us(f, ev->time_us),
					   ev->collection.collected);
}

static int mark_burst(struct memory_file *f, const struct memory_event *ev)
{
	struct mlyze_mark_text t;

	mlyze_mark_begin(&t, MARK_BURST);
	return put_mark(f, ev->time_us, &t);
}

static int mark_sampled(struct memory_file *f, const struct memory_event *ev)
{
	const struct memory_sampled *s = &ev->sampled;
	struct mlyze_mark_text t;

	mlyze_mark_begin(&t, MARK_SAMPLED);
	mlyze_mark_put_number(&t, "bursts", s->bursts);
	mlyze_mark_put_number(&t, "watched_us", s->watched_us);
	mlyze_mark_put_number(&t, "over_us", s->over_us);
	mlyze_mark_put_number(&t, "found", s->found);
	mlyze_mark_put_number(&t, "used", s->looked_used);
	mlyze_mark_put_number(&t, "again", s->again);
	mlyze_mark_put_number(&t, "again_error", s->again_error);
	mlyze_mark_put(&t, "allocator", s->allocator);
	return put_mark(f, ev->time_us, &t);
}

/* In a file without a block they say that none was allocated in a burst. */
static int mark_bursts(struct memory_file *f, const struct memory_event *ev)
{
	int err = memory_file_create(f);

	if (err)
		return err;
	f->row->memory.bursts += ev->change == MEMORY_BURST;
	return ev->change == MEMORY_BURST ? mark_burst(f, ev) : mark_sampled(f, ev);
}

/* A check does not create a file: it waits for one. */
static int take_check(struct memory_file *f, const struct memory_event *ev)
{
	memory_sums_check(&f->row->memory, &ev->check);
	if (f->stream)
		return mark_check(f, ev);
	if (!f->has_first)
		f->first = *ev;
	f->has_first = true;
	return 0;
}

int memory_file_event(struct memory_file *f, const struct memory_event *ev)
{
	if (f->err)
		return f->err;
	if (ev->change == MEMORY_CHECK)
		return f->err = take_check(f, ev);
	if (ev->change == MEMORY_BURST || ev->change == MEMORY_SAMPLED)
		return f->err = mark_bursts(f, ev);
	if (ev->change == MEMORY_CENSUS)
		return f->err = mark_census(f, ev);
	if (memory_file_create(f))
		return f->err;
	if (ev->change == MEMORY_ALLOC) {
		f->err = put_alloc(f, ev);
	} else if (ev->change == MEMORY_FATE) {
		f->err = mark_fate(f, ev);
	} else if (ev->change == MEMORY_FREE) {
		f->err = mlyze_stream_freed(f->stream, utc_us(f, ev->time_us), ev->addr);
	} else {
		f->row->memory.collections += ev->collection.runs;
		f->err = put_collection(f, ev);
	}
	return f->err;
}

static void count_bytes(struct memory_file *f)
{
	uint64_t bytes = f->stream ? mlyze_stream_bytes(f->stream) : f->bytes;

	f->recording->bytes += bytes - f->bytes;
	f->bytes = bytes;
}

int memory_file_flush(struct memory_file *f)
{
	if (f->stream && !f->err)
		f->err = mlyze_stream_flush(f->stream);
	if (!f->err)
		f->written = f->put;
	count_bytes(f);
	return f->err;
}

/* ---- the end ---- */

/* Writes names that became known after the threads' first events. */
static int name_threads(struct memory_file *f, uint64_t time_us)
{
	size_t cnt, i;
	const struct thread_name *list = thread_names_list(process_thread_names(f->process), &cnt);
	struct memory_thread *thread;
	int err = 0;

	for (i = 0; !err && i < cnt; i++) {
		thread = u64map_get(&f->threads, list[i].tid);
		if (thread && !thread->named && list[i].name[0])
			err = mark_thread(f, time_us, list[i].tid, thread);
	}
	return err;
}

static int put_end(struct memory_file *f, bool exited)
{
	uint64_t now_us = now_ns() / 1000;
	struct mlyze_mark_text t;
	int err = name_threads(f, now_us);

	if (!err)
		err = mark_losses(f, now_us);
	mlyze_mark_begin(&t, MARK_END);
	mlyze_mark_put_number(&t, "exited", exited);
	return err ? err : put_mark(f, now_us, &t);
}

/* After an error, ALLOCs in the file count; the rest are lost. */
static void settle_counts(struct memory_file *f)
{
	struct process_stats *s = &f->row->stats;
	uint64_t all = s->allocs + s->lost[LOSS_WRITE];

	s->allocs = f->written < all ? f->written : all;
	s->lost[LOSS_WRITE] = all - s->allocs;
	s->samples = s->allocs;
}

static void log_join_error(const char *file, int err, const char *why)
{
	char shown[4 * OUTPUT_NAME_MAX];

	log_error("cannot create '%s' from its events and names: %s; they are kept: %s`tachbpf "
		  "recover` creates it from them",
		  escape_text(file, strlen(file), shown, sizeof(shown)), *why ? why : "see above",
		  err == -ENOSPC || err == -EDQUOT ? "free some space, and " : "");
}

static int join_file(int dirfd, const char *file)
{
	struct mlyze_joined joined;
	char why[WHY_BYTES];
	int err = mlyze_join(dirfd, file, &joined, why, sizeof(why));

	if (err)
		log_join_error(file, err, why);
	return err;
}

/* A note for memory_files_join(): the name, and the directory if it is not the recording's. */
struct late_file {
	char name[OUTPUT_NAME_MAX];
	int dirfd;
};

static int join_later(struct memory_file *f)
{
	struct late_file late = { .dirfd = f->dirfd };
	int err;

	memcpy(late.name, f->row->file, sizeof(late.name));
	err = buf_add(&f->recording->late_files, &late, sizeof(late));
	if (!err)
		f->dirfd = -1;	/* the note owns it */
	return err;
}

static void close_all(struct memory_file *f)
{
	struct memory_thread *thread;
	size_t pos = 0;

	mlyze_stream_free(f->stream);
	f->stream = NULL;
	while ((thread = u64map_next(&f->threads, &pos)))
		free(thread);
	u64map_free(&f->threads);
	census_marks_free(&f->census);
	if (f->lock_fd >= 0)
		close(f->lock_fd);
	if (f->dirfd >= 0)
		close(f->dirfd);
	f->lock_fd = f->dirfd = -1;
}

int memory_file_end(struct memory_file *f, bool exited)
{
	struct recording *r = f->recording;
	uint64_t large = f->stream ? mlyze_stream_event_bytes(f->stream) : 0;
	int err;

	if (f->stream && !f->err)
		f->err = put_end(f, exited);
	memory_file_flush(f);
	if (f->err) {
		r->incomplete = true;
		settle_counts(f);
	}
	err = recording_judge_error(r, f->row, f->err);
	if (err)
		recording_log_write_error(r, f->row, err);
	if (f->stream && f->err != -ESTALE) {
		err = large < JOIN_NOW_BYTES ? join_file(place_of(f), f->row->file) : join_later(f);
		f->err = f->err ? f->err : err;
	}
	f->row->err = f->err;
	f->row->kept = f->put;
	memory_sums_stats(&f->row->memory, &f->row->stats);
	err = recording_judge_error(r, f->row, f->err);
	close_all(f);
	return err;
}

void memory_file_abandon(struct memory_file *f)
{
	close_all(f);
}

int memory_files_join(struct recording *r)
{
	struct late_file *late = (struct late_file *)(void *)r->late_files.data;
	size_t i, cnt = r->late_files.len / sizeof(*late);
	int err = 0, one;

	for (i = 0; i < cnt; i++) {
		one = join_file(late[i].dirfd >= 0 ? late[i].dirfd : r->dirfd, late[i].name);
		err = err ? err : one;
		if (late[i].dirfd >= 0)
			close(late[i].dirfd);
	}
	buf_free(&r->late_files);
	return err;
}
