// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* list_parts.c - prints the parts of functions that a file has elsewhere: start, end, function. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include "elf_helper/elf_parts.h"

int main(int argc, char **argv)
{
	struct elf_parts parts;
	struct elf_file f;
	size_t i;
	int fd;

	fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;
	if (fd < 0 || elf_file_open(&f, fd) || elf_parts_read(&f, &parts))
		return 1;
	for (i = 0; i < parts.cnt; i++)
		printf("%" PRIx64 " %" PRIx64 " %" PRIx64 "\n", parts.parts[i].start,
		       parts.parts[i].end, parts.parts[i].function);
	elf_parts_free(&parts);
	return 0;
}
