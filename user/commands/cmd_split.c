// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cmd_split.c - tachbpf split: one TACH file for each process, thread or span of time, in a
 * directory that is again a recording (it gets a session.json).
 *
 * Pieces are found while reading. The files of the first AT_ONCE pieces are open meanwhile; events
 * of others wait in a temporary file (spool.h), from which one piece after the other is written. So
 * a profile is read once, and memory does not grow with the samples.
 */
#include "commands/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compress.h"
#include "base/json.h"
#include "base/output.h"
#include "base/util.h"
#include "commands/options.h"
#include "commands/profile_out.h"
#include "commands/profile_set.h"
#include "commands/source_book.h"
#include "formats/formats.h"
#include "formats/readers.h"
#include "model/id_map.h"
#include "model/intern.h"
#include "model/process_frame.h"
#include "model/profile_names.h"
#include "model/remap.h"
#include "model/spool.h"
#include "model/thread_map.h"
#include "model/thread_names.h"

/* Pieces being written at a time: a file, tables and a buffer each. */
#define AT_ONCE 128
/* More are a mistake in --every, or malicious. Each has up to 4 KiB of samples in memory. */
#define PIECES_MAX 100000
#define STEM_BYTES 200

struct piece {
	uint64_t key;		/* thread id, number of the span of time, or 1 + process frame */
	const struct profile_file *of;	/* its profile's */
	int fd;			/* -1: not open */
	struct sink *sink;
	struct intern *in;
	struct remap *remap;
	struct spool_stream waiting;	/* events, as records: see put_waiting() */
	struct buf stack;		/* u32: the frames of the last of them */
};

/* For session.json. */
struct written {
	char *name;
	const struct profile_file *from;
};

struct split {
	const struct split_options *opts;
	struct profile_set set;
	int dirfd;
	struct compressor *compressor;
	struct written *written;
	size_t written_cnt, written_cap;
	struct intern *names;		/* of files, before a number is added to them */
	struct id_map numbers_of;	/* such a name -> the next number to try */
	/* The profile being read: */
	const struct profile_file *file;
	struct reader *r;
	struct process_root root;	/* tables NULL: there is only one process */
	struct thread_map *numbers;	/* (key, 0) -> number of the piece */
	struct piece *pieces;
	size_t piece_cnt, piece_cap;
	struct spool *spool;		/* of pieces from AT_ONCE on */
	struct remap *spare;		/* of a closed piece, to be reused; or NULL */
};

static uint64_t key_of(struct split *s, const struct event *ev)
{
	const struct profile_meta *meta = &reader_info(s->r)->meta;

	switch (s->opts->by) {
	case SPLIT_BY_THREAD:
		return ev->thread_id;
	case SPLIT_BY_TIME:
		return (ev->time_us - meta->start_us) / s->opts->every_us;
	default:
		return process_root_of(&s->root, ev) ? 1 + (uint64_t)s->root.frame : 0;
	}
}

/* ---- pieces ---- */

/* Returns the n-th name of a piece, from 1. 0 or -ENAMETOOLONG. */
static int nth_name(const struct split *s, const struct piece *p, uint32_t n,
		    char name[OUTPUT_NAME_MAX])
{
	const char *from = p->of->name, *dot = strstr(from, ".tach");
	int len = dot ? (int)(dot - from) : (int)strlen(from);
	char what[48] = "", again[16] = "";

	if (p->of != s->file) {
		output_file_name(name, p->of->process.tgid, p->of->process.comm, (int)n - 1,
				 OUTPUT_SUFFIX);
		return 0;
	}
	len = len < STEM_BYTES ? len : STEM_BYTES;
	if (s->opts->by == SPLIT_BY_THREAD)
		snprintf(what, sizeof(what), ".thread-%" PRIu64, p->key);
	else if (s->opts->by == SPLIT_BY_TIME)
		snprintf(what, sizeof(what), ".part-%04" PRIu64, p->key + 1);
	if (n > 1)
		snprintf(again, sizeof(again), ".%u", n);
	len = snprintf(name, OUTPUT_NAME_MAX, "%.*s%s%s.tach", len, from, what, again);
	return len < OUTPUT_NAME_MAX ? 0 : -ENAMETOOLONG;
}

/*
 * Finds a name that is free in the directory, for session.json. Numbers that were tried before are
 * not tried again. 0 or -errno.
 */
