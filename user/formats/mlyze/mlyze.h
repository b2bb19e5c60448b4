/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * mlyze.h - Memlyze's .mlyze files, version 1: allocations, frees, garbage collections and
 * markers in the order in which they happened. See docs/format-mlyze.md.
 *
 * The reader works on bytes in memory (a mapping), all of which are hostile. mlyze_stream.h and
 * mlyze_join.h write such files.
 */
#ifndef TACHBPF_MLYZE_H
#define TACHBPF_MLYZE_H

#include "model/event.h"

#define MLYZE_HEADER_BYTES 256
#define MLYZE_MAGIC "MTRC"
#define MLYZE_VERSION 1

/* The rules for valid files; the numbers are those of the format's own list. */
enum mlyze_rule {
	MLYZE_VALID = 0,
	MLYZE_RULE_MAGIC = 1,
	MLYZE_RULE_VERSION,
	MLYZE_RULE_METADATA,
	MLYZE_RULE_REFERENCE,
	MLYZE_RULE_EVENT_TYPE,
	MLYZE_RULE_VARINT,
	MLYZE_RULE_SIZE,
	MLYZE_RULE_TIME,	/* our own rule: a time exceeds 64 bits */
};

struct mlyze_error {
	enum mlyze_rule rule;	/* MLYZE_VALID: out of memory */
	uint64_t off;
	char text[192];		/* what was expected and what was found; may quote the file */
};

/* A rule's name: "magic", "version", ... */
const char *mlyze_rule_name(enum mlyze_rule rule);

enum mlyze_type { MLYZE_ALLOC = 0, MLYZE_FREE = 1, MLYZE_GC = 2, MLYZE_MARKER = 3 };

struct mlyze_event {
	enum mlyze_type type;
	uint64_t off;		/* in the file */
	uint64_t time_us;	/* since the clock's epoch, which the format does not define */
	uint64_t addr;		/* ALLOC, FREE */
	uint64_t size;		/* ALLOC: bytes */
	uint32_t stack;		/* ALLOC: index, below mlyze_stack_cnt() */
	uint16_t thread;	/* ALLOC */
	uint64_t objects, bytes;/* GC: collected */
	uint32_t name;		/* MARKER: string id in mlyze_tables() */
};

struct mlyze_file;

/*
 * Check the header and metadata of a file. data must stay valid until mlyze_free(). NULL
 * with *error set.
 */
struct mlyze_file *mlyze_open(const uint8_t *data, size_t size, struct mlyze_error *error);
void mlyze_free(struct mlyze_file *f);

/* Fields of the header: start time in µs, size of the metadata in bytes. */
uint64_t mlyze_start_us(const struct mlyze_file *f);
uint32_t mlyze_metadata_bytes(const struct mlyze_file *f);
/* Are all reserved bytes of the header 0, as they must be in this version? */
bool mlyze_reserved_clear(const struct mlyze_file *f);
/* Numbers of stacks, files and functions; and the tables with their names. */
size_t mlyze_stack_cnt(const struct mlyze_file *f);
size_t mlyze_file_cnt(const struct mlyze_file *f);
size_t mlyze_function_cnt(const struct mlyze_file *f);
const struct profile_tables *mlyze_tables(const struct mlyze_file *f);

/* A stack, innermost first (the file has them outermost first). */
struct mlyze_stack {
	uint64_t id;		/* its id in the file */
	const uint32_t *frames;	/* of mlyze_tables() */
	size_t frame_cnt;	/* any number */
};
/* index < mlyze_stack_cnt(). Valid until mlyze_free(). */
struct mlyze_stack mlyze_stack(const struct mlyze_file *f, uint32_t index);

/*
 * The same stack in the form of an event: if it is too deep, only the innermost frames, and
 * "<truncated>". Returns the number of frames.
 */
uint32_t mlyze_event_frames(const struct mlyze_file *f, uint32_t index,
			    uint32_t out[EVENT_MAX_FRAMES]);
/* Number of stacks that are deeper than EVENT_MAX_FRAMES. */
size_t mlyze_deep_stack_cnt(const struct mlyze_file *f);

/* A position among the events; may be copied. */
struct mlyze_cursor {
	const struct mlyze_file *file;
	size_t at;
	uint64_t time_us;
	uint64_t index;		/* number of the next event */
};

/* Set the cursor to the first event. */
void mlyze_rewind(struct mlyze_cursor *c, const struct mlyze_file *f);
/* Read the next event. 1; 0: there are no more; -EBADMSG with *error set. */
int mlyze_next(struct mlyze_cursor *c, struct mlyze_event *ev, struct mlyze_error *error);

#endif
