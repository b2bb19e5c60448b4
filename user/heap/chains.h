/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * chains.h - who keeps the objects of a type: for a random sample of them, the references backwards
 * to a root: a module's variable, a frame's variable, a thread, a class, C code.
 *
 * The process runs meanwhile. A reference counts if it was there when both ends were read.
 */
#ifndef TACHBPF_HEAP_CHAINS_H
#define TACHBPF_HEAP_CHAINS_H

#include "cpython/code.h"
#include "heap/census.h"

/* Links of a chain, different chains, and objects whose chains are looked for. */
#define HEAP_LINKS_MAX 8
#define HEAP_CHAINS_MAX 64
#define HEAP_WHY_SAMPLE 256
/* Types that are named if several have the wanted last part. */
#define HEAP_WHY_NAMES_MAX 8
/* A name of a root, with all of its parts. */
#define HEAP_ROOT_NAME_BYTES 256

struct heap_why {
	char type[HEAP_NAME_BYTES];	/* as heap_row.name, or its last part */
	bool values;			/* keys of dicts may be any text, not only identifiers */
	struct heap_limits limits;
};

/* Where a chain begins. */
enum heap_root {
	HEAP_ROOT_UNKNOWN,	/* nobody was found who refers to the first link, or a limit */
	HEAP_ROOT_MODULE,	/* its dict is a module's */
	HEAP_ROOT_CLASS,	/* an attribute of a class */
	HEAP_ROOT_FRAME,	/* a variable of a function that runs */
	HEAP_ROOT_SUSPENDED,	/* a variable of a suspended coroutine or generator */
	HEAP_ROOT_THREAD,	/* a thread's own data */
	HEAP_ROOT_C,		/* referred to by memory that belongs to no Python object */
	HEAP_ROOT_CYCLE,	/* only by objects that it keeps itself */
	HEAP_ROOT_CNT
};

/* One object of a chain, and by what it keeps the next one. */
struct heap_link {
	char type[HEAP_NAME_BYTES];	/* "dict", "app.Session" */
	char name[HEAP_NAME_BYTES];	/* "data", an attribute or key; "[]": an item; "": none */
};

struct heap_chain {
	enum heap_root root;
	uint32_t count;			/* objects of the sample that are kept like this */
	uint32_t link_cnt;		/* from the root on; the last one is the object itself */
	bool cut;			/* links between the root and the first one are left out */
	/* "app.CACHE", "handle() in app.py: rows", "_speedups.so"; "": unknown */
	char root_name[HEAP_ROOT_NAME_BYTES];
	struct heap_link links[HEAP_LINKS_MAX];
};

/* A type with the wanted last part. */
struct heap_why_name {
	char type[HEAP_NAME_BYTES];
	uint64_t objects;		/* that seem to be there: an upper limit */
};

struct heap_chains {
	char type[HEAP_NAME_BYTES];	/* that was found */
	uint64_t objects;		/* of the type, estimate */
	uint32_t sampled;		/* whose chains were looked for */
	uint32_t gone;			/* further ones that were freed meanwhile */
	uint32_t other;			/* objects of the sample whose chains are not in the list */
	uint32_t scans;			/* of the memory */
	uint64_t took_ns, cpu_ns, bytes_read;
	uint64_t unread;		/* bytes that could not be read, or were swapped out */
	bool limited;			/* a limit ended it */
	uint32_t chain_cnt, name_cnt;
	struct heap_chain chains[HEAP_CHAINS_MAX];	/* commonest first */
	struct heap_why_name names[HEAP_WHY_NAMES_MAX];	/* with -ENOTUNIQ, in no order */
};

/* A part of the process' memory that is writable. */
struct heap_region {
	uint64_t start, end;
	char file[HEAP_NAME_BYTES];	/* its data or, right after it, its bss; "": anonymous */
};

/* The memory of a process, or an image of it. */
struct heap_memory {
	struct target_mem mem;
	/*
	 * The length of the run of pages from addr on, at most up to end, that are alike; *present:
	 * they are in memory. NULL: all pages are.
	 */
	uint64_t (*run)(void *ctx, uint64_t addr, uint64_t end, bool *present);
	void *run_ctx;
	const struct heap_region *regions;	/* ascending, separate */
	uint32_t region_cnt;
};

/*
 * Look for who keeps the objects of a type. Takes about 0.4 s of CPU for each scan of 1 GB; there
 * are about 4, at most 23. 0; -ENOENT: no object of this type was found; -ENOTUNIQ: there are
 * objects of several types with this last part: out->names, and nothing else was looked for;
 * -EBADMSG: no type was found at all; -ENOMEM. *out is well-formed in any case.
 */
int heap_chains_find(const struct heap_memory *memory, const struct heap_target *target,
		     const struct heap_why *why, struct heap_chains *out);

#endif
