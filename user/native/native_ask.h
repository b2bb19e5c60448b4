/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_ask.h - what files wait for: asks the opener and the helpers, and takes what the opener
 * answers.
 */
#ifndef TACHBPF_NATIVE_ASK_H
#define TACHBPF_NATIVE_ASK_H

#include "native/native_state.h"

/* A perf map is read again so often at most. */
#define PERF_MAP_NS NS_PER_S

/* Ask what can be asked now. */
void files_ask(struct native *n);
/* Ask for the name of an address; it is NAME_MISSING or NAME_UNKNOWN. 0 or -errno. */
int name_ask(struct native *n, struct file *f, uint64_t addr);

/* The opener has answered, with n->data. */
void file_opened(struct native *n, const struct elf_message *m);
/* The opener was lost: what files waited for has to be asked again. */
void files_lost(struct native *n);

#endif
