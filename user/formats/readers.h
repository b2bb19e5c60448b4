/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * readers.h - opens files of every format that is read, and runs through them; reader.h says what
 * a format has to offer for that.
 */
#ifndef TACHBPF_READERS_H
#define TACHBPF_READERS_H

#include "model/reader.h"

struct describe;

/* By name; NULL: no such format. The i-th; NULL behind the last. */
const struct reader_ops *reader_find(const char *name);
const struct reader_ops *reader_at(size_t i);

/*
 * Open a file as args says (NULL: as what it looks like). NULL with errno; a
 * one-line reason without the path, which may quote the file, in why.
 */
struct reader *reader_open(const char *path, const struct reader_args *args, char *why,
			   size_t why_size);
void reader_free(struct reader *r);

/* The first profile is selected to begin with. i < reader_profile_cnt(), which is ≥ 1. */
uint32_t reader_profile_cnt(const struct reader *r);
void reader_select(struct reader *r, uint32_t i);

const char *reader_format(const struct reader *r);
const struct reader_info *reader_info(const struct reader *r);
const struct profile_tables *reader_tables(const struct reader *r);
void reader_describe(const struct reader *r, struct describe *d);

/*
 * Call on_event for every event in the file's order; times never go back within
 * a thread. It may stop the run by a non-zero return, which is passed on. The
 * event is valid during the call. -EBADMSG with a reason in why when the file
 * is damaged: what came before has been delivered.
 */
int reader_run(struct reader *r, reader_event_fn on_event, void *ctx, char *why, size_t why_size);

#endif
