// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* memory_hint.c - see memory_hint.h. */
#include "commands/memory_hint.h"

#include "base/text.h"

const char *memory_heading(bool exact)
{
	return exact ? "Memory that these functions allocated and that is not freed" :
		       "Memory grew while these functions ran";
}

void memory_print_hint(FILE *out, uint32_t tgid, bool lives, size_t width)
{
	static const char why[] =
		"These functions touched the memory first. When their objects are freed, other "
		"objects use it again, so what stays may be others' objects.";
	char pid[16] = "PID";

	text_wrap(out, why, 0, width);
	if (tgid && lives)
		snprintf(pid, sizeof(pid), "%u", tgid);
	if (!tgid || lives)
		fprintf(out, "  tachbpf heap %s --since 30s                what it is that stays, by type\n",
			pid);
	fprintf(out, "  tachbpf -m mem --allocations -p %s -d 30  who allocated what is not freed\n",
		pid);
}
