/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * chains.h - who keeps the objects of a type: for a random sample of them, the references backwards
 * to a root: a module's variable, a frame's variable, a thread, a class, C code.
 *
 * The process runs meanwhile. A reference counts if it was there when both ends were read.
 */
#ifndef TACHBPF_HEAP_CHAINS_H
#define TACHBPF_HEAP_CHAINS_H

#include "heap/census.h"

/* Links of a chain, different chains, and objects whose chains are looked for. */
#define HEAP_LINKS_MAX 8
#define HEAP_CHAINS_MAX 64
#define HEAP_WHY_SAMPLE 256

struct heap_why {
	char type[HEAP_NAME_BYTES];	/* as heap_row.name, or its last part */
	bool values;			/* names of dicts' keys may be any text, not only identifiers */
	struct heap_limits limits;
};

/* Where a chain begins. */
enum heap_root {
	HEAP_ROOT_UNKNOWN,	/* nobody was found who refers to the first link, or a limit */
	HEAP_ROOT_MODULE,	/* its dict is a module's */
	HEAP_ROOT_CLASS,	/* an attribute of a class */
	HEAP_ROOT_FRAME,	/* a variable of a function that runs, or of a suspended one */
	HEAP_ROOT_THREAD,	/* a thread's own data */
	HEAP_ROOT_C,		/* referred to by memory that belongs to no Python object */
	HEAP_ROOT_CYCLE,	/* only by objects that it keeps itself */
};

/* One object of a chain, and by what it keeps the next one. */
struct heap_link {
	char type[HEAP_NAME_BYTES];	/* "dict", "app.Session" */
	char name[HEAP_NAME_BYTES];	/* "data", an attribute or key; "[]", an item; "": unknown */
};

struct heap_chain {
	enum heap_root root;
	uint32_t count;			/* objects of the sample that are kept like this */
	uint32_t link_cnt;		/* from the root on; the last one is the object itself */
	char root_name[HEAP_NAME_BYTES];	/* "app.CACHE", "handle (app.py)"; "": unknown */
	struct heap_link links[HEAP_LINKS_MAX];
};

struct heap_chains {
	uint64_t objects;		/* of the type, estimate */
	uint32_t sampled;		/* whose chains were looked for */
	uint64_t took_ns, cpu_ns, bytes_read;
	bool limited;			/* a limit ended it */
	uint32_t chain_cnt;
	struct heap_chain chains[HEAP_CHAINS_MAX];	/* commonest first */
};

#endif
