// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * elf_demangle.c - see elf_demangle.h. libiberty's callbacks deliver the text in pieces, so a short
 * name that stands for a gigabyte needs time, which the helper's deadline limits, but no memory.
 */
#include "elf_helper/elf_demangle.h"

#include <libiberty/demangle.h>
#include <stdbool.h>
#include <string.h>

/* Longer names are shown mangled: the demangler's stack grows with them. */
#define MANGLED_MAX 2048

struct text {
	char *out;
	size_t len, size;
	bool cut;
};

static void add_piece(const char *piece, size_t len, void *opaque)
{
	struct text *t = opaque;
	size_t room = t->size - 1 - t->len;

	if (len > room) {
		t->cut = true;
		len = room;
	}
	memcpy(t->out + t->len, piece, len);
	t->len += len;
}

static size_t end_text(struct text *t)
{
	static const char dots[] = "...";

	t->out[t->len] = '\0';
	if (t->cut && t->size > sizeof(dots))
		memcpy(t->out + t->len - (sizeof(dots) - 1), dots, sizeof(dots));
	return t->len;
}

/* The name as it is, cut in the same way. */
static size_t elf_name_cut(const char *name, char *out, size_t size)
{
	struct text t = { .out = out, .size = size };

	add_piece(name, strlen(name), &t);
	return end_text(&t);
}

/* Rust first: its older names look like C++ names, and end with a hash. */
size_t elf_demangle(const char *name, char *out, size_t size)
{
	struct text t = { .out = out, .size = size };

	if (name[0] != '_' || strlen(name) > MANGLED_MAX)
		return elf_name_cut(name, out, size);
	if (rust_demangle_callback(name, DMGL_NO_OPTS, add_piece, &t) && t.len)
		return end_text(&t);
	t = (struct text){ .out = out, .size = size };
	if (!strncmp(name, "_Z", 2) &&
	    cplus_demangle_v3_callback(name, DMGL_ANSI, add_piece, &t) && t.len)
		return end_text(&t);
	return elf_name_cut(name, out, size);
}
