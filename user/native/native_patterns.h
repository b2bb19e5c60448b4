/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_patterns.h - the classes of the interpreter's functions in a stack with Python frames, by
 * their names in CPython 3.6 to 3.15.
 */
#ifndef TACHBPF_NATIVE_PATTERNS_H
#define TACHBPF_NATIVE_PATTERNS_H

#include <stddef.h>
#include <stdint.h>

#include "native/native.h"

/*
 * Returns the patterns for HELPER_MATCH: each ends with NUL, "x*" is a prefix. *cnt: their number;
 * *bytes: total size. If two match a function, the class with the lower number applies.
 */
const char *native_patterns(uint32_t *cnt, uint32_t *bytes);
/* Returns the class of the functions that a pattern matches; NATIVE_CODE: no such pattern. */
enum native_class native_pattern_class(uint32_t pattern);

#endif
