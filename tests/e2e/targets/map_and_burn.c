// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * map_and_burn.c FILE FD - what fuse_server.py's child does, in a program that is no Python: maps
 * the file as code, writes a byte to FD, and uses the CPU for ever.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int fd = argc == 3 ? open(argv[1], O_RDONLY) : -1;
	volatile unsigned long spin = 0;

	if (fd < 0 || mmap(NULL, 65536, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		return 1;
	close(fd);
	if (write(atoi(argv[2]), "r", 1) != 1)
		return 1;
	for (;;)
		spin++;
}
