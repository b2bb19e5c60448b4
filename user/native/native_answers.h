/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* native_answers.h - takes the helpers' answers, and judges helpers that end. */
#ifndef TACHBPF_NATIVE_ANSWERS_H
#define TACHBPF_NATIVE_ANSWERS_H

#include "native/native_state.h"

/*
 * A helper may work or be blocked this long at one request; then it is ended, and the file is
 * refused. Time in which it waits for a CPU does not count.
 */
#define TABLE_MS 20000
#define NAMES_MS 5000
#define LINES_MS 20000		/* the first name with lines reads a file's debug information */
/* A file at which this many helpers have ended is refused. */
#define STRIKES_MAX 2
/*
 * Takes a message with its data in n->data, and its descriptor. Returns 0, or -EBADMSG if the
 * helper must not send this.
 */
int helper_answered(struct native *n, struct helper *h, const struct elf_message *m, int fd);

/* A helper has ended, or sent nonsense; late: it took too long. Another one will be started. */
void helper_lost(struct native *n, struct helper *h, bool late);
/* Returns true if the helper has exceeded its time. */
bool helper_is_late(const struct native *n, const struct helper *h);

/* All that can be known of the functions of a file with CPython is known: its table may be used. */
void file_matched(struct native *n, struct file *f);

#endif
