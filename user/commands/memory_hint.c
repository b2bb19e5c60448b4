// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* memory_hint.c - see memory_hint.h. */
#include "commands/memory_hint.h"

#include <stdarg.h>
#include <string.h>

#include "base/text.h"

#define COMMAND_COLUMNS 45
#define TYPE_COLUMNS 80

const char *memory_heading(bool blocks)
{
	return blocks ? "Memory that these functions allocated and that is not freed" :
			"Memory grew while these functions ran";
}

/* Prints a command, and what it tells if there is room. */
static void print_command(FILE *out, size_t width, const char *what, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static void print_command(FILE *out, size_t width, const char *what, const char *format, ...)
{
	char command[64 + TYPE_COLUMNS];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	if (width && COMMAND_COLUMNS + strlen(what) + 6 > width)
		fprintf(out, "  %s\n", command);
	else
		fprintf(out, "  %-*s  # %s\n", COMMAND_COLUMNS, command, what);
}

/* Returns true if the name is one word for a shell, and short. */
static bool is_plain_name(const char *type)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_.";

	return *type && strlen(type) <= TYPE_COLUMNS && !type[strspn(type, plain)];
}

void memory_print_hint(FILE *out, uint32_t tgid, bool lives, const char *type, size_t width)
{
	static const char why[] =
		"These functions touched the memory first. When their objects are freed, other "
		"objects use it again, so what stays may be others' objects.";
	char pid[16] = "PID";

	text_wrap(out, why, 0, width ? width : TEXT_COLUMNS);
	if (tgid && lives)
		snprintf(pid, sizeof(pid), "%u", tgid);
	if (!tgid || lives)
		print_command(out, width, "which objects stay, by type",
			      "tachbpf heap %s --since 30s", pid);
	if ((!tgid || lives) && is_plain_name(type))
		print_command(out, width, "who keeps them", "tachbpf heap %s --why %s", pid, type);
	print_command(out, width, "who allocates what stays",
		      "tachbpf -m mem --allocations -p %s -d 30", pid);
}
