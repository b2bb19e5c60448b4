/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * session_json_keep.h - copies of what session.json says, made when somebody asks for it. Whoever
 * made the file chooses how much there is, so all copies together have a limit. Beyond it, names
 * are left out, which is said once. For session_json_read.c.
 */
#ifndef TACHBPF_SESSION_JSON_KEEP_H
#define TACHBPF_SESSION_JSON_KEEP_H

#include <stddef.h>

struct json_member;
struct kept;
struct thread_names;

/* A longer string counts as not there: json_pull.string_max. A joined command has twice as much. */
#define KEPT_STRING_BYTES ((size_t)16 << 10)

/* NULL: no memory. Freed by kept_free(), with all copies. */
struct kept *kept_new(void);
void kept_free(struct kept *k);

/* A member that is a string; NULL: it is none, or there is no room. */
const char *kept_string(struct kept *k, const struct json_member *m);
/* A command: a string, or an array of words, which are joined by spaces. NULL, as above. */
const char *kept_command(struct kept *k, const struct json_member *m);
/* A process' names of threads: those for which there is room. NULL: it has none. */
const struct thread_names *kept_names(struct kept *k, const struct json_member *m);

#endif
