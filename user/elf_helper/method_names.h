/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * method_names.h - which name a function gets that several tables of a file may name: a part of
 * elf_methods.
 *
 * A function of a method table is named by that, one of attributes by these, otherwise by slots, by
 * tp_vectorcall last.
 * Where several types have the same function, their common base names it. Without one, only the
 * method's name is sure, and is shown with their module if that is the same: "_io.*.read". Where
 * not even that is the same, there is no name.
 */
#ifndef TACHBPF_METHOD_NAMES_H
#define TACHBPF_METHOD_NAMES_H

#include "elf_helper/elf_methods.h"

struct method_names;

enum method_rank {
	RANK_METHOD, RANK_GETSET, RANK_SLOT,
	RANK_VECTORCALL,	/* before 3.8 types have none, and the word is of what comes next */
};

/* The file and its segments must outlive it. Returns NULL without memory. */
struct method_names *method_names_new(const struct elf_file *f, const struct elf_segments *s);
void method_names_free(struct method_names *m);

/* Returns true if a function begins at this address. */
bool method_is_function(const struct method_names *m, uint64_t addr);

/*
 * Each returns the number of a string: an identifier at this address in the file, identifiers with
 * dots between them, or one of ours. 0: it is none, or there are too many.
 */
uint32_t method_word(struct method_names *m, uint64_t addr);
uint32_t method_path(struct method_names *m, uint64_t addr);
uint32_t method_literal(struct method_names *m, const char *text);

/* There is a type: the address of its tp_name, and of its base (0: none). Returns 0 or -ENOMEM. */
int method_type(struct method_names *m, uint64_t vaddr, uint32_t name, uint64_t base);

/*
 * A table of owner (0: unknown) names what is at this address, which is ignored if no function
 * begins there. Returns 0 or -ENOMEM.
 */
int method_use(struct method_names *m, uint64_t addr, enum method_rank rank, uint32_t owner,
	       uint32_t word);

/* Fills *out with all functions that have a name. Returns 0 or -ENOMEM. */
int method_names_resolve(struct method_names *m, struct elf_methods *out);

#endif