static int name_piece(struct split *s, const struct piece *p, char name[OUTPUT_NAME_MAX])
{
	uint32_t id, n = 1;
	struct stat st;
	int err = nth_name(s, p, n, name);

	if (!err)
		err = intern_string(s->names, name, strlen(name), &id);
	if (err)
		return err;
	if (id_map_get(&s->numbers_of, id, &n))
		err = nth_name(s, p, n, name);
	while (!err && !fstatat(s->dirfd, name, &st, AT_SYMLINK_NOFOLLOW))
		err = nth_name(s, p, ++n, name);
	if (!err && errno != ENOENT)
		err = -errno;
	return err ? err : id_map_set(&s->numbers_of, id, n + 1);
}

static int add_written(struct split *s, const struct piece *p, const char *name)
{
	struct written w = { .name = strdup(name), .from = p->of };
	int err = w.name ? array_add(s->written, s->written_cnt, s->written_cap, w) : -ENOMEM;

	if (err)
		free(w.name);
	return err;
}

/* A piece by time has its own start. */
static void piece_meta(const struct split *s, const struct piece *p, struct profile_meta *meta)
{
	*meta = reader_info(s->r)->meta;
	meta->tgid = p->of->process.tgid;
	meta->comm = p->of->process.comm;
	if (s->opts->by == SPLIT_BY_TIME)
		meta->start_us += p->key * s->opts->every_us;
}

/* Rates are those of the whole profile; a piece by time has its own duration. */
static void piece_stats(const struct split *s, const struct piece *p, struct profile_stats *st)
{
	double every = s->opts->every_us / 1e6, left;

	*st = reader_info(s->r)->stats;
	if (s->opts->by != SPLIT_BY_TIME)
		return;
	left = st->duration_s - p->key * every;
	st->duration_s = left < 0 ? 0 : left < every ? left : every;
}

/* Sets the piece's process: that of the last root frame, or the file's own. 0 or -ENOMEM. */
static int set_process(struct split *s, struct piece *p)
{
	struct profile_file *inner;

	p->of = s->file;
	if (s->opts->by != SPLIT_BY_PROCESS || !p->key)
		return 0;
	inner = profile_set_inner(&s->set, s->file, s->root.tgid, s->root.comm,
				  *s->root.container ? s->root.container :
						       s->file->process.container);
	if (!inner)
		return -ENOMEM;
	inner->process.command = s->file->process.command;
	p->of = inner;
	return 0;
}

/* Its memory may be as long as the profile's table, so that of a closed piece is reused. */
static struct remap *take_remap(struct split *s, struct intern *in)
{
	struct remap *r = s->spare;

	s->spare = NULL;
	if (!r)
		return remap_new(reader_tables(s->r), in);
	remap_begin(r, reader_tables(s->r), in);
	return r;
}

static int open_piece(struct split *s, struct piece *p)
{
	struct sink_args args = { .layout = s->opts->tach.layout, .compressor = s->compressor };
	char name[OUTPUT_NAME_MAX];
	struct profile_meta meta;
	int err = name_piece(s, p, name);

	if (err)
		return err;
	p->fd = output_create_file(s->dirfd, name);
	if (p->fd < 0)
		return -ECANCELED;	/* logged */
	args.fd = p->fd;
	p->in = intern_new();
	p->remap = p->in ? take_remap(s, p->in) : NULL;
	p->sink = p->remap ? sink_tach.open(&args) : NULL;
	if (!p->sink)
		return -ENOMEM;
	piece_meta(s, p, &meta);
	err = add_written(s, p, name);
	return err ? err : p->sink->ops->begin(p->sink, &meta, intern_tables(p->in));
}

/* Closes a piece; finishes its file if err is 0. Returns err, or the error of closing. */
static int close_piece(struct split *s, struct piece *p, int err)
{
	struct profile_stats stats;

	if (p->sink && !err)
		err = remap_libraries(p->remap);
	if (p->sink && !err) {
		piece_stats(s, p, &stats);
		err = p->sink->ops->end(p->sink, &stats);
	}
	if (p->sink)
		p->sink->ops->close(p->sink);
	if (p->remap) {
		remap_free(s->spare);
		s->spare = p->remap;
	}
	intern_free(p->in);
	if (p->fd >= 0 && close(p->fd) && !err)
		err = -errno;
	spool_stream_free(&p->waiting);
	buf_free(&p->stack);
	*p = (struct piece){ .key = p->key, .fd = -1 };
	return err;
}

