// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* elf_opener.c - see elf_opener.h. */
#include "elf_helper/elf_opener.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/time.h"
#include "base/util.h"

/* ---- the files ---- */

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Free the file's tables and the further files that they were made of. */
static void elf_files_drop_tables(struct elf_held *h)
{
	elf_symbols_free(h->symbols);
	elf_lines_free(h->lines);
	perf_map_free(h->perf);
	close_fd(&h->debug_fd);
	close_fd(&h->mini_fd);
	close_fd(&h->alt_fd);
	h->symbols = NULL;
	h->lines = NULL;
	h->perf = NULL;
	h->lacks_symbols = false;
	h->symbols_tried = h->lines_tried = h->perf_tried = h->debug_asked = false;
	h->bytes = 0;
}

static void let_go(struct elf_held *h)
{
	elf_files_drop_tables(h);
	close_fd(&h->fd);
	h->file = 0;
}

static struct elf_held *find_file(struct elf_files *f, uint32_t file)
{
	struct elf_held *h;

	for (h = f->held; h < f->held + ELF_FILES_MAX; h++)
		if (h->file == file)
			return h;
	return NULL;
}

/* Returns a free slot, or that of the least recently used file. */
static struct elf_held *make_place(struct elf_files *f)
{
	struct elf_held *h, *oldest = NULL;

	for (h = f->held; h < f->held + ELF_FILES_MAX; h++) {
		if (!h->file)
			return h;
		if (h != f->busy && (!oldest || h->used < oldest->used))
			oldest = h;
	}
	let_go(oldest);
	return oldest;
}

/*
 * Takes ownership of the descriptor as the file of this number; replaces another file with the
 * number.
 */
static void elf_files_put(struct elf_files *f, uint32_t file, int fd)
{
	struct elf_held *h = file ? find_file(f, file) : NULL;

	if (!file || (h && h == f->busy)) {
		close(fd);
		return;
	}
	if (h)
		let_go(h);
	else
		h = make_place(f);
	memset(h, 0, sizeof(*h));
	h->file = file;
	h->fd = fd;
	h->debug_fd = h->mini_fd = h->alt_fd = -1;
	h->used = ++f->clock;
}

struct elf_held *elf_files_get(struct elf_files *f, uint32_t file)
{
	struct elf_held *h = file ? find_file(f, file) : NULL;

	if (h)
		h->used = ++f->clock;
	return h;
}

void elf_files_forget(struct elf_files *f, uint32_t file)
{
	struct elf_held *h = file ? find_file(f, file) : NULL;

	if (h && h != f->busy)
		let_go(h);
}

void elf_files_reread(struct elf_files *f, uint32_t file)
{
	struct elf_held *h = file ? find_file(f, file) : NULL;

	if (h && h != f->busy)
		elf_files_drop_tables(h);
}

void elf_files_free(struct elf_files *f)
{
	struct elf_held *h;

	for (h = f->held; h < f->held + ELF_FILES_MAX; h++)
		if (h->file)
			let_go(h);
}

void elf_files_trim(struct elf_files *f)
{
	struct elf_held *h, *oldest;
	size_t sum;

	for (;;) {
		oldest = NULL;
		sum = 0;
		for (h = f->held; h < f->held + ELF_FILES_MAX; h++) {
			sum += h->bytes;
			if (h->bytes && h != f->busy && (!oldest || h->used < oldest->used))
				oldest = h;
		}
		if (sum <= ELF_FILES_TABLE_BYTES || !oldest)
			return;
		elf_files_drop_tables(oldest);
	}
}

static int close_passed(int passed, int err)
{
	if (passed >= 0)
		close(passed);
	return err;
}

/*
 * Takes one message; *answer: the descriptor that answers the last request, or -ENOENT: none.
 * Answers to earlier requests are ignored. Returns 1: it was the answer; 0; or -errno.
 */
static int take_one(struct elf_opener *o, int *answer)
{
	static struct elf_packet p;
	int passed, err = elf_channel_receive(o->fd, &p, &passed, MSG_DONTWAIT);

	if (err)
		return err;
	if (p.head.kind == PASS_FILE) {
		if (passed < 0 || !p.head.file)	/* or we have too many open files */
			return close_passed(passed, 0);
		elf_files_put(o->files, p.head.file, passed);
		return 0;
	}
	if (p.head.kind != PASS_MORE)
		return close_passed(passed, -EBADMSG);
	if (!p.head.file) {
		if (p.head.bytes != ELF_SECRET_BYTES)
			return close_passed(passed, -EBADMSG);
		memcpy(o->secret, p.data, ELF_SECRET_BYTES);
		o->has_secret = true;
		return close_passed(passed, 0);
	}
	if (!answer || p.head.request != o->request)
		return close_passed(passed, 0);
	*answer = passed >= 0 ? passed : -ENOENT;
	return 1;
}

int elf_opener_take(struct elf_opener *o)
{
	int err;

	while (!(err = take_one(o, NULL)))
		;
	return err == -EAGAIN ? 0 : err;
}

static int wait_answer(struct elf_opener *o)
{
	uint64_t end = now_ns() + ELF_OPENER_WAIT_MS * 1000000ull, now;
	struct pollfd p = { .fd = o->fd, .events = POLLIN };
	int answer = -ENOENT, err;

	while ((now = now_ns()) < end) {
		if (poll(&p, 1, (int)((end - now) / 1000000) + 1) < 0 && errno != EINTR)
			return -errno;
		err = take_one(o, &answer);
		if (err == 1)
			return answer;
		if (err && err != -EAGAIN)
			return err;
	}
	return -ETIMEDOUT;
}

int elf_opener_ask(struct elf_opener *o, uint32_t kind, uint32_t file, const void *data,
		   size_t bytes)
{
	struct elf_message m = { .kind = kind, .file = file, .request = ++o->request,
				 .bytes = (uint32_t)bytes };
	int err = elf_channel_send(o->fd, &m, data, -1);

	return err ? err : wait_answer(o);
}

int elf_opener_store(struct elf_opener *o, uint32_t file, const uint64_t hash[2], int table)
{
	struct elf_message m = { .kind = STORE_CACHE, .file = file, .request = ++o->request,
				 .bytes = 2 * sizeof(*hash) };

	return elf_channel_send(o->fd, &m, hash, table);
}
