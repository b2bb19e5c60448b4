/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* object.h - shared by code.c and strings.c for reading objects of a process. */
#ifndef TACHBPF_CPYTHON_OBJECT_H
#define TACHBPF_CPYTHON_OBJECT_H

#include <stddef.h>
#include <stdint.h>

/*
 * The smallest page size of all supported machines: whatever follows an object in its page is
 * mapped, too.
 */
#define OBJECT_PAGE 4096u

/*
 * How many bytes to read at addr if `need` bytes are required and `want` bytes are useful. Only
 * required bytes extend the read into the next page.
 */
size_t object_first_read(uint64_t addr, size_t need, size_t want);

#endif
