// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cmd_split.c - tachbpf split: one TACH file for each process, thread or span of time, in a
 * directory that is a recording again (it gets a session.json).
 *
 * Pieces are found while reading. AT_ONCE files are open at a time; if there are more pieces,
 * the profile is read again for the next ones. Memory does not grow with the samples.
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
#include "formats/formats.h"
#include "formats/readers.h"
#include "model/intern.h"
#include "model/process_frame.h"
#include "model/profile_names.h"
#include "model/remap.h"
#include "model/thread_map.h"
#include "model/thread_names.h"

/* Pieces being written at a time: a file, tables and a buffer each. */
#define AT_ONCE 128
/* More are a mistake in --every, or hostile. */
#define PIECES_MAX 100000
#define STEM_BYTES 200

struct piece {
	uint64_t key;		/* thread id, number of the span of time, or 1 + process frame */
	const struct profile_file *of;	/* whose it is */
	int fd;			/* -1: not open */
	struct sink *sink;
	struct intern *in;
	struct remap *remap;
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
	size_t written_cnt;
	/* The profile being read: */
	const struct profile_file *file;
	struct reader *r;
	struct process_root root;	/* tables NULL: it is of one process */
	struct thread_map *numbers;	/* (key, 0) -> number of the piece */
	struct piece *pieces;
	size_t piece_cnt, piece_cap;
	size_t first;			/* [first, first + AT_ONCE) are being written */
};

static uint64_t key_of(struct split *s, const struct event *ev)
{
	const struct profile_meta *meta = &reader_info(s->r)->meta;

	switch (s->opts->by) {
	case SPLIT_BY_THREAD:
		return ev->thread_id;
	case SPLIT_BY_TIME:
		return (ev->time_us - meta->start_us) / s->opts->every_us;
	case SPLIT_BY_PROCESS:
		return process_root_of(&s->root, ev) ? 1 + (uint64_t)s->root.frame : 0;
	}
	return 0;
}

/* ---- pieces ---- */

/* Find a name that is free in the directory. session.json will have it. 0 or -errno. */
static int name_piece(struct split *s, const struct piece *p, char name[OUTPUT_NAME_MAX])
{
	const char *from = p->of->name, *dot = strstr(from, ".tach");
	int len = dot ? (int)(dot - from) : (int)strlen(from), n, i;
	char what[48] = "", again[16] = "";
	struct stat st;

	len = len < STEM_BYTES ? len : STEM_BYTES;
	if (s->opts->by == SPLIT_BY_THREAD)
		snprintf(what, sizeof(what), ".thread-%" PRIu64, p->key);
	else if (s->opts->by == SPLIT_BY_TIME)
		snprintf(what, sizeof(what), ".part-%04" PRIu64, p->key + 1);
	for (i = 1;; i++) {
		if (i > 1)
			snprintf(again, sizeof(again), ".%d", i);
		if (p->of != s->file)
			output_file_name(name, p->of->process.tgid, p->of->process.comm, i - 1);
		n = p->of != s->file ? 0 : snprintf(name, OUTPUT_NAME_MAX, "%.*s%s%s.tach", len,
						    from, what, again);
		if (n >= OUTPUT_NAME_MAX)
			return -ENAMETOOLONG;
		if (fstatat(s->dirfd, name, &st, AT_SYMLINK_NOFOLLOW))
			return errno == ENOENT ? 0 : -errno;
	}
}

