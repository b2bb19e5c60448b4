/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_names.h - the names of addresses in one file, from a helper. Their form is checked;
 * strings may have any bytes, as symbols in files do.
 */
#ifndef TACHBPF_NATIVE_NAMES_H
#define TACHBPF_NATIVE_NAMES_H

#include "base/hash_index.h"
#include "model/intern.h"
#include "native/native.h"
#include "native/native_wire.h"

#define NATIVE_NAMES_OF_FILE 200000u
/* Limit for the names of all files, some 500,000. A helper can send long names. */
#define NATIVE_NAMES_BYTES_MAX (48u << 20)

/* Shared by all files. */
struct native_name_pool {
	uint64_t names, unknown;	/* addresses so far; those without a name, or a place */
	uint64_t mangled;		/* functions whose names take too long to demangle */
	uint64_t bytes;			/* bytes that the names use now */
	bool full;			/* there was no room for a name */
};

struct native_names {
	struct intern *texts;		/* NULL: none yet */
	uint64_t bytes;			/* of pool.bytes */
	uint32_t mangled;		/* of pool.mangled */
	struct hash_index index;	/* of entries, by address */
	struct native_name_entry *entries;
	size_t cnt, cap;
	struct native_name_line *lines;
	size_t line_cnt, line_cap;
};

enum native_name_state {
	NAME_MISSING,		/* nobody has requested it */
	NAME_ASKED,
	NAME_KNOWN,
	NAME_UNKNOWN,		/* it does not exist */
	NAME_FULL,		/* there is no room for it */
};

/* Returns an address's state; if known, *out (except library) is valid until names are added. */
enum native_name_state native_names_get(const struct native_names *names,
					const struct native_name_pool *pool, uint64_t addr,
					struct native_name *out);
/* Notes that the name has been requested. Returns 0; -ENOSPC: NAME_FULL; -ENOMEM. */
int native_names_ask(struct native_names *names, struct native_name_pool *pool, uint64_t addr);
/* The request has failed; known: there is no name. Otherwise it is missing again. */
void native_names_give_up(struct native_names *names, uint64_t addr, bool known);
/*
 * Takes the data of a NAMES. library: for unnamed code, which becomes "library+0x1234". Returns 0;
 * -EBADMSG if it is malformed; -ENOMEM.
 */
int native_names_take(struct native_names *names, struct native_name_pool *pool,
		      const char *library, const struct elf_message *m, const void *data);
/* All known names are missing again; their strings stay valid. */
void native_names_forget(struct native_names *names);
/* Forgets all names, including those that were requested. */
void native_names_free(struct native_names *names, struct native_name_pool *pool);

#endif