/* Writes an event to the piece's file, which is opened if necessary. 0 or -errno. */
static int write_event(struct split *s, struct piece *p, const struct event *ev)
{
	struct event inner = *ev, ours;
	int err = p->sink ? 0 : open_piece(s, p);

	if (err)
		return err;
	inner.nframes -= p->of != s->file;	/* its own file needs no root frame */
	err = remap_event(p->remap, &inner, &ours);
	return err ? err : p->sink->ops->event(p->sink, &ours);
}

/* ---- events waiting for their file ---- */

#define HEAD_NUMBERS 7		/* time, thread, interpreter, status, weight, frames, new frames */

/* Keeps an event: its numbers, and its frames if they differ from the piece's last event. */
static int put_waiting(struct split *s, struct piece *p, const struct event *ev)
{
	size_t bytes = ev->nframes * sizeof(*ev->frames);
	bool same = p->stack.len == bytes && (!bytes || !memcmp(p->stack.data, ev->frames, bytes));
	const uint64_t head[HEAD_NUMBERS] = { ev->time_us, ev->thread_id, ev->interp_id,
					      ev->status, ev->weight, ev->nframes, !same };
	uint64_t frame;
	uint32_t i;
	int err;

	if (!s->spool)
		s->spool = spool_new();
	err = s->spool ? spool_add(s->spool, &p->waiting, head, HEAD_NUMBERS) : -ENOMEM;
	for (i = 0; !err && !same && i < ev->nframes; i++) {
		frame = ev->frames[i];
		err = spool_add(s->spool, &p->waiting, &frame, 1);
	}
	p->stack.len = 0;
	if (!err && bytes)
		err = buf_add(&p->stack, ev->frames, bytes);
	return err;
}

/* Reads the next waiting event; its frames are in frames. 1; 0: there are no more; -errno. */
static int next_waiting(struct spool_reader *r, struct event *ev,
			uint32_t frames[EVENT_MAX_FRAMES])
{
	uint64_t head[HEAD_NUMBERS], frame;
	uint32_t i;
	int more = spool_next(r, head, HEAD_NUMBERS);

	if (more <= 0)
		return more;
	*ev = (struct event){ .time_us = head[0], .thread_id = head[1],
			      .interp_id = (uint32_t)head[2], .status = (uint8_t)head[3],
			      .weight = head[4], .nframes = (uint32_t)head[5], .frames = frames };
	for (i = 0; head[6] && i < ev->nframes; i++) {
		more = spool_next(r, &frame, 1);
		if (more <= 0)
			return more ? more : -EIO;
		frames[i] = (uint32_t)frame;
	}
	return 1;
}

/* Writes the file of a piece with waiting events. 0 or -errno. */
static int write_waiting(struct split *s, struct piece *p)
{
	uint32_t frames[EVENT_MAX_FRAMES];
	struct spool_reader r;
	struct event ev;
	int err = 0, more;

	spool_read(&r, s->spool, &p->waiting);
	while (!err && (more = next_waiting(&r, &ev, frames)))
		err = more < 0 ? more : write_event(s, p, &ev);
	return err;
}

/* ---- reading ---- */

/* Finds or adds the key's piece. 0; -E2BIG: too many pieces; -ENOMEM. */
static int number_of(struct split *s, uint64_t key, size_t *number)
{
	uint32_t n;

	if (thread_map_get(s->numbers, key, 0, &n))
		return -ENOMEM;
	*number = n;
	if (n < s->piece_cnt)
		return 0;
	if (n == PIECES_MAX)
		return -E2BIG;
	if (array_add(s->pieces, s->piece_cnt, s->piece_cap,
		      (struct piece){ .key = key, .fd = -1 }))
		return -ENOMEM;
	return set_process(s, &s->pieces[n]);
}

static int on_event(void *ctx, const struct event *ev)
{
	struct split *s = ctx;
	size_t number;
	int err = number_of(s, key_of(s, ev), &number);

	if (err)
		return err;
	return number < AT_ONCE ? write_event(s, &s->pieces[number], ev) :
				  put_waiting(s, &s->pieces[number], ev);
}

static int split_profile(struct split *s)
{
	int err = profile_set_run(&s->set, s->file, s->r, on_event, s), one;
	size_t i;

	for (i = 0; i < s->piece_cnt; i++) {
		if (!err && i >= AT_ONCE)
			err = write_waiting(s, &s->pieces[i]);
		one = close_piece(s, &s->pieces[i], err);
		err = err ? err : one;
	}
	spool_free(s->spool);
	s->spool = NULL;
	return err;
}

