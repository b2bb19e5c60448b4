/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_ask.h - the requests that files wait for: sends them to the opener and the helpers, and
 * takes the opener's answers.
 */
#ifndef TACHBPF_NATIVE_ASK_H
#define TACHBPF_NATIVE_ASK_H

#include "native/native_state.h"

/* A perf map is read again at most once in this time. */
#define PERF_MAP_NS NS_PER_S

/* Sends the requests that can be sent now. */
void files_ask(struct native *n);
/*
 * Requests the name of a NAME_MISSING or NAME_UNKNOWN address, for a process of this user. Returns
 * 0 or -errno.
 */
int name_ask(struct native *n, struct file *f, uint32_t uid, uint64_t addr);

/* The opener has answered; the data is in n->data. */
void file_opened(struct native *n, const struct elf_message *m);
/* The opener was lost: its unanswered requests must be sent again. */
void files_lost(struct native *n);

#endif
