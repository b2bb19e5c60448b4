// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_container_files.c - any bytes as a file of a container runtime. Input: a byte that says
 * which one, then the file. What comes out is terminated UTF-8 without control characters.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/container_files.h"
#include "tests/fuzz/shown_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct container c = { .runtime = "docker", .id = ID };
	char root[PATH_MAX] = "";
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("file", MFD_CLOEXEC);
	if (fd < 0 || !size || ftruncate(fd, 0) ||
	    pwrite(fd, data + 1, size - 1, 0) != (ssize_t)(size - 1) || lseek(fd, 0, SEEK_SET))
		return 0;
	if (data[0] % 4 == 3) {
		if (container_file_docker_root(fd, root, sizeof(root)) &&
		    strnlen(root, sizeof(root)) == sizeof(root))
			abort();
		return 0;
	}
	container_file_parse(data[0] % 4, fd, &c);
	check_shown_text(c.name, sizeof(c.name));
	check_shown_text(c.image, sizeof(c.image));
	check_shown_text(c.pod, sizeof(c.pod));
	check_shown_text(c.pod_namespace, sizeof(c.pod_namespace));
	if (strcmp(c.id, ID))
		abort();
	return 0;
}
