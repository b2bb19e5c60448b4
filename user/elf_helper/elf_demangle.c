// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * elf_demangle.c - see elf_demangle.h. libiberty's callbacks deliver the text in pieces, so a short
 * name that stands for a gigabyte needs no memory; it is left as soon as there is enough of it.
 */
#include "elf_helper/elf_demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

struct text {
	char *out;
	size_t len, size;
	bool cut;
	jmp_buf full;	/* where to go on when there is no more room */
};

/* Returns true if all of it had room. */
static bool add_text(struct text *t, const char *piece, size_t len)
{
	size_t room = t->size - 1 - t->len;

	t->cut = len > room;
	if (t->cut)
		len = room;
	memcpy(t->out + t->len, piece, len);
	t->len += len;
	return !t->cut;
}

/* libiberty cannot be told to stop. It holds nothing in a callback, except a Rust name's parts. */
static void add_piece(const char *piece, size_t len, void *opaque)
{
	struct text *t = opaque;

	if (!add_text(t, piece, len))
		longjmp(t->full, 1);
}

static size_t end_text(struct text *t)
{
	static const char dots[] = "...";

	t->out[t->len] = '\0';
	if (t->cut && t->size > sizeof(dots))
		memcpy(t->out + t->len - (sizeof(dots) - 1), dots, sizeof(dots));
	return t->len;
}

size_t elf_name_copy(const char *name, char *out, size_t size)
{
	struct text t = { .out = out, .size = size };

	add_text(&t, name, strlen(name));
	return end_text(&t);
}

bool elf_is_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R') &&
	       strlen(name) <= ELF_DEMANGLE_MAX;
}

typedef int (*demangle_fn)(const char *mangled, int options, demangle_callbackref callback,
			   void *opaque);

/* Returns the length of the text; 0: it is no such name. */
static size_t demangle_with(demangle_fn demangle, int options, const char *name, struct text *t)
{
	t->len = 0;
	t->cut = false;
	if (setjmp(t->full))
		return end_text(t);
	return demangle(name, options, add_piece, t) && t->len ? end_text(t) : 0;
}

/* Rust first: its older names look like C++ names, and end with a hash. */
size_t elf_demangle(const char *name, char *out, size_t size)
{
	struct text t = { .out = out, .size = size };
	size_t len = 0;

	if (elf_is_mangled(name)) {
		len = demangle_with(rust_demangle_callback, DMGL_NO_OPTS, name, &t);
		if (!len)
			len = demangle_with(cplus_demangle_v3_callback, DMGL_ANSI, name, &t);
	}
	return len ? len : elf_name_copy(name, out, size);
}
