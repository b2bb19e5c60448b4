/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * window_names.h - the frames of all processes in one table with a limit: a frame that two
 * processes share is there once.
 *
 * Names are made printable UTF-8 when they are added. Of a frame, the function and its line count
 * (DETAIL_LINE). The table outlives a window, so a frame costs its names once and not once a
 * window; window_names_trim() empties it between two windows when it is nearly full.
 */
#ifndef TACHBPF_WINDOW_NAMES_H
#define TACHBPF_WINDOW_NAMES_H

#include "model/event.h"
#include "model/id_map.h"

/* A name has at most this many bytes; the rest is cut off. */
#define WINDOW_NAME_BYTES 4096

struct window_names;

/* What a service has added. It may use as much as is free, so there is room for others. */
struct window_names_share {
	uint32_t frames, bytes;
};

/* The ids of the frames of one process, or of several with the same tables, in the table. */
struct window_map {
	const struct profile_tables *tables;	/* the processes' own; outlive the map */
	uint32_t users;		/* the caller's: processes that have it */
	struct id_map frames;	/* its frame id -> our code, and WINDOW_MAP_SYNTHETIC */
	uint32_t libraries;	/* number of its libraries that were added */
	uint32_t round;		/* of the table at that time */
};

/*
 * A frame as it is in stacks: its id in one to three bytes, the lowest first. The lowest bits of
 * the first one say in how many, so that no frame begins with another one. Codes are written and
 * read as four bytes, of which the rest is the next one's: three are needed beyond the last one.
 */
#define WINDOW_CODE_BYTES_MAX 3
#define WINDOW_CODE_BEYOND 3
static inline uint32_t window_code(uint32_t id)
{
	return id << 2 | ((id >= 1U << 6) + (id >= 1U << 14));
}

static inline uint32_t window_code_bytes(uint32_t code)
{
	return (code & 3) + 1;
}

static inline uint32_t window_code_id(uint32_t code)
{
	return (code & UINT32_MAX >> (32 - 8 * window_code_bytes(code))) >> 2;
}

/*
 * Flag next to our code: a pseudo-frame. The process's frame of that id may get its real name later
 * (intern_later()), so it is looked at each time.
 */
#define WINDOW_MAP_SYNTHETIC 0x80000000U

/* frames_max: at most 2^22; string_bytes_max: of all names. NULL with errno on failure. */
struct window_names *window_names_new(uint32_t frames_max, size_t string_bytes_max);
void window_names_free(struct window_names *n);

/*
 * Forgets all frames if three quarters of a limit are used; their ids are then meaningless, and the
 * services' shares are 0. Returns true if it did.
 */
bool window_names_trim(struct window_names *n);

/* The map is about to be used: forgets its ids if the table was emptied meanwhile. */
void window_names_meet(const struct window_names *n, struct window_map *map);

/* The parts of names that may not leave the machine. */
struct window_privacy {
	bool no_directories;	/* only the last part of a file's path */
	bool no_exceptions;	/* <exception ValueError> is <exception> */
};
/*
 * Applies from now on. A change empties the table, so call it between two windows. Returns true if
 * it did.
 */
bool window_names_hide(struct window_names *n, const struct window_privacy *privacy);

/* Our code for a process's frame if it is in its map. */
static inline bool window_names_known(const struct window_map *map, uint32_t frame, uint32_t *code)
{
	if (!id_map_get(&map->frames, frame, code))
		return false;
	if (*code & WINDOW_MAP_SYNTHETIC) {
		*code &= ~WINDOW_MAP_SYNTHETIC;
		return map->tables->frames[frame].kind == FRAME_SYNTHETIC;
	}
	return true;
}

/*
 * Adds a process's unknown frame, for a service. Returns 0; -ENOSPC: no room for a frame; -EFBIG:
 * no room for its names; -ENOMEM. A frame that the process's tables lack is "<lost frame>".
 */
int window_names_learn(struct window_names *n, struct window_names_share *share,
		       struct window_map *map, uint32_t frame, uint32_t *code);

/* Our frame for a name such as "<no frames>". Returns 0 or as above. */
int window_names_synthetic(struct window_names *n, struct window_names_share *share,
			   const char *name, uint32_t *code);

/* The table; valid until the next call that changes it. */
const struct profile_tables *window_names_tables(const struct window_names *n);

/*
 * The functions of the frames, numbered from 0: frames with file, func, kind and first line only.
 * *function_of has the number for each frame. Valid as long as the table.
 */
const struct profile_tables *window_names_functions(const struct window_names *n,
						    const uint32_t **function_of);

/* Bytes of all names. */
size_t window_names_bytes(const struct window_names *n);

#endif
