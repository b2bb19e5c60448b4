// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* parts_seed.c - a library with parts of functions, for fuzz_elf_parts.c. */
#include "tests/unit/elf_helper/made_parts.h"
