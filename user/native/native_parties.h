/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_parties.h - the processes that work for us: the two helpers, the opener, the keeper of the
 * cache. Starting and ending them, and sending to them. What they are asked is others' subject.
 */
#ifndef TACHBPF_NATIVE_PARTIES_H
#define TACHBPF_NATIVE_PARTIES_H

#include "native/native_state.h"

/* Start what does not run and may be started now. */
void parties_start(struct native *n);
/* End all of them. */
void parties_end(struct native *n);

/* Start a helper. 0 or -errno. */
int helper_start(struct native *n, struct helper *h);
/* End a helper; another one is started after a second, and twice as long each further time. */
void helper_end(struct native *n, struct helper *h);
/* May a helper be asked something now? */
bool helper_is_idle(const struct native *n, enum elf_role role);
/* Ask a helper about a file: sets its request. 0 or -errno: it has to be asked again. */
int helper_ask(struct native *n, enum elf_role role, struct file *f, struct elf_message *m,
	       const void *data);
/* Tell a helper something that it does not answer. */
void helper_tell(struct native *n, enum elf_role role, uint32_t kind, uint32_t file);

/* May the opener be asked about this process (0: about none)? 0, or -errno of worker_ready(). */
int opener_ready(struct native *n, pid_t about);
/* Ask the opener; sets m->request. 0 or -errno. */
int opener_ask(struct native *n, struct elf_message *m, const void *data, int passed);
/* It has answered. */
void opener_answered(struct native *n);
/*
 * Does the opener work at the same file for too long, or has it ended? Then it is given up, and
 * what it was asked is lost.
 */
bool opener_is_lost(struct native *n, bool ended);

/* Ask the keeper of the cache. 0 or -errno. */
int cache_ask(struct native *n, const struct elf_message *m, const void *data, int passed);
void cache_end(struct native *n);

#endif
