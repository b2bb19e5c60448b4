/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sink.h - the interface of consumers of events; each output format implements it.
 *
 * Order of calls: open; for every process begin, event..., end; then close. A format that holds one
 * profile per file refuses a second begin (-EINVAL). -ENOTSUP: the format cannot express the
 * profile, and the sink has logged the reason. After an error every later call returns that error
 * and writes nothing more; close always frees.
 */
#ifndef TACHBPF_SINK_H
#define TACHBPF_SINK_H

#include <errno.h>

#include "model/event.h"

struct compressor;
struct job_thread;
struct profile_region;
struct sink;
struct source_lookup;

/* Variants of a file's layout, for a format that has changed: the release, and drafts before it. */
enum profile_layout { LAYOUT_RELEASE, LAYOUT_DRAFT1, LAYOUT_DRAFT2 };

/* --- exports: which frames are the same, and how samples are grouped --------------------- */
/* 0 is the usual choice of the format; its page in docs/ describes it. */
enum sink_lines { LINES_DEFAULT, LINES_APART, LINES_MERGED };
enum sink_group { GROUP_DEFAULT, GROUP_PROCESS, GROUP_THREAD, GROUP_CONTAINER };

/* Returned by a sink that has already logged, in one line, what it cannot write. */
#define SINK_REPORTED (-ENOTSUP)

/*
 * The options that a format supports (sink_ops.takes); it refuses the others. HELD: it shows
 * allocated bytes and those that are still held in one file (STATUS_HELD).
 */
enum sink_takes { SINK_TAKES_LINES = 1, SINK_TAKES_GROUP = 2, SINK_TAKES_HELD = 4 };
/* ----------------------------------------------------------------------------------------- */

struct sink_args {
	int fd;				/* owned by the caller; must be seekable for TACH; -1: the
					 * output is a directory */
	int dirfd;			/* of that directory; owned by the caller */
	enum profile_layout layout;	/* for formats that have several */
	struct compressor *compressor;	/* tach: NULL: no compression; shared, must outlive the
					 * sink */
	struct job_thread *joins;	/* tach: does long work of a live recording, and must
					 * outlive the sink; NULL: it is done at once */
	bool many;			/* several processes will follow: write process frames */
	size_t frame_bytes;		/* tach: bytes of samples in a zstd
					 * frame; 0: as in live capture */
	bool live;			/* tach: from a recording, so weights are elapsed time */
	int journal_fd;			/* tach: > 0: where to write the
					 * recovery journal; owned by the caller */
	/*
	 * tach: called before the file is written: reopens it and the journal if the caller has
	 * closed them, and sets the descriptors. Returns 0 or -errno. NULL: they stay open.
	 */
	int (*ready)(void *ctx, int *fd, int *journal_fd);
	void *ready_ctx;
	enum sink_lines lines;		/* for formats with SINK_TAKES_LINES */
	enum sink_group group;		/* for formats with SINK_TAKES_GROUP; see sink_new() */

	uint64_t max_bytes;		/* exports: refuse to write more; 0: no limit */

	/* HTML reports (flamegraph, heatmap). */
	const char *title;		/* copied; any bytes; NULL: none */
	/* Where to find source text; must outlive the sink. NULL: show none. */
	const struct source_lookup *sources;
};

struct sink_ops {
	const char *name;	/* --format NAME */
	const char *help;	/* one line */
	unsigned int takes;	/* enum sink_takes */
	bool binary;		/* must not be written to a terminal */
	/* Returns NULL with errno. */
	struct sink *(*open)(const struct sink_args *args);
	/*
	 * meta and tables must stay valid until end(). This and the following functions return 0 or
	 * -errno.
	 */
	int (*begin)(struct sink *s, const struct profile_meta *meta,
		     const struct profile_tables *tables);
	int (*event)(struct sink *s, const struct event *ev);
	/*
	 * Optional: between begin() and end(), so many samples of the profile were lost by a cause
	 * (session_json_losses()), any bytes, valid until it returns. Which causes there are is
	 * known for recordings only.
	 */
	int (*lost)(struct sink *s, const char *cause, uint64_t cnt);
	/*
	 * Optional: between begin() and the first event(), the regions of the profile in the order
	 * of regions_each() (regions_file.h). region: valid until it returns.
	 */
	int (*region)(struct sink *s, const struct profile_region *region);
	/* Writes buffered data to the file. Optional (NULL). */
	int (*flush)(struct sink *s);
	int (*end)(struct sink *s, const struct profile_stats *stats);
	int (*close)(struct sink *s);
	/*
	 * Optional, both or neither: for several threads that take profiles of one large recording.
	 * part() makes a sink of the same kind, which writes nothing; returns NULL with errno.
	 * like: NULL, or the first part, which must live longer; it passes the results of joins on
	 * to other parts. join() adds to s the input of part, as if s had been given it after all
	 * its own; the caller closes part in any case. Returns 1 if it does not fit, and nothing
	 * was changed: s must be given the same profiles.
	 */
	struct sink *(*part)(struct sink *like);
	int (*join)(struct sink *s, struct sink *part);
	const char *suffix;	/* of file names, for -o NAME; NULL: none */
	bool into_dir;		/* can write into a directory, too: args.dirfd */
	bool one_profile;	/* a second begin() is refused */
	const char *no_bytes;	/* NULL, or the reason why UNIT_BYTES cannot be written */
	bool kept;		/* event() looks at kept_1 */
	uint32_t bytes_an_event;	/* approximate bytes of each event in the file; 0: events
					 * are added up */
};

/* The first member of every sink. */
struct sink {
	const struct sink_ops *ops;
};

/* Give the sink, which is ctx, an event: for functions that call back. 0 or -errno. */
static inline int sink_pass(void *ctx, const struct event *ev)
{
	struct sink *s = ctx;

	return s->ops->event(s, ev);
}

/*
 * Returns 0 if the sink may write about this many bytes, or SINK_REPORTED after logging the size
 * and a remedy. Call this before they are written.
 */
int sink_check_size(const struct sink_ops *ops, uint64_t max_bytes, uint64_t bytes);

/* Returns 0 if the format can express this unit, or SINK_REPORTED after logging why not. */
int sink_check_unit(const struct sink_ops *ops, enum profile_unit unit);

/* Makes a copy that owns its strings; returns false if there is no memory, with nothing to free. */
bool sink_meta_copy(struct profile_meta *to, const struct profile_meta *from);
void sink_meta_free(struct profile_meta *meta);
/* Returns the word for the subject of the profile: "process", "container". */
static inline const char *sink_meta_kind(const struct profile_meta *meta)
{
	return meta->of_container ? "container" : "process";
}

#endif
