/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* opcode_names.h - names of CPython's bytecode instructions. */
#ifndef TACHBPF_OPCODE_NAMES_H
#define TACHBPF_OPCODE_NAMES_H

#include <stdint.h>

/*
 * The name of an opcode in CPython 3.MINOR, as in its Include/opcode_ids.h (Include/opcode.h up to
 * 3.12); NULL: it has none, or the version is unknown.
 */
const char *opcode_name(uint8_t major, uint8_t minor, uint8_t opcode);

#endif
