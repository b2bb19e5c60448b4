// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* opcode_names.c - see opcode_names.h. One table per version: all numbers change. */
#include "cpython/opcode_names.h"

#include <stddef.h>

#include "base/util.h"
#include "cpython/opcode_names.inc"

static const char *const *const names[] = {
	[6] = names_36, [7] = names_37, [8] = names_38, [9] = names_39, [10] = names_310,
	[11] = names_311, [12] = names_312, [13] = names_313, [14] = names_314, [15] = names_315,
};

const char *opcode_name(uint8_t major, uint8_t minor, uint8_t opcode)
{
	if (major != 3 || minor >= ARRAY_SIZE(names) || !names[minor])
		return NULL;
	return names[minor][opcode];
}
