/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* version.h - determines which CPython version a file contains. */
#ifndef TACHBPF_CPYTHON_VERSION_H
#define TACHBPF_CPYTHON_VERSION_H

#include "cpython/image.h"
#include "elf/elf.h"

/*
 * Set major, minor, micro and version from PY_VERSION_HEX. 0, or -EBADMSG: no CPython has
 * this number.
 */
int version_from_hex(struct cpython_image *img, uint32_t hex);

/* Returns true for an alpha or beta, whose structs may still change. */
bool version_is_unstable(uint32_t hex);

/*
 * For files without Py_Version (up to 3.10, or stripped of it): search the strings for the
 * version. 0 or -ENOENT. If *exact is false, only the minor version is known ("3.9"), and
 * micro is 0.
 */
int version_from_strings(struct cpython_image *img, const struct elf_file *f, bool *exact);

/*
 * For a program without symbols: Py_Version (3.11+) is a constant of 8 bytes, and the strings
 * contain the same version. 0 and PY_VERSION_HEX, or -ENOENT.
 */
int version_from_constants(const struct elf_file *f, uint32_t *hex);

/* Returns true if the file's strings include this one, complete or as the end of a longer one. */
bool version_has_string(const struct elf_file *f, const char *string);

#endif
