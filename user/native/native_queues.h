/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_queues.h - where files wait. The helpers work for one user after the other: the next file
 * is one of the user for whose files they have worked least, so nobody's files keep the names and
 * tables of others waiting. For the opener and for copying, files wait in one queue.
 */
#ifndef TACHBPF_NATIVE_QUEUES_H
#define TACHBPF_NATIVE_QUEUES_H

#include "native/native_state.h"

/* A queue is first in, first out; a file is at most once in each of them. */
void file_push(struct native *n, enum file_queue queue, struct file *f);
/* Returns the next file of a queue, or NULL. Files whose user has to pause are not returned. */
struct file *file_pop(struct native *n, enum file_queue queue);
/*
 * The same for cnt queues, neither QUEUE_OPEN nor QUEUE_COPY: a user's files in one of them come
 * before those in the queues after it. *which: the file's queue.
 */
struct file *file_pop_first(struct native *n, const enum file_queue *queues, size_t cnt,
			    enum file_queue *which);
bool file_waits(const struct native *n, enum file_queue queue);

/*
 * A process of this user wants the file's table or names. If it waits for those of several users,
 * it takes the turn of the user who has used least, and its time is charged to that user.
 */
void file_wanted_by(struct native *n, struct file *f, uint32_t uid);
/* A helper, or a server, has worked for this turn. */
void turn_charge(struct turn *t, enum turn_of_whom whom, uint64_t ns);
/* A helper has ended at one of its files: its user has to pause, longer each time. */
void turn_punish(struct native *n, struct turn *t);

#endif
