// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* elf_needs.c - see elf_needs.h. */
#include "elf_helper/elf_needs.h"

#include <limits.h>
#include <string.h>

#include "elf/elf_link.h"

struct needs {
	struct elf_message *head;
	uint8_t *data;
};

/* Returns 0, or 1 if there is no room for more. */
static int add_string(void *ctx, const char *text)
{
	struct needs *n = ctx;
	size_t bytes = strlen(text) + 1;

	if (n->head->cnt >= ELF_NEEDS_MAX || bytes > ELF_WIRE_BYTES - n->head->bytes)
		return 1;
	memcpy(n->data + n->head->bytes, text, bytes);
	n->head->bytes += (uint32_t)bytes;
	n->head->cnt++;
	return 0;
}

void elf_needs_fill(int fd, struct elf_message *head, uint8_t data[ELF_WIRE_BYTES])
{
	struct needs n = { head, data };
	struct elf_file f;
	char path[PATH_MAX];

	head->cnt = head->bytes = 0;
	if (elf_file_open(&f, fd))
		return;
	if (elf_link_interpreter(&f, path, sizeof(path)))
		path[0] = '\0';
	add_string(&n, path);
	elf_link_runpath(&f, path, sizeof(path));
	add_string(&n, path);
	elf_link_libraries(&f, add_string, &n);
}
