/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_parties.h - the processes that work for us: the two helpers, the opener, the keeper of the
 * cache. Starts and ends them, and sends to them. Other files decide what they are asked.
 */
#ifndef TACHBPF_NATIVE_PARTIES_H
#define TACHBPF_NATIVE_PARTIES_H

#include "native/native_state.h"

/* Starts all parties that do not run and may be started now. */
void parties_start(struct native *n);
/* Ends all of them. */
void parties_end(struct native *n);

/* Starts a helper. Returns 0 or -errno. */
int helper_start(struct native *n, struct helper *h);
/*
 * Ends a helper. If it worked at a file, another one starts at once, and that file's user pauses;
 * otherwise after a second, and after twice as long each further time.
 */
void helper_end(struct native *n, struct helper *h);
/*
 * Returns when the helper for names or the opener has last done something: the last answer, or now
 * if one of them uses a CPU or waits for one.
 */
uint64_t parties_busy_ns(const struct native *n, uint64_t now);
/* Returns true if a request may be sent to the helper now. */
bool helper_is_idle(const struct native *n, enum elf_role role);
/* Time (ns) that the helper has waited for a CPU since it started; not known: as when asked. */
uint64_t helper_waited_ns(const struct helper *h);
/* Sends a request about a file to a helper. Returns 0, or -errno if it must be sent again. */
int helper_ask(struct native *n, enum elf_role role, struct file *f, struct elf_message *m,
	       const void *data);
/* Sends a message that a helper does not answer. */
void helper_tell(struct native *n, enum elf_role role, uint32_t kind, uint32_t file);

/* Returns 0 if the opener can take a request about this process (0: none), or -errno. */
int opener_ready(struct native *n, pid_t about);
/* Sends a request to the opener; sets m->request. Returns 0 or -errno. */
int opener_ask(struct native *n, struct elf_message *m, const void *data, int passed);
/* The opener has answered. */
void opener_answered(struct native *n);
/*
 * Returns true if the opener has ended, or works at the same file for too long. It is then given
 * up, and its requests are lost.
 */
bool opener_is_lost(struct native *n, bool ended);

/* Sends a request to the keeper of the cache. Returns 0 or -errno. */
int cache_ask(struct native *n, const struct elf_message *m, const void *data, int passed);
void cache_end(struct native *n);
/* The keeper of the cache has ended by itself, which is counted. */
void cache_lost(struct native *n);

#endif
