/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sample_store.h - a reader whose samples are in memory: for formats that have no order of time,
 * whose samples say which process and thread they are of (pprof, OTLP).
 *
 * A profile is made for each distinct identity. Equal stacks are kept once; what names came from
 * can be freed.
 */
#ifndef TACHBPF_SAMPLE_STORE_H
#define TACHBPF_SAMPLE_STORE_H

#include "base/util.h"
#include "formats/read_error.h"
#include "model/profile_service.h"
#include "model/reader.h"

struct stored_profile;

/* Embedded first by the reader; zeroed before sample_store_init(). */
struct sample_store {
	struct reader reader;
	struct intern *names;		/* of frames */
	struct intern *texts, *keys;	/* texts with a NUL each; identities of profiles */
	struct intern *stacks;		/* each a string: its frame ids, innermost first */
	struct stored_profile *profiles;	/* by id in keys */
	size_t profile_cap;
	uint32_t current;
	uint64_t at;			/* set by the reader: where it is, for messages */
	struct buf samples;		/* struct stored_sample */
	size_t frames_left;		/* how many more all distinct stacks may have; for tests */
};

/* What a profile is of. Texts are copied; NULL: unknown. */
struct stored_identity {
	uint32_t tgid;			/* 0: unknown */
	const char *comm, *container, *image;
	struct profile_service service;
};

/* What all samples of a profile have in common. */
struct stored_kind {
	const char *type, *type_unit;	/* as profile_meta's */
	enum profile_unit unit;
	enum profile_mode mode;
	uint64_t interval_us;		/* 0: unknown */
	uint64_t start_utc_ns, duration_ns;	/* 0: unknown */
	bool held_apart;
};

struct stored_thread {
	uint64_t id;		/* if known */
	bool known;
	const char *name;	/* NULL: unknown */
};

/* Threads that have only a name get numbers from here on: above every thread id of Linux. */
#define STORED_THREAD_MADE_UP (1ULL << 32)

/* These return 0 or -ENOMEM, or -EBADMSG with a reason. */
int sample_store_init(struct sample_store *s, const struct reader_ops *ops,
		      const struct reason *why);
/* Frees all but the store itself. */
void sample_store_free(struct sample_store *s);

/* Copies a text that profiles have; the same text is kept once. NULL: no memory. */
const char *sample_store_text(struct sample_store *s, const char *data, size_t len);

/*
 * Finds the profile of an identity and a kind, or makes it. Of profiles that differ in times alone,
 * the earliest start and the longest duration count.
 */
int sample_store_profile(struct sample_store *s, const struct stored_identity *id,
			 const struct stored_kind *kind, uint32_t *profile,
			 const struct reason *why);
/*
 * Adds a sample of a profile. ids: frame ids of s->names, innermost first, any number. Weight 0 is
 * left out. Sums are limited to WEIGHT_SUM_MAX, distinct stacks to 2^28 frames in all.
 */
int sample_store_add(struct sample_store *s, uint32_t profile, const struct stored_thread *thread,
		     const struct buf *ids, uint64_t weight, uint8_t status,
		     const struct reason *why);
/* After the last sample: selects profile 0. There is one at least, which may be empty. */
int sample_store_finish(struct sample_store *s, const struct reason *why);

/* For reader_ops. Times are made up: each thread's samples follow one another. */
void sample_store_select(struct reader *r, uint32_t i);
int sample_store_run(struct reader *r, reader_event_fn on_event, void *ctx, char *why,
		     size_t why_size);

#endif
