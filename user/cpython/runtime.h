/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * runtime.h - where in a file _PyRuntime is, whatever the build left of its names.
 */
#ifndef TACHBPF_CPYTHON_RUNTIME_H
#define TACHBPF_CPYTHON_RUNTIME_H

#include "elf/elf.h"

/* 0 and its virtual address, or -ENOENT: the file defines none. */
int runtime_find(const struct elf_file *f, uint64_t *vaddr);

/*
 * A program that refers to variables of a libpython it is linked to may hold copies of
 * them (R_X86_64_COPY), which then are the ones in use. *runtime, *none: where they are;
 * 0: none. true: there is one. (System V ABI for x86-64, 4.4.1.)
 */
bool runtime_copies(const struct elf_file *f, uint64_t *runtime, uint64_t *none);

/*
 * true: there is a CPython in the program although runtime_find() found none, because
 * nothing that names or marks its _PyRuntime was left. For programs only; reads their
 * constants once.
 */
bool runtime_is_hidden(const struct elf_file *f);

/* Static variables of 3.6 that an exported function of x86-64 code loads. */
enum runtime_static { RUNTIME_INTERP_HEAD, RUNTIME_TLS_KEY };
/* Decode which. 0 and its virtual address, or -ENOENT: no code of a known shape. */
int runtime_decode(const struct elf_file *f, enum runtime_static which, uint64_t *vaddr);

#endif
