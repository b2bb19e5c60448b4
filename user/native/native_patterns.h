/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_patterns.h - which functions of the interpreter are what for a stack with Python frames,
 * by their names in CPython 3.6 to 3.15.
 */
#ifndef TACHBPF_NATIVE_PATTERNS_H
#define TACHBPF_NATIVE_PATTERNS_H

#include <stddef.h>
#include <stdint.h>

#include "native/native.h"

/*
 * The patterns as HELPER_MATCH has them: each with its NUL, "x*" is a prefix. *cnt: how many;
 * *bytes: of all. Of a function that two patterns match, the class with the lower number counts.
 */
const char *native_patterns(uint32_t *cnt, uint32_t *bytes);
/* What functions are that a pattern matches; NATIVE_CODE: there is no such pattern. */
enum native_class native_pattern_class(uint32_t pattern);

#endif
