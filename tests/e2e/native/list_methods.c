// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* list_methods.c - prints the functions that a file's tables name: start, end, name. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include "elf_helper/elf_methods.h"

int main(int argc, char **argv)
{
	struct elf_segments segments;
	struct elf_methods m;
	struct elf_file f;
	size_t i;
	int fd;

	fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;
	if (fd < 0 || elf_file_open(&f, fd) || elf_segments_read(&f, &segments) ||
	    elf_methods_read(&f, &segments, &m))
		return 1;
	for (i = 0; i < m.cnt; i++)
		printf("%" PRIx64 " %" PRIx64 " %s\n", m.functions[i].start, m.functions[i].end,
		       m.text + m.functions[i].name);
	elf_methods_free(&m);
	return 0;
}
