/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * mlyze_stream.h - writes a .mlyze file during a recording, so that kill -9 loses at most a second.
 *
 * In the format the metadata, which has all names, comes before the events. So during a recording
 * NAME is two files that only grow: NAME.events, the events as they will be in NAME; and
 * NAME.names, a journal of what they refer to. mlyze_join() makes NAME from them, at the end, or
 * later for `tachbpf recover`. Both are written in whole records, names before the events that use
 * them; nothing is synced. They are open only while they are written.
 *
 * The journal: "MLYNAMES", u64 start in µs (little-endian), then records:
 *
 *   'F' varint length, bytes                        the next file: their ids are 0, 1, 2 ...
 *   'N' varint length, bytes                        the next function, or a marker's name
 *   'R' varint id, file, function, line             a frame: the next id, or an earlier one whose
 *                                                   name is known now; line 0: none
 *   'S' varint count, varint frame ...              the next stack, outermost first
 */
#ifndef TACHBPF_MLYZE_STREAM_H
#define TACHBPF_MLYZE_STREAM_H

#include "formats/mlyze/mlyze_marks.h"
#include "model/event.h"

#define MLYZE_SUFFIX ".mlyze"
#define MLYZE_EVENTS_SUFFIX ".events"
#define MLYZE_NAMES_SUFFIX ".names"
#define MLYZE_NAMES_MAGIC "MLYNAMES"
/* A longer name is cut. */
#define MLYZE_NAME_BYTES 65536

struct mlyze_stream;

/*
 * Creates the two files in dirfd, which must stay open. name: NAME, with its suffix. start_us: the
 * time of day. tables: the tables of stacks' frames; kept. Returns NULL with errno after logging.
 */
struct mlyze_stream *mlyze_stream_new(int dirfd, const char *name, uint64_t start_us,
				      const struct profile_tables *tables);
/* Frees it. What was not flushed is lost. */
void mlyze_stream_free(struct mlyze_stream *s);

/*
 * The following return 0 or -errno: the first error, after which nothing more is written. -EFBIG:
 * names or stacks of more than 4 GiB, for which the format has no room. An earlier time than that
 * of the event before counts as the same.
 *
 * number: any number of a stack; on its first use, its frames are written, innermost first. A frame
 * that gets its name later is written again by mlyze_stream_flush().
 */
int mlyze_stream_alloc(struct mlyze_stream *s, uint64_t time_us, uint64_t addr, uint64_t bytes,
		       uint32_t number, const uint32_t *frames, uint32_t nframes, uint16_t thread);
/* The id of a stack that an ALLOC has had. Returns false if none has. */
bool mlyze_stream_stack_id(const struct mlyze_stream *s, uint32_t number, uint32_t *id);
int mlyze_stream_freed(struct mlyze_stream *s, uint64_t time_us, uint64_t addr);
int mlyze_stream_gc(struct mlyze_stream *s, uint64_t time_us, uint64_t objects);
int mlyze_stream_mark(struct mlyze_stream *s, uint64_t time_us, const struct mlyze_mark_text *mark);

/* Writes what is buffered. Call it about once a second. */
int mlyze_stream_flush(struct mlyze_stream *s);

/* The size of both files, including what is buffered. */
uint64_t mlyze_stream_bytes(const struct mlyze_stream *s);
/* Bytes of events. */
uint64_t mlyze_stream_event_bytes(const struct mlyze_stream *s);

#endif
