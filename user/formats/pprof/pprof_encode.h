/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pprof_encode.h - encodes profile.proto: for files (pprof.c) and for the agent's windows, so that
 * both give a function the same name. docs/format-pprof.md has the fields.
 *
 * Strings, functions, locations and mappings are added when the first sample has them. The first
 * error is kept (pprof_error()), and what is encoded after it is meaningless.
 */
#ifndef TACHBPF_PPROF_ENCODE_H
#define TACHBPF_PPROF_ENCODE_H

#include "base/util.h"
#include "model/event.h"

#define PPROF_TYPES_MAX 4	/* values of a sample */

struct pprof_type {
	const char *type, *unit;
};

struct pprof_head {
	struct pprof_type types[PPROF_TYPES_MAX];	/* of a sample's values */
	size_t type_cnt;
	size_t shown;			/* the type that is shown at first */
	struct pprof_type period_type;	/* without type: none */
	uint64_t period;		/* 0: unknown */
	uint64_t time_ns, duration_ns;	/* UTC; 0: unknown */
	const char *program;		/* the mapping of what is no library's machine code */
};

/* What the tables of a profile do not say about a frame. */
struct pprof_place {
	uint32_t function;		/* a number of the caller's, the same for all its frames */
	uint32_t line, first_line;	/* of the frame, of its function; 0: unknown */
};

/* Where the frames come from. */
struct pprof_source {
	const struct profile_tables *tables;	/* they do not change during encoding */
	bool printable;		/* all names are printable UTF-8; else they are made printable */
	/* Called for a frame of the tables when it is added. Returns 0 or -errno. */
	int (*place)(void *ctx, uint32_t frame, struct pprof_place *out);
	void *ctx;
};

struct pprof_label {
	const char *key, *text;	/* text NULL: it is a number */
	uint64_t number;
};

struct pprof_encoder;

/* NULL with errno on failure. Free it by pprof_encoder_free(). */
struct pprof_encoder *pprof_encoder_new(const struct pprof_source *source);
void pprof_encoder_free(struct pprof_encoder *e);

/* Begins a profile; what was encoded of another one is discarded. */
void pprof_begin(struct pprof_encoder *e, const struct pprof_head *head);
/* Adds a line of `pprof -comments`, any bytes. */
void pprof_comment(struct pprof_encoder *e, const char *text);
/* Replaces frames of the source by the numbers of their locations, for pprof_sample(). */
void pprof_locations(struct pprof_encoder *e, uint32_t *frames, uint32_t n);
/* The location of what has only a name and is no frame of the source; a new one each time. */
uint32_t pprof_named_location(struct pprof_encoder *e, const char *name);
/* Adds a sample of n locations, innermost first, and a value for each type, capped at INT64_MAX. */
void pprof_sample(struct pprof_encoder *e, const uint32_t *locations, uint32_t n,
		  const uint64_t *values, const struct pprof_label *labels, size_t label_cnt);
/* Ends the profile: its string table is appended to the fields. */
void pprof_end(struct pprof_encoder *e);

/*
 * The fields so far, without the strings until pprof_end(). Together with those that follow they
 * are the profile, so the caller may write them and empty the buffer at any time.
 */
struct buf *pprof_fields(struct pprof_encoder *e);
/* Bytes of the fields and of the strings. */
size_t pprof_bytes(const struct pprof_encoder *e);
/*
 * A sample of these frames of a printable source, without labels, makes pprof_bytes() grow by at
 * most this many bytes.
 */
size_t pprof_stack_bytes(const struct pprof_encoder *e, const uint32_t *frames, uint32_t n);
/* Likewise for a sample of pprof_named_location(). */
size_t pprof_named_bytes(const char *name);
/* Returns 0, -ENOMEM or the source's error. */
int pprof_error(const struct pprof_encoder *e);

#endif
