/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * mlyze.h - Memlyze's .mlyze files, version 1: allocations, frees, garbage
 * collections and markers in the order in which they happened. See
 * docs/format-mlyze.md.
 *
 * Reading streams over bytes in memory (a mapping); everything in them is
 * hostile. Writing spools events until the metadata, which comes before them in
 * the file, is known.
 */
#ifndef TACHBPF_MLYZE_H
#define TACHBPF_MLYZE_H

#include "model/event.h"

#define MLYZE_HEADER_BYTES 256
#define MLYZE_MAGIC "MTRC"
#define MLYZE_VERSION 1

/* What makes a file valid; the numbers are those of the format's own list. */
enum mlyze_rule {
	MLYZE_VALID = 0,
	MLYZE_RULE_MAGIC = 1,
	MLYZE_RULE_VERSION,
	MLYZE_RULE_METADATA,
	MLYZE_RULE_REFERENCE,
	MLYZE_RULE_EVENT_TYPE,
	MLYZE_RULE_VARINT,
	MLYZE_RULE_SIZE,
	MLYZE_RULE_TIME,	/* ours: a time beyond 64 bits */
};

struct mlyze_error {
	enum mlyze_rule rule;	/* MLYZE_VALID: out of memory */
	uint64_t off;
	char text[192];		/* what was expected and found; may quote the file */
};

/* "magic", "version", ... */
const char *mlyze_rule_name(enum mlyze_rule rule);

enum mlyze_type { MLYZE_ALLOC = 0, MLYZE_FREE = 1, MLYZE_GC = 2, MLYZE_MARKER = 3 };

struct mlyze_event {
	enum mlyze_type type;
	uint64_t off;		/* in the file */
	uint64_t time_us;	/* since the clock's epoch, which the format does not say */
	uint64_t addr;		/* ALLOC, FREE */
	uint64_t size;		/* ALLOC: bytes */
	uint32_t stack;		/* ALLOC: index, below mlyze_stack_cnt() */
	uint16_t thread;	/* ALLOC */
	uint64_t objects, bytes;/* GC: collected */
	uint32_t name;		/* MARKER: string id in mlyze_tables() */
};

struct mlyze_file;

/*
 * Check header and metadata of size bytes that stay where they are. NULL with
 * error filled in.
 */
struct mlyze_file *mlyze_open(const uint8_t *data, size_t size, struct mlyze_error *error);
void mlyze_free(struct mlyze_file *f);

uint64_t mlyze_start_us(const struct mlyze_file *f);
uint32_t mlyze_metadata_bytes(const struct mlyze_file *f);
/* Are all reserved bytes of the header 0, as this version has them? */
bool mlyze_reserved_clear(const struct mlyze_file *f);
size_t mlyze_stack_cnt(const struct mlyze_file *f);
size_t mlyze_file_cnt(const struct mlyze_file *f);
size_t mlyze_function_cnt(const struct mlyze_file *f);
const struct profile_tables *mlyze_tables(const struct mlyze_file *f);

/* A stack, innermost first (the file has them outermost first). */
struct mlyze_stack {
	uint64_t id;		/* in the file */
	const uint32_t *frames;	/* of mlyze_tables() */
	size_t frame_cnt;	/* any number */
};
struct mlyze_stack mlyze_stack(const struct mlyze_file *f, uint32_t index);

/* The same as an event has it: of a deeper one the innermost frames and "<truncated>". */
uint32_t mlyze_event_frames(const struct mlyze_file *f, uint32_t index,
			    uint32_t out[EVENT_MAX_FRAMES]);
/* How many stacks are deeper than EVENT_MAX_FRAMES. */
size_t mlyze_deep_stack_cnt(const struct mlyze_file *f);

/* A place among the events; zero-cost to copy. */
struct mlyze_cursor {
	const struct mlyze_file *file;
	size_t at;
	uint64_t time_us;
	uint64_t index;		/* of the event that comes next */
};

void mlyze_rewind(struct mlyze_cursor *c, const struct mlyze_file *f);
/* The next event. 1; 0: there are no more; -EBADMSG with error filled in. */
int mlyze_next(struct mlyze_cursor *c, struct mlyze_event *ev, struct mlyze_error *error);

/* ---- writing ---- */

struct mlyze_writer;

/* A frame to be written: ids from mlyze_add_file(), mlyze_add_function(). */
struct mlyze_frame {
	uint32_t file, func;
	int32_t line;		/* LINE_NONE is written as 0 */
};

/* fd is written to by mlyze_finish() only. NULL with errno. */
struct mlyze_writer *mlyze_writer_new(int fd, uint64_t start_us);
void mlyze_writer_free(struct mlyze_writer *w);

/* Ids in order of first sight. 0 or -errno, likewise below. */
int mlyze_add_file(struct mlyze_writer *w, const char *s, size_t len, uint32_t *id);
int mlyze_add_function(struct mlyze_writer *w, const char *s, size_t len, uint32_t *id);
/* frames: outermost first. */
int mlyze_add_stack(struct mlyze_writer *w, const struct mlyze_frame *frames, size_t cnt,
		    uint32_t *id);

/* Events in order of time: one that is earlier than the one before it is -EINVAL. */
int mlyze_put_alloc(struct mlyze_writer *w, uint64_t time_us, uint64_t addr, uint64_t size,
		    uint32_t stack, uint16_t thread);
int mlyze_put_free(struct mlyze_writer *w, uint64_t time_us, uint64_t addr);
int mlyze_put_gc(struct mlyze_writer *w, uint64_t time_us, uint64_t objects, uint64_t bytes);
int mlyze_put_marker(struct mlyze_writer *w, uint64_t time_us, uint32_t function);

/* Header, metadata, events. Nothing may be added any more. */
int mlyze_finish(struct mlyze_writer *w);

#endif
