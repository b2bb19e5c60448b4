// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* native_expect.c - see native_expect.h. */
#include "native/native_expect.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "elf/library_search.h"
#include "native/native_files.h"
#include "native/native_parties.h"
#include "native/native_queues.h"

/* The files count as used for this time: until the program has mapped them. */
#define EXPECTED_NS (10 * NS_PER_S)

/* ---- searches ---- */

/* A search's data is that of OPENER_PATHS. All its paths end with the same name: */
static const char *name_of(const struct buf *search)
{
	const char *path = (const char *)search->data + sizeof(struct elf_place);
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Returns true if a file of this name was searched before: libc is needed by all. */
static bool is_known(const struct expected *e, const char *name)
{
	uint32_t i;

	for (i = 0; i < e->search_cnt; i++)
		if (!strcmp(name_of(&e->searches[i]), name))
			return true;
	return false;
}

/* Takes a search, whose paths are in the order in which they are tried. */
static void add_search(struct native *n, struct buf *search)
{
	struct expected *e = &n->expected;

	if (!search->len || e->search_cnt >= EXPECTED_MAX || is_known(e, name_of(search))) {
		buf_free(search);
		return;
	}
	e->searches[e->search_cnt++] = *search;
	n->more = true;
}

/* Without memory, a search has fewer paths, or none. */
static int add_path(void *ctx, const char *path)
{
	const struct elf_place none = { 0 };
	size_t bytes = strlen(path) + 1;
	struct buf *search = ctx;

	if (buf_reserve(search, sizeof(none) + bytes) ||
	    search->len + sizeof(none) + bytes > ELF_WIRE_BYTES)
		return -ENOENT;
	if (!search->len)
		buf_add(search, &none, sizeof(none));
	buf_add(search, path, bytes);
	return -ENOENT;		/* the others, too */
}

int native_expect(struct native *n, const char *path)
{
	struct buf search = { 0 };

	add_path(&search, path);
	add_search(n, &search);
	n->expected.until_ns = now_ns() + EXPECTED_NS;
	return n->expected.search_cnt ? 0 : -ENOMEM;
}

static void search_library(struct native *n, const struct file *f, const char *runpath,
			   const char *name)
{
	const char *first = getenv("LD_LIBRARY_PATH");
	struct buf search = { 0 };

	library_search(runpath, f->info.path, name, add_path, &search);
	if (first && *first)
		library_search(first, f->info.path, name, add_path, &search);
	add_search(n, &search);
}

/* ---- files ---- */

static bool is_expected(const struct expected *e, const struct file *f)
{
	uint32_t i;

	for (i = 0; i < e->file_cnt && e->files[i] != f; i++)
		continue;
	return i < e->file_cnt;
}

static void expect_file(struct native *n, struct file *f)
{
	struct expected *e = &n->expected;

	if (e->file_cnt >= EXPECTED_MAX || is_expected(e, f))
		return;
	e->files[e->file_cnt++] = f;
	f->refs++;
	if (!f->at_names || !f->confirmed)
		file_push(n, QUEUE_OPEN, f);
	file_push(n, QUEUE_NEEDS, f);
}

static void forget_all(struct native *n)
{
	struct expected *e = &n->expected;
	uint32_t i;

	for (i = 0; i < e->file_cnt; i++)
		file_leave(e->files[i]);
	for (i = 0; i < e->search_cnt; i++)
		buf_free(&e->searches[i]);
	*e = (struct expected){ 0 };
}

void expect_found(struct native *n, const struct elf_message *m)
{
	const struct opener_found *found = (const void *)n->data;
	struct expected *e = &n->expected;
	struct file *f;

	if (!e->request || m->request != e->request)
		return;
	e->request = 0;
	e->next++;
	if (m->result || m->bytes <= offsetof(struct opener_found, path) ||
	    n->data[m->bytes - 1] || !found->ino)
		return;
	f = files_get(n, found->dev, found->ino, found->path);
	if (!f)
		return;
	if (!f->place.tgid)
		f->place = (struct elf_place){ .dev = f->dev, .ino = f->ino };
	expect_file(n, f);
}

int expect_needs(struct native *n, const struct file *f, const struct elf_message *m)
{
	const char *at = (const char *)n->data, *end = at + m->bytes, *runpath = "";
	struct buf linker = { 0 };
	uint32_t i;

	if (m->cnt > ELF_NEEDS_MAX || (m->cnt && (!m->bytes || end[-1])))
		return -EBADMSG;
	for (i = 0; i < m->cnt; i++, at += strlen(at) + 1) {
		if (at >= end)
			return -EBADMSG;
		if (i == 0 && *at == '/')
			add_path(&linker, at);
		if (i == 1)
			runpath = at;
		if (i >= 2)
			search_library(n, f, runpath, at);
	}
	add_search(n, &linker);
	return 0;
}

/* ---- the poll ---- */

void expect_ask(struct native *n)
{
	struct expected *e = &n->expected;
	struct elf_message m = { .kind = OPENER_PATHS };

	if (e->until_ns && n->now >= e->until_ns)
		forget_all(n);
	if (e->request || e->next >= e->search_cnt || opener_ready(n, 0))
		return;
	m.bytes = (uint32_t)e->searches[e->next].len;
	if (!opener_ask(n, &m, e->searches[e->next].data, -1))
		e->request = m.request;
}

void expect_lost(struct native *n)
{
	n->expected.next += n->expected.request != 0;
	n->expected.request = 0;
}

bool expect_waits(const struct native *n)
{
	return n->expected.next < n->expected.search_cnt || file_waits(n, QUEUE_NEEDS) ||
	       (n->helpers[ELF_ROLE_NAMES].request &&
		n->helpers[ELF_ROLE_NAMES].kind == HELPER_NEEDS);
}

void expect_free(struct native *n)
{
	forget_all(n);
}
