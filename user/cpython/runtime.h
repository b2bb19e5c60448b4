/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* runtime.h - finds _PyRuntime in a file, using whatever symbols the build has left. */
#ifndef TACHBPF_CPYTHON_RUNTIME_H
#define TACHBPF_CPYTHON_RUNTIME_H

#include "elf/elf.h"

/* 0 and its virtual address, or -ENOENT: the file does not define one. */
int runtime_find(const struct elf_file *f, uint64_t *vaddr);

/*
 * A program that refers to variables of a libpython that it is linked to may have copies of them
 * (R_X86_64_COPY), which are then used in place of the originals (System V ABI for x86-64, 4.4.1).
 * Sets *runtime and *none to the virtual addresses of the copies; 0: no copy. Returns true if there
 * is at least one.
 */
bool runtime_copies(const struct elf_file *f, uint64_t *runtime, uint64_t *none);

/*
 * Returns true if the program contains a CPython although runtime_find() found none, because no
 * name, section or cookie of its _PyRuntime is left. For programs only; reads their constants once.
 */
bool runtime_is_hidden(const struct elf_file *f);

/* Static variables of 3.6 that an exported function of x86-64 code loads. */
enum runtime_static { RUNTIME_INTERP_HEAD, RUNTIME_TLS_KEY };
/* Find one of them. 0 and its virtual address, or -ENOENT: the function has unknown code. */
int runtime_decode(const struct elf_file *f, enum runtime_static which, uint64_t *vaddr);

#endif
