/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * version.h - which CPython a file is, from what the file itself says.
 */
#ifndef TACHBPF_CPYTHON_VERSION_H
#define TACHBPF_CPYTHON_VERSION_H

#include "cpython/image.h"
#include "elf/elf.h"

/*
 * Set major, minor, micro and version from PY_VERSION_HEX. 0, or -EBADMSG when no
 * CPython has such a number.
 */
int version_from_hex(struct cpython_image *img, uint32_t hex);

/* true: an alpha or beta, whose structs nobody promised to keep. */
bool version_is_unstable(uint32_t hex);

/*
 * For files without Py_Version (up to 3.10, or stripped of it): look for the version
 * among the strings. 0 or -ENOENT. Without *exact it is only "3.9", and micro is 0.
 */
int version_from_strings(struct cpython_image *img, const struct elf_file *f, bool *exact);

/*
 * For a program with no name left in it: Py_Version (3.11+) is a constant of 8 bytes, and the
 * same version stands among the strings. 0 and PY_VERSION_HEX, or -ENOENT.
 */
int version_from_constants(const struct elf_file *f, uint32_t *hex);

/* Is this among the strings, as one of its own or the end of one? */
bool version_has_string(const struct elf_file *f, const char *string);

#endif
