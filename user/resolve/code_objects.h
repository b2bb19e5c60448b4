/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * code_objects.h - the code objects of one process, with their names in the intern table. For
 * symbolize.c.
 *
 * A code object is identified by its address and its fingerprint, so that an address that is used
 * again never gets an old name. It is read from the BPF side's snapshot; what is missing there is
 * read from the process, as long as reads are allowed.
 */
#ifndef TACHBPF_CODE_OBJECTS_H
#define TACHBPF_CODE_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/u64map.h"
#include "bpf/abi.h"
#include "cpython/code.h"

struct budget;
struct intern;
struct symbolizer_stats;

/* When there are this many, code_objects_forget() must be called. */
#define CODE_OBJECTS_MAX (64 * 1024)

struct known_code {
	struct code_object code;	/* without names */
	struct known_code *next;	/* same hash */
	uint64_t addr;
	uint32_t id;
	bool resolved;
	bool busy;			/* there was no time to read it */
	bool trampoline;		/* see symbolizer_trampoline() */
	uint32_t file, func;		/* string ids */
};

struct code_objects {
	const struct cpython_image *image;
	struct target_mem mem;
	struct intern *in;
	struct symbolizer_stats *stats;	/* everything except unresolved is counted here */
	bool gone;			/* the process has ended: nothing is read from it */
	struct u64map by_key;		/* hash of (addr, id) -> chain of known_code */
	size_t cnt, bytes;
	uint32_t reads_left;		/* reads allowed until code_objects_refill() */
	size_t name_bytes;		/* memory of names added to `in` */
	struct budget *budget;		/* of the process' user; NULL: none */
	size_t budget_names;		/* this process' share of it */
};

/* image, in and stats outlive it; mem, which reads the process' memory, is copied. */
void code_objects_init(struct code_objects *codes, const struct cpython_image *image,
		       struct target_mem mem, struct intern *in, struct symbolizer_stats *stats);
void code_objects_free(struct code_objects *codes);
/* Sets the process' user, to whose budget (budget.h) memory is charged. To be called first. */
void code_objects_set_owner(struct code_objects *codes, uint32_t uid);
/*
 * Returns what this process has charged to its user's budget for names. The caller gives it back,
 * or it stays charged: the names outlive the process.
 */
size_t code_objects_leave_names(struct code_objects *codes);
/* Counts the memory of names or frames that were added to the intern table. */
void code_objects_count_names(struct code_objects *codes, size_t bytes);
/* Renews the number of reads allowed from the process. To be called once a second. */
void code_objects_refill(struct code_objects *codes);

/* Returns true if code_objects_forget() must be called. */
bool code_objects_are_full(const struct code_objects *codes);
/* Forgets all. Those needed again are read from the process; new ones come from the BPF side. */
void code_objects_forget(struct code_objects *codes);
/* Takes a snapshot of len bytes. 0; -EBADMSG: it is incomplete; -ENOMEM. */
int code_objects_learn(struct code_objects *codes, const struct raw_code *raw, size_t len);
/*
 * Finds the code object of a raw frame, or reads it from the process. *out is NULL if neither
 * succeeds, and may lack a name (resolved). 0 or -ENOMEM.
 */
int code_objects_find(struct code_objects *codes, const struct raw_frame *raw,
		      struct known_code **out);
/* Returns the opcode of the instruction at lasti, read from the process; see code_opcode(). */
uint8_t code_objects_opcode(struct code_objects *codes, const struct known_code *c, uint32_t lasti);

#endif
