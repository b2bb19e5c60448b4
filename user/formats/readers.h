/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * readers.h - opens files of all input formats and reads their events; reader.h has the interface
 * that formats implement.
 */
#ifndef TACHBPF_READERS_H
#define TACHBPF_READERS_H

#include "model/reader.h"

struct describe;
struct input;

/* The format with this name, or NULL. The i-th format; NULL: no more. */
const struct reader_ops *reader_find(const char *name);
const struct reader_ops *reader_at(size_t i);
/* The format that the bytes look like, or NULL. */
const struct reader_ops *reader_detect(const struct input *in);

/*
 * Opens a file as args says (NULL: by its content). Returns NULL with errno, and a one-line reason
 * in why, without the path, which may quote the file.
 */
struct reader *reader_open(const char *path, const struct reader_args *args, char *why,
			   size_t why_size);
void reader_free(struct reader *r);

/* Number of profiles, at least 1. At first, profile 0 is selected. */
uint32_t reader_profile_cnt(const struct reader *r);
/* Selects profile i < reader_profile_cnt(). */
void reader_select(struct reader *r, uint32_t i);

/* The format's name; info and tables of the selected profile; facts for `info`. */
const char *reader_format(const struct reader *r);
const struct reader_info *reader_info(const struct reader *r);
const struct profile_tables *reader_tables(const struct reader *r);
void reader_describe(const struct reader *r, struct describe *d);

/*
 * Calls on_event for every event in the file's order; within a thread, times never decrease. If
 * on_event returns non-zero, the run ends and returns that value. The event is valid during the
 * call. -EBADMSG with a reason in why: the file is damaged; the events before the damage were
 * delivered.
 */
int reader_run(struct reader *r, reader_event_fn on_event, void *ctx, char *why, size_t why_size);
/*
 * Sets what reader_run()'s on_event takes from now on (enum event_takes); initially nothing.
 * Formats without it deliver single events of which nothing is known.
 */
void reader_take(struct reader *r, unsigned int takes);

#endif
