/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_names.h - the names of addresses in one file, as a helper has said them. What a helper
 * says is checked for its form; texts have the characters that files' symbols have, any bytes.
 */
#ifndef TACHBPF_NATIVE_NAMES_H
#define TACHBPF_NATIVE_NAMES_H

#include "base/hash_index.h"
#include "model/intern.h"
#include "native/native.h"
#include "native/native_wire.h"

#define NATIVE_NAMES_OF_FILE 200000u
/* Of the names of all files: some 500,000. A helper can say long names. */
#define NATIVE_NAMES_BYTES_MAX (48u << 20)

/* Of all files. */
struct native_name_pool {
	uint64_t names, unknown;	/* addresses so far; those without a name, or a place */
	uint64_t bytes;			/* that the names take now */
	bool full;			/* there was no room for a name */
};

struct native_names {
	struct intern *texts;		/* NULL: none yet */
	uint64_t bytes;			/* of pool.bytes */
	struct hash_index index;	/* of entries, by address */
	struct native_name_entry *entries;
	size_t cnt, cap;
	struct native_name_line *lines;
	size_t line_cnt, line_cap;
};

enum native_name_state {
	NAME_MISSING,		/* nobody has asked for it */
	NAME_ASKED,
	NAME_KNOWN,
	NAME_UNKNOWN,		/* there is none */
	NAME_FULL,		/* there is no room for it */
};

/* The state of an address; if it is known, *out (all but library) until texts are added. */
enum native_name_state native_names_get(const struct native_names *names,
					const struct native_name_pool *pool, uint64_t addr,
					struct native_name *out);
/* Note that it is asked for now. 0; -ENOSPC: NAME_FULL; -ENOMEM. */
int native_names_ask(struct native_names *names, struct native_name_pool *pool, uint64_t addr);
/* It was asked for in vain; known: there is none. Else it is missing again. */
void native_names_give_up(struct native_names *names, uint64_t addr, bool known);
/*
 * Take the data of a NAMES. library: for code without a name, which gets "library+0x1234".
 * 0; -EBADMSG: it has not the form; -ENOMEM.
 */
int native_names_take(struct native_names *names, struct native_name_pool *pool,
		      const char *library, const struct elf_message *m, const void *data);
/* Forget all names: those that are asked for, too. */
void native_names_free(struct native_names *names, struct native_name_pool *pool);

#endif
