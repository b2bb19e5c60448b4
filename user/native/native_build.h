/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* native_build.h - from a file's TABLE to the table that is copied. */
#ifndef TACHBPF_NATIVE_BUILD_H
#define TACHBPF_NATIVE_BUILD_H

#include "native/native_state.h"

/* Takes a TABLE with its data in n->data. Keeps or closes fd. */
void file_built(struct native *n, struct file *f, const struct elf_message *m, int fd);
/* All that can be known of the functions of a file with CPython is known: its table may be used. */
void file_matched(struct native *n, struct file *f);

#endif
