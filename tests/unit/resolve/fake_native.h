/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fake_native.h - in place of the room native, for who links a test: what addresses mean is in
 * fake_native, and nothing comes later unless a test says so.
 *
 * File 1 is libfoo.so.1: the function at 0x1000 N has the name "fN". File 2 is libpython3.so: its
 * functions are named as their class, which is the address's lowest hexadecimal digit. File 0 is
 * JIT code, file 3 the vdso.
 */
#ifndef TACHBPF_TESTS_FAKE_NATIVE_H
#define TACHBPF_TESTS_FAKE_NATIVE_H

#include <errno.h>
#include <stdio.h>

#include "native/native.h"

struct native {
	bool later;		/* names are not there yet */
	bool unknown;		/* the interpreter's functions are not known yet */
	bool nameless;		/* there are no names */
	bool changed;		/* all code was changed */
	bool lines;		/* source and line; at 0x1000 N with N > 99, three functions */
	const char *name;	/* of all functions; NULL: see above */
	uint32_t asked;		/* calls of native_name() */
	uint32_t stale;		/* calls of native_stale() */
	uint32_t renewed;	/* what native_renewed() returns */
	uint32_t used[4];	/* calls of native_used(), by file */
	bool built;		/* libfoo's build id is known */
	char text[64];
};

static struct native fake_native;

/* The lowest bits of an address in file 2. */
static enum native_class class_at(uint64_t addr)
{
	uint64_t class = addr & 7;

	return class > NATIVE_UNNAMED ? NATIVE_CODE : (enum native_class)class;
}

bool native_class(const struct native *n, pid_t tgid, uint32_t file, uint64_t addr,
		  enum native_class *class)
{
	*class = file == 2 && !n->unknown ? class_at(addr) : NATIVE_CODE;
	return file && !n->unknown;
}

bool native_changed(const struct native *n, pid_t tgid, const struct raw_native_frame *frames,
		    uint32_t cnt)
{
	return n->changed;
}

void native_stale(struct native *n, pid_t tgid)
{
	n->stale++;
}

uint32_t native_renewed(const struct native *n)
{
	return n->renewed;
}

void native_used(struct native *n, uint32_t file)
{
	n->used[file & 3]++;
}

const struct native_file *native_file(const struct native *n, uint32_t file)
{
	static struct native_file foo = {
		.path = "/usr/lib/libfoo\x1b.so.1", .library = "libfoo.so.1",
		.build_id = { 0xab, 0xcd, 0xef },
	};

	foo.build_id_bytes = n->built ? 3 : 0;
	return file == 1 ? &foo : NULL;
}

int native_name(struct native *n, pid_t tgid, uint32_t file, uint64_t addr,
		struct native_name *out)
{
	static const char *const libraries[] = { "JIT", "libfoo.so.1", "libpython3.so", "[vdso]" };
	static const char *const classes[] = { "code", "eval", "plumbing", "start",
					       "unnamed" };
	uint32_t i;

	n->asked++;
	*out = (struct native_name){ .library = libraries[file > 3 ? 0 : file], .cnt = 1 };
	out->functions[0].name = n->text;
	snprintf(n->text, sizeof(n->text), "%s+0x%llx", out->library, (unsigned long long)addr);
	if (n->later)
		return -EAGAIN;
	if (n->nameless)
		return -ENOENT;
	snprintf(n->text, sizeof(n->text), "f%u", (unsigned int)(addr >> 12));
	if (file == 2)
		out->functions[0].name = classes[class_at(addr)];
	if (n->name)
		out->functions[0].name = n->name;
	if (!n->lines)
		return 0;
	out->functions[0].source = "src/foo.c";
	out->functions[0].line = (uint32_t)(addr & 0xfff);
	for (i = 1; addr >> 12 > 99 && i < 3; i++) {
		out->functions[i] = (struct native_function){ i == 1 ? "mid" : "outer", "b.c", 7 };
		out->cnt = i + 1;
	}
	return 0;
}

#endif