static int split_file(void *ctx, const struct profile_file *file, struct reader *r)
{
	struct split *s = ctx;
	int err;

	if (reader_info(r)->meta.unit != UNIT_SAMPLES) {
		log_error("'%s' counts %s, but TACH only holds samples: it cannot be split",
			  file->shown, profile_unit_name(reader_info(r)->meta.unit));
		return -ECANCELED;
	}
	if (s->opts->by == SPLIT_BY_TIME && !reader_info(r)->timed) {
		log_error("'%s' has no timestamps: it cannot be split by time", file->shown);
		return -ECANCELED;
	}
	s->file = file;
	s->r = r;
	s->piece_cnt = 0;
	s->root = (struct process_root){ .tables = file->process.tgid ? NULL : reader_tables(r) };
	s->numbers = thread_map_new();
	if (!s->numbers)
		return -ENOMEM;
	err = split_profile(s);
	thread_map_free(s->numbers);
	return err;
}

/* ---- session.json ---- */

static void json_written(struct json *j, const struct written *w)
{
	const struct session_process *p = &w->from->process;

	json_object(j, NULL);
	json_string(j, "file", w->name);
	if (p->tgid)
		json_uint(j, "pid", p->tgid);
	if (p->comm)
		json_string(j, "comm", p->comm);
	if (p->command)
		json_string(j, "command", p->command);
	thread_names_json(j, p->thread_names);
	json_object_end(j);
}

static int write_session(struct split *s)
{
	int fd = output_create_file(s->dirfd, SESSION_FILE_NAME), err = 0;
	struct json j;
	size_t i;
	FILE *f;

	if (fd < 0)
		return -ECANCELED;	/* logged */
	f = fdopen(fd, "w");
	if (!f) {
		close(fd);
		return -ENOMEM;
	}
	json_start(&j, f, true);
	json_object(&j, NULL);
	json_array(&j, "processes");
	for (i = 0; i < s->written_cnt; i++)
		json_written(&j, &s->written[i]);
	json_array_end(&j);
	json_object_end(&j);
	fputc('\n', f);
	if (fflush(f) || ferror(f))
		err = -errno;
	if (fclose(f) && !err)
		err = -errno;
	return err;
}

/* The directory keeps what the recordings kept. 0 or -errno; logs why. */
static int save_sources(struct split *s)
{
	struct source_book *book = source_book_new(&s->set);
	int err = book ? source_book_save(book, s->opts->output) : -ENOMEM;

	source_book_free(book);
	return err;
}

/* ---- */

static int split_set(struct split *s)
{
	bool made;
	int err;

	s->dirfd = output_create_dir(s->opts->output, &made);
	if (s->dirfd < 0)
		return s->dirfd;
	if (s->opts->tach.compress) {
		s->compressor = compressor_new(COMPRESS_LEVEL);
		if (!s->compressor)
			return -ENOMEM;
	}
	s->names = intern_new();
	err = s->names ? profile_set_each(&s->set, split_file, s) : -ENOMEM;
	if (!err)
		err = write_session(s);
	if (!err)
		err = save_sources(s);
	if (err == -E2BIG)
		log_error("more than %d pieces of '%s': use a longer --every", PIECES_MAX,
			  s->file->shown);
	else if (err && err != -ECANCELED)
		profile_out_complain(s->opts->output, err);
	return err;
}

int split_run(const struct split_options *opts)
{
	struct split s = { .opts = opts, .dirfd = -1 };
	struct reader_args args = opts->input.reader;
	size_t i;
	int err;

	/* TACH only has samples: times are converted to numbers of samples. */
	if (args.value == VALUE_DEFAULT)
		args.value = VALUE_SAMPLES;
	err = profile_set_open(&s.set, opts->input.paths, opts->input.path_cnt, &args);
	if (!err) {
		s.set.filter = &opts->input.filter;
		err = split_set(&s);
	}
	if (s.set.failed)
		err = -ECANCELED;	/* already reported */
	compressor_free(s.compressor);
	for (i = 0; i < s.written_cnt; i++)
		free(s.written[i].name);
	free(s.written);
	remap_free(s.spare);
	intern_free(s.names);
	id_map_free(&s.numbers_of);
	free(s.pieces);
	if (s.dirfd >= 0)
		close(s.dirfd);
	profile_set_free(&s.set);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
