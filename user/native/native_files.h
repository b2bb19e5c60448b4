/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_files.h - the files that processes have mapped: their numbers, which are never used again,
 * the queues in which they wait, and what becomes of those that cannot be read.
 */
#ifndef TACHBPF_NATIVE_FILES_H
#define TACHBPF_NATIVE_FILES_H

#include "native/native_state.h"

/* There are no more; what is mapped beyond them has no table. */
#define NATIVE_FILES_MAX 65536u

/* The file of a mapping, a new one if it is not known. NULL: there is no room for it. */
struct file *files_get(struct native *n, uint64_t dev, uint64_t ino, const char *path);
/* A file of this kind, which no inode leads to. NULL: there is no room for it. */
struct file *files_add(struct native *n, enum file_kind kind, const char *path);
/* The file of a number; NULL: there is none. */
struct file *files_find(const struct native *n, uint32_t number);
/* Another file has this one's inode now: a new file takes its place. NULL: there is no room. */
struct file *files_replace(struct native *n, struct file *old);
void files_free(struct native *n);
/*
 * There was no room for a name: forget those of files that nobody has mapped, and of perf maps whose
 * process has ended.
 */
void files_forget_names(struct native *n);
/* The perf map of a process that has ended, to be used for another one; NULL: there is none. */
struct file *files_idle_perf_map(struct native *n);

/* Queues are first in, first out; a file is in each of them once. */
void file_push(struct native *n, enum file_queue queue, struct file *f);
struct file *file_pop(struct native *n, enum file_queue queue);
bool file_waits(const struct native *n, enum file_queue queue);

/* It will have no table, because of why (enum native_end). */
void file_refuse(struct native *n, struct file *f, uint8_t why);
/* Nobody will say the names that it waits for; known: it has none. */
void file_drop_wanted(struct file *f, bool known);

/*
 * Where the mapping's addresses are in the file: can it be said? If so, *bias is address in the
 * process minus address in the file.
 */
bool file_bias(const struct file *f, const struct mapping *m, uint64_t *bias);

/* What the functions of a CPython are: those that its MATCHES say, and the one that facts say. */
int file_add_class(struct file *f, uint64_t start, uint64_t end, enum native_class class);
void file_sort_classes(struct file *f);
enum native_class file_class(const struct file *f, uint64_t addr);

#endif
