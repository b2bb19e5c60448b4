/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mlyze_meta.h - the metadata of a .mlyze file. Only for mlyze_read.c. */
#ifndef TACHBPF_MLYZE_META_H
#define TACHBPF_MLYZE_META_H

#include "base/util.h"
#include "formats/mlyze/mlyze.h"

struct intern;

/* A file's or function's id and its name; arrays of them are sorted by id. */
struct mlyze_name {
	uint64_t id;
	uint32_t string;
};

struct mlyze_stack_entry {
	uint64_t id;
	size_t first, cnt;	/* in frames */
};

struct mlyze_meta {
	struct intern *names;
	struct buf files, functions;	/* struct mlyze_name */
	struct buf stacks;		/* struct mlyze_stack_entry, sorted by id */
	struct buf frames;		/* uint32_t, innermost first */
	size_t deep_cnt;		/* number of stacks deeper than EVENT_MAX_FRAMES */
	uint32_t truncated;		/* the frame that is the root of these stacks in events */
};

/* Parses len bytes of JSON, which are at offset off of the file. Returns 0, -EBADMSG or -ENOMEM. */
int mlyze_meta_parse(struct mlyze_meta *m, const char *json, size_t len, uint64_t off,
		     struct mlyze_error *error);
void mlyze_meta_free(struct mlyze_meta *m);

/* Finds a name by its id. */
const struct mlyze_name *mlyze_meta_name(const struct buf *names, uint64_t id);
/* Finds a stack's index by its id. Returns false if there is none. */
bool mlyze_meta_stack(const struct mlyze_meta *m, uint64_t id, uint32_t *index);

#endif
