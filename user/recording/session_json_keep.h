/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * session_json_keep.h - copies of data from session.json, made on request. The author of the file
 * determines their size, so all copies together have a limit. Beyond it, names are left out, which
 * is reported once. For session_json_read.c.
 */
#ifndef TACHBPF_SESSION_JSON_KEEP_H
#define TACHBPF_SESSION_JSON_KEEP_H

#include <stddef.h>

struct json_member;
struct kept;
struct thread_names;

/*
 * A longer string counts as missing: json_pull.string_max. A joined command may have twice as much.
 */
#define KEPT_STRING_BYTES ((size_t)16 << 10)

/* Returns NULL if there is no memory. Freed by kept_free(), with all copies. */
struct kept *kept_new(void);
void kept_free(struct kept *k);

/* Returns a member that is a string; NULL: it is not one, or there is no room. */
const char *kept_string(struct kept *k, const struct json_member *m);
/* Returns a command: a string, or an array of words, which are joined by spaces. NULL, as above. */
const char *kept_command(struct kept *k, const struct json_member *m);
/* Returns a process' thread names, as many as there is room for. NULL: it has none. */
const struct thread_names *kept_names(struct kept *k, const struct json_member *m);

#endif
