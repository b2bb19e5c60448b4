/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_files.h - the files that processes have mapped: their numbers, which are never reused, and
 * the fate of those that cannot be read.
 */
#ifndef TACHBPF_NATIVE_FILES_H
#define TACHBPF_NATIVE_FILES_H

#include "native/native_state.h"

/* The number of files is limited; a file mapped beyond that has no table. */
#define NATIVE_FILES_MAX 65536u

/* Returns the file of a mapping, a new one if it is unknown; NULL if there is no room. */
struct file *files_get(struct native *n, uint64_t dev, uint64_t ino, const char *path);
/* Creates a file of this kind that has no inode. Returns NULL if there is no room. */
struct file *files_add(struct native *n, enum file_kind kind, const char *path);
/* Returns the file with this number, or NULL. */
struct file *files_find(const struct native *n, uint32_t number);
/* Another file has this one's inode now: a new one replaces it. NULL: there is no room. */
struct file *files_replace(struct native *n, struct file *old);
/* One mapping of the file less. */
void file_leave(struct file *f);
void files_free(struct native *n);
/*
 * There was no room for a name: forgets the names of files that nobody has mapped, and of perf maps
 * whose process has ended.
 */
void files_forget_names(struct native *n);
/* Returns the perf map of a process that has ended, for reuse, or NULL. */
struct file *files_idle_perf_map(struct native *n);

/* The file will have no table; why: enum native_end. */
void file_refuse(struct native *n, struct file *f, uint8_t why);
/* The names that the file waits for will not come; known: they do not exist. */
void file_drop_wanted(struct file *f, bool known);

/*
 * Returns true if the file offset of the mapping's addresses is known. *bias is then the address in
 * the process minus the address in the file.
 */
bool file_bias(const struct file *f, const struct mapping *m, uint64_t *bias);

/*
 * Returns true if the file's functions must be known: it is a CPython, whose table is not used
 * before that, or it has no symbol table, so only some of them have a name.
 */
static inline bool needs_functions(const struct file *f)
{
	return f->facts.eval_start || f->facts.stripped;
}

/*
 * Where a file waits to be asked for its functions. The table of a CPython waits for them, and many
 * samples for the table; of other files, names are more urgent.
 */
static inline enum file_queue match_queue(const struct file *f)
{
	return f->facts.eval_start ? QUEUE_MATCH : QUEUE_MATCH_LATER;
}

/*
 * The class of a function: from MATCHES, or the one that the facts name. Without room for it,
 * f->classes_full is set. file_sort_classes() follows the last one.
 */
void file_add_class(struct native *n, struct file *f, uint64_t start, uint64_t end,
		    enum native_class class);
void file_sort_classes(struct native *n, struct file *f);
void file_drop_classes(struct native *n, struct file *f);
enum native_class file_class(const struct file *f, uint64_t addr);
/* A stub is a part of the call of another file's function. */
static inline bool file_is_stub(const struct file *f, uint64_t addr)
{
	return f->has_facts && addr >= f->facts.plt_start && addr < f->facts.plt_end;
}

#endif
