/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sink.h - where events go: one implementation per output format.
 *
 * Call order: open, then for every process begin, event..., end; then close.
 * A format that holds one profile a file refuses a second begin (-EINVAL).
 * -ENOTSUP: the format cannot hold the profile, and the sink logged why.
 * After an error every later call returns that error and writes nothing more;
 * close always frees.
 */
#ifndef TACHBPF_SINK_H
#define TACHBPF_SINK_H

#include <errno.h>

#include "model/event.h"

struct compressor;
struct sink;

enum tach_layout { TACH_RELEASE, TACH_DRAFT1, TACH_DRAFT2 };

/* --- exports: how frames are told apart and samples grouped ------------------------------ */
/* 0 is what the users of the format expect; its page in docs/ says which. */
enum sink_lines { LINES_DEFAULT, LINES_APART, LINES_MERGED };
enum sink_group { GROUP_DEFAULT, GROUP_PROCESS, GROUP_THREAD, GROUP_CONTAINER };

/* What a sink returns that has said itself, in one line, what it cannot write. */
#define SINK_REPORTED (-ENOTSUP)

/* Which of these a format can do (sink_ops.takes); the others are refused for it. */
enum sink_takes { SINK_TAKES_LINES = 1, SINK_TAKES_GROUP = 2 };
/* ----------------------------------------------------------------------------------------- */

struct sink_args {
	int fd;				/* written to; owned by the caller, TACH wants it seekable */
	enum tach_layout layout;	/* tach */
	struct compressor *compressor;	/* tach: NULL = no compression; shared, outlives the sink */
	bool many;			/* several processes will come: tell them apart */
	size_t frame_bytes;		/* tach: of samples in a zstd frame; 0: as for live capture */
	bool live;			/* tach: of a recording: weights are time that passed */
	int journal_fd;			/* tach: > 0: where to keep what recovery needs; the caller's */
	enum sink_lines lines;		/* formats that take SINK_TAKES_LINES */
	enum sink_group group;		/* formats that take SINK_TAKES_GROUP; see sink_new() */

	/* HTML reports (flamegraph, heatmap). */
	const char *title;		/* copied; hostile; NULL: none */
	bool no_source;			/* heatmap: read no source files */
};

struct sink_ops {
	const char *name;	/* --format NAME */
	const char *help;	/* one line */
	unsigned int takes;	/* enum sink_takes */
	bool binary;		/* nothing for a terminal */
	/* NULL with errno. */
	struct sink *(*open)(const struct sink_args *args);
	/* meta and tables stay valid until end(). 0 or -errno, likewise below. */
	int (*begin)(struct sink *s, const struct profile_meta *meta,
		     const struct profile_tables *tables);
	int (*event)(struct sink *s, const struct event *ev);
	/* Put what is buffered into the file. Optional (NULL). */
	int (*flush)(struct sink *s);
	int (*end)(struct sink *s, const struct profile_stats *stats);
	int (*close)(struct sink *s);
	const char *suffix;	/* of the files' names, for -o NAME; NULL: no special one */
	bool one_profile;	/* a second begin() is refused */
};

/* Every sink embeds this first. */
struct sink {
	const struct sink_ops *ops;
};

/* A copy whose strings are its own; false: no memory, and nothing to free. */
bool sink_meta_copy(struct profile_meta *to, const struct profile_meta *from);
void sink_meta_free(struct profile_meta *meta);
/* What the copy is of: "process", "container". */
static inline const char *sink_meta_kind(const struct profile_meta *meta)
{
	return meta->of_container ? "container" : "process";
}

#endif
