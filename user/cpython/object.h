/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * object.h - what code.c and strings.c share about reading objects of a process.
 */
#ifndef TACHBPF_CPYTHON_OBJECT_H
#define TACHBPF_CPYTHON_OBJECT_H

#include <stddef.h>
#include <stdint.h>

/* The smallest page of any machine we run on: what follows in it is mapped, too. */
#define OBJECT_PAGE 4096u

/*
 * How many bytes to read at addr when need are needed and want would be nice: never
 * into the next page just for what would be nice.
 */
size_t object_first_read(uint64_t addr, size_t need, size_t want);

#endif
