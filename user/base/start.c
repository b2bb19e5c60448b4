// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * start.c - see start.h.
 */
#include "base/start.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

void start_program(void)
{
	int fd;

	do
		fd = open("/", O_PATH | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
	signal(SIGXFSZ, SIG_IGN);
}
