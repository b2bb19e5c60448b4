/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * section.h - the section in which asyncio (3.14+) keeps the offsets of its own fields.
 *
 * It is in _asyncio's shared object, or, if that module is built in (Debian's 3.15), in the
 * executable or libpython. It is initialised data, so it can be read from the file. It is hostile
 * input: all values are checked against limits, and a section that fails is refused.
 */
#ifndef TACHBPF_ASYNCIO_SECTION_H
#define TACHBPF_ASYNCIO_SECTION_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi_async.h"
#include "elf/elf.h"

/* Number of bytes that are read: 13 words of 8 bytes, the same in 3.14 and 3.15. */
#define ASYNCIO_SECTION_BYTES 104

/*
 * Limits, exclusive: on fields of a task (168 bytes in 3.14), of a thread state (the largest is
 * 1,104 bytes, in 3.15) and of an interpreter (226 KiB).
 */
#define ASYNCIO_TASK_BYTES_MAX 512
#define ASYNCIO_TSTATE_BYTES_MAX 32768
#define ASYNCIO_INTERP_BYTES_MAX (1u << 20)

/* Decode and validate the section's bytes. 0 and *out; -EBADMSG: it has another form. */
int asyncio_section_parse(const uint8_t *bytes, size_t len, struct async_tasks_layout *out);

/* The same from a file. -ENOENT: it has no such section; other -errno. */
int asyncio_section_read(const struct elf_file *f, struct async_tasks_layout *out);

#endif
