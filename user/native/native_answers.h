/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* native_answers.h - takes what the helpers answer, and judges those that end. */
#ifndef TACHBPF_NATIVE_ANSWERS_H
#define TACHBPF_NATIVE_ANSWERS_H

#include "native/native_state.h"

/* How long a helper may work at one question; then it is ended, and the file is refused. */
#define TABLE_MS 20000
#define NAMES_MS 5000
#define LINES_MS 20000		/* the first name with lines reads a file's debug information */
/* A file at which so many helpers have ended is refused. */
#define STRIKES_MAX 2
/*
 * Take a message with its data in n->data; its descriptor is ours then. 0, or -EBADMSG: the helper
 * says what it cannot say.
 */
int helper_answered(struct native *n, struct helper *h, const struct elf_message *m, int fd);

/* A helper has ended, or said nonsense; late: it was over its time. Another one will be started. */
void helper_lost(struct native *n, struct helper *h, bool late);
/* Is it over its time? */
bool helper_is_late(const struct native *n, const struct helper *h);

#endif
