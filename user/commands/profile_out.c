// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* profile_out.c - see profile_out.h. Knows about formats only that TACH seeks. */
#include "commands/profile_out.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/compress.h"
#include "base/util.h"
#include "commands/options.h"
#include "commands/profile_set.h"
#include "commands/source_book.h"
#include "formats/formats.h"
#include "formats/sinks.h"
#include "recording/session_json.h"

#define SHOWN_BYTES 512
/*
 * Bytes of samples in a zstd frame: the fewer frames, the smaller the file. Compressing a frame
 * takes as much memory again.
 */
#define FRAME_BYTES (8 << 20)

const char *profile_out_title(const struct input_options *input)
{
	const char *slash = input->path_cnt == 1 ? strrchr(input->paths[0], '/') : NULL;

	if (input->path_cnt != 1)
		return NULL;
	return slash && slash[1] ? slash + 1 : input->paths[0];
}

void profile_out_complain(const char *path, int err)
{
	char shown[SHOWN_BYTES];
	struct rlimit limit;

	escape_text(path, strlen(path), shown, sizeof(shown));
	if (err == -EFBIG && !getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur < EXPORT_MAX_BYTES)
		log_error("cannot write '%s': it exceeds the file size limit (ulimit -f)",
			  shown);
	else if (err == -EOVERFLOW)
		log_error("cannot write '%s': too many samples: the limit of the layouts draft1 "
			  "and draft2 is 2^32 - 1, and that of counts written out as samples is "
			  "2^30 per file", shown);
	else if (err == -EFBIG)
		log_error("cannot write '%s': it would be larger than %llu GiB: filter the "
			  "samples, or use --force", shown, EXPORT_MAX_BYTES >> 30);
	else if (err != -EPIPE && err != SINK_REPORTED)
		log_error("cannot write '%s': %s", shown, strerror(-err));
}

/* Returns true if the output is a directory: it ends in a slash, or is one already. */
static bool is_dir(const struct sink_ops *format, const char *path)
{
	size_t len = strlen(path);
	struct stat st;

	return format->into_dir && len &&
	       (path[len - 1] == '/' || (!stat(path, &st) && S_ISDIR(st.st_mode)));
}

/* Opens what is written to, and sets args. 0 or -errno; out->path is for messages. */
static int open_place(struct profile_out *out, const struct sink_ops *format, const char *path,
		      struct sink_args *args)
{
	bool made;
	int err = 0;

	if (out->to_stdout) {
		out->path = "standard output";
		args->fd = STDOUT_FILENO;
	} else if (is_dir(format, path)) {
		out->to_dir = true;
		out->dirfd = output_create_dir(path, &made);
		args->dirfd = out->dirfd;
		args->fd = -1;
		err = out->dirfd < 0 ? out->dirfd : 0;
	} else {
		err = output_open(&out->file, path);
		args->fd = out->file.fd;
	}
	return err;
}

/* Opens a sink that writes to path, or to standard output if path is "-". 0 or -errno. */
static int open_sink(struct profile_out *out, const struct sink_ops *format, const char *path,
		     struct sink_args *args, bool compress)
{
	int err;

	out->path = path;
	out->to_stdout = !strcmp(path, "-");
	if (out->to_stdout && format == &sink_tach) {
		log_error("TACH cannot be written to standard output: use -o FILE");
		return -EINVAL;
	}
	if (out->to_stdout && format->binary && isatty(STDOUT_FILENO)) {
		log_error("%s cannot be written to a terminal: use -o FILE", format->name);
		return -EINVAL;
	}
	err = open_place(out, format, path, args);
	if (err)
		return err;
	if (compress)
		args->compressor = out->compressor = compressor_new(COMPRESS_LEVEL);
	if (!compress || out->compressor)
		out->sink = sink_new(format, args);
	if (out->sink)
		return 0;
	err = errno ? -errno : -ENOMEM;
	return profile_out_close(out, err);
}

struct reader_args profile_out_reader(const struct input_options *input,
				      const struct sink_ops *format)
{
	struct reader_args args = input->reader;

	if (args.value == VALUE_DEFAULT && format->takes & SINK_TAKES_HELD)
		args.value = VALUE_BOTH;
	return args;
}

int profile_out_open(struct profile_out *out, const struct sink_ops *format,
		     const struct export_options *export, const struct input_options *input,
		     const struct profile_set *set)
{
	struct sink_args args = { .layout = export->tach.layout, .many = set->many,
				  .frame_bytes = FRAME_BYTES,
				  .lines = export->lines, .group = export->group,
				  .max_bytes = export->force ? 0 : EXPORT_MAX_BYTES,
				  .title = export->title ? export->title :
							     profile_out_title(input) };

	if (out->sink)
		return 0;
	*out = (struct profile_out){ 0 };
	if (!export->no_source)
		out->book = source_book_new(set);
	if (out->book && export->only_kept)
		source_book_only_kept(out->book);
	if (out->book) {
		out->sources = source_book_lookup(out->book);
		args.sources = &out->sources;
	}
	return open_sink(out, format, export->output, &args,
			 format == &sink_tach && export->tach.compress) ? -ECANCELED : 0;
}

int profile_out_expect(struct profile_out *out, const struct sink_ops *format,
		       const struct export_options *export, uint64_t events)
{
	out->events = add_capped(out->events, events);
	return sink_check_size(format, export->force ? 0 : EXPORT_MAX_BYTES,
			       mul_capped(out->events, format->bytes_an_event));
}

int profile_out_tach(struct profile_out *out, const char *path, const struct tach_options *tach)
{
	struct sink_args args = { .layout = tach->layout, .frame_bytes = FRAME_BYTES };

	*out = (struct profile_out){ 0 };
	return open_sink(out, &sink_tach, path, &args, tach->compress);
}

static bool is_same_file(const char *path, const char *other)
{
	struct stat a, b;

	return !stat(path, &a) && !stat(other, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static void remove_beside(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char dir[PATH_MAX], beside[OUTPUT_NAME_MAX];
	struct session_json *old;
	int fd;

	snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash + 1 - path) : 1,
		 slash ? path : ".");
	fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	old = session_json_read_beside(fd, name, NULL);
	if (old && snprintf(beside, sizeof(beside), "%s" SESSION_BESIDE_SUFFIX, name) <
		   OUTPUT_NAME_MAX)
		unlinkat(fd, beside, 0);
	session_json_free(old);
	close(fd);
}

void profile_out_renew(const char *path, const struct input_options *input,
		       const struct profile_set *set)
{
	struct source_book *book;
	size_t i;

	for (i = 0; i < input->path_cnt; i++)
		if (is_same_file(path, input->paths[i]))
			return;
	remove_beside(path);
	book = source_book_new(set);
	if (book)
		source_book_save(book, path);
	source_book_free(book);
}

int profile_out_close(struct profile_out *out, int err)
{
	int close_err = out->sink ? out->sink->ops->close(out->sink) : 0;

	compressor_free(out->compressor);
	source_book_free(out->book);
	out->book = NULL;
	err = err ? err : close_err;
	if (err && err != -ECANCELED)
		profile_out_complain(out->path, err);
	if (out->to_dir)
		close(out->dirfd);
	if (out->to_stdout || out->to_dir)
		return err;
	if (!err)
		return output_commit(&out->file);
	output_abort(&out->file);
	return err;
}
