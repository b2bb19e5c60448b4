/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* object.h - what code.c and strings.c share for reading objects of a process. */
#ifndef TACHBPF_CPYTHON_OBJECT_H
#define TACHBPF_CPYTHON_OBJECT_H

#include <stddef.h>
#include <stdint.h>

/*
 * The smallest page size of all supported machines: what follows an object in its page is
 * mapped, too.
 */
#define OBJECT_PAGE 4096u

/*
 * How many bytes to read at addr if need bytes are required and want bytes are welcome.
 * Only required bytes make the read extend into the next page.
 */
size_t object_first_read(uint64_t addr, size_t need, size_t want);

#endif