static int add_written(struct split *s, const struct piece *p, const char *name)
{
	struct written *bigger = reallocarray(s->written, s->written_cnt + 1, sizeof(*bigger));

	if (!bigger)
		return -ENOMEM;
	s->written = bigger;
	s->written[s->written_cnt].name = strdup(name);
	s->written[s->written_cnt].from = p->of;
	return s->written[s->written_cnt++].name ? 0 : -ENOMEM;
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

/* Set the piece's process: the one of the last root frame, or the file's own. 0 or -ENOMEM. */
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

static int open_piece(struct split *s, struct piece *p)
{
	struct sink_args args = { .layout = s->opts->tach.layout, .compressor = s->compressor };
	char name[OUTPUT_NAME_MAX];
	struct profile_meta meta;
	int err = set_process(s, p);

	if (!err)
		err = name_piece(s, p, name);
	if (err)
		return err;
	p->fd = output_create_file(s->dirfd, name);
	if (p->fd < 0)
		return -ECANCELED;	/* logged */
	args.fd = p->fd;
	p->in = intern_new();
	p->remap = p->in ? remap_new(reader_tables(s->r), p->in) : NULL;
	p->sink = p->remap ? sink_tach.open(&args) : NULL;
	if (!p->sink)
		return -ENOMEM;
	piece_meta(s, p, &meta);
	err = add_written(s, p, name);
	return err ? err : p->sink->ops->begin(p->sink, &meta, intern_tables(p->in));
}

/* Close a piece; finish its file if err is 0. Returns err, or the error of closing. */
static int close_piece(struct split *s, struct piece *p, int err)
{
	struct profile_stats stats;

	if (p->sink && !err) {
		piece_stats(s, p, &stats);
		err = p->sink->ops->end(p->sink, &stats);
	}
	if (p->sink)
		p->sink->ops->close(p->sink);
	remap_free(p->remap);
	intern_free(p->in);
	if (p->fd >= 0 && close(p->fd) && !err)
		err = -errno;
	*p = (struct piece){ .key = p->key, .fd = -1 };
	return err;
}

/* ---- reading ---- */

/* Find or add the key's piece. 0; -E2BIG: too many pieces; -ENOMEM. */
static int number_of(struct split *s, uint64_t key, size_t *number)
{
	struct piece *bigger;
	uint32_t n;

	if (thread_map_get(s->numbers, key, 0, &n))
		return -ENOMEM;
	*number = n;
	if (n < s->piece_cnt)
		return 0;
	if (n == PIECES_MAX)
		return -E2BIG;
	if (s->piece_cnt == s->piece_cap) {
		s->piece_cap = s->piece_cap ? s->piece_cap * 2 : 16;
		bigger = reallocarray(s->pieces, s->piece_cap, sizeof(*bigger));
		if (!bigger)
			return -ENOMEM;
		s->pieces = bigger;
	}
	s->pieces[s->piece_cnt++] = (struct piece){ .key = key, .fd = -1 };
	return 0;
}

static int on_event(void *ctx, const struct event *ev)
{
	struct split *s = ctx;
	struct event inner = *ev, ours;
	struct piece *p;
	size_t number;
	int err = number_of(s, key_of(s, ev), &number);

	if (err || number < s->first || number >= s->first + AT_ONCE)
		return err;
	p = &s->pieces[number];
	if (!p->sink) {
		err = open_piece(s, p);
		if (err)
			return err;
	}
	inner.nframes -= p->of != s->file;	/* its own file needs no root frame */
	err = remap_event(p->remap, &inner, &ours);
	return err ? err : p->sink->ops->event(p->sink, &ours);
}

static int split_pass(struct split *s)
{
	size_t i, end;
	int err, one;

	s->set.quiet = s->first;	/* the first pass has reported the damage */
	err = profile_set_run(&s->set, s->file, s->r, on_event, s);
	end = s->piece_cnt < s->first + AT_ONCE ? s->piece_cnt : s->first + AT_ONCE;
	for (i = s->first; i < end; i++) {
		one = close_piece(s, &s->pieces[i], err);
		err = err ? err : one;
	}
	return err;
}

static int split_file(void *ctx, const struct profile_file *file, struct reader *r)
{
	struct split *s = ctx;
	int err;

	if (reader_info(r)->meta.unit != UNIT_SAMPLES) {
		log_error("'%s' counts %s, and TACH has samples only: it cannot be split",
			  file->shown, profile_unit_name(reader_info(r)->meta.unit));
		return -ECANCELED;
	}
	if (s->opts->by == SPLIT_BY_TIME && !reader_info(r)->timed) {
		log_error("'%s' has no times: it cannot be split by time", file->shown);
		return -ECANCELED;
	}
	s->file = file;
	s->r = r;
	s->piece_cnt = s->first = 0;
	s->root = (struct process_root){ .tables = file->process.tgid ? NULL : reader_tables(r) };
	s->numbers = thread_map_new();
	if (!s->numbers)
		return -ENOMEM;
	do {
		err = split_pass(s);
		s->first += AT_ONCE;
	} while (!err && s->first < s->piece_cnt);
	thread_map_free(s->numbers);
	s->set.quiet = false;
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

/* ---- */

static int split_set(struct split *s)
{
	int err;

	s->dirfd = output_create_dir(s->opts->output);
	if (s->dirfd < 0)
		return s->dirfd;
	if (s->opts->tach.compress) {
		s->compressor = compressor_new(COMPRESS_LEVEL);
		if (!s->compressor)
			return -ENOMEM;
	}
	err = profile_set_each(&s->set, split_file, s);
	if (!err)
		err = write_session(s);
	if (err == -E2BIG)
		log_error("more than %d pieces of '%s': give a longer --every", PIECES_MAX,
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

	/* TACH has samples only: times are converted to numbers of samples. */
	if (args.value == VALUE_DEFAULT)
		args.value = VALUE_SAMPLES;
	err = profile_set_open(&s.set, opts->input.paths, opts->input.path_cnt, &args);
	if (!err) {
		s.set.filter = &opts->input.filter;
		err = split_set(&s);
	}
	if (s.set.failed)
		err = -ECANCELED;	/* reported where it happened */
	compressor_free(s.compressor);
	for (i = 0; i < s.written_cnt; i++)
		free(s.written[i].name);
	free(s.written);
	free(s.pieces);
	if (s.dirfd >= 0)
		close(s.dirfd);
	profile_set_free(&s.set);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
