// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* elf_serve.c - see elf_serve.h. A file is passed before requests about it. */
#include "elf_helper/elf_serve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/time.h"
#include "base/util.h"
#include "elf/unwind_build.h"
#include "elf_helper/elf_debug.h"
#include "elf_helper/elf_demangle.h"
#include "elf_helper/elf_demangler.h"
#include "elf_helper/elf_limit.h"
#include "elf_helper/elf_methods.h"
#include "elf_helper/elf_needs.h"
#include "elf_helper/elf_opener.h"

/* ---- what names are read from: a passed file's, when they are needed ---- */

/* libdw allocates about twice the bytes of a file's sections. */
#define LINES_FACTOR 2
#define LINES_BYTES_MAX (1u << 30)

struct asker {
	struct elf_opener *opener;
	uint32_t file;
};

static int ask_debug(void *ctx, const struct elf_want_debug *want)
{
	const struct asker *a = ctx;

	return elf_opener_ask(a->opener, WANT_DEBUG, a->file, want, sizeof(*want));
}

static void find_debug(struct elf_opener *o, struct elf_held *h)
{
	struct asker a = { o, h->file };

	if (h->debug_asked)
		return;
	h->debug_asked = true;
	h->debug_fd = elf_debug_file(h->fd, ask_debug, &a);
}

static void read_methods(struct elf_held *h, struct elf_symbols *s)
{
	struct elf_methods m;

	if (!elf_methods_read(&h->elf, &h->segments, &m))
		elf_symbols_add_methods(s, &m);
	elf_methods_free(&m);
}

static void read_parts(const struct elf_held *h, struct elf_symbols *s)
{
	struct elf_parts p;

	if (!elf_parts_read(&h->elf, &p))
		elf_symbols_add_parts(s, &p);
	elf_parts_free(&p);
}

/* .symtab contains .dynsym, and more. */
static void read_symbols(struct elf_opener *o, struct elf_held *h, struct elf_symbols *s)
{
	if (elf_symbols_add(s, h->fd, SHT_SYMTAB) > 0)
		return;
	elf_symbols_add(s, h->fd, SHT_DYNSYM);
	find_debug(o, h);
	if (h->debug_fd >= 0 && elf_symbols_add(s, h->debug_fd, SHT_SYMTAB) > 0)
		return;
	h->lacks_symbols = true;
	h->mini_fd = elf_debug_mini(h->fd);
	if (h->mini_fd >= 0 && elf_symbols_add(s, h->mini_fd, SHT_SYMTAB) > 0)
		return;
	h->partial = true;
	read_methods(h, s);
}

/*
 * Each builds one kind of tables, unless that was tried before, from the file and from those that
 * the opener finds for it. Tables that cannot be read are absent: h->symbols, h->lines, h->perf.
 */
static void elf_load_symbols(struct elf_opener *o, struct elf_held *h)
{
	if (h->symbols_tried)
		return;
	h->symbols_tried = true;
	if (elf_file_open(&h->elf, h->fd) || elf_segments_read(&h->elf, &h->segments))
		memset(&h->segments, 0, sizeof(h->segments));
	h->symbols = elf_symbols_new();
	if (!h->symbols)
		return;
	read_symbols(o, h, h->symbols);
	elf_symbols_sort(h->symbols);
	if (h->partial)
		read_parts(h, h->symbols);
	h->bytes += elf_symbols_bytes(h->symbols);
	elf_files_trim(o->files);
}

static void elf_load_lines(struct elf_opener *o, struct elf_held *h)
{
	struct asker a = { o, h->file };
	uint64_t bytes;
	int fd = h->fd;

	if (h->lines_tried)
		return;
	h->lines_tried = true;
	if (!elf_debug_has(fd, ".debug_info")) {
		find_debug(o, h);
		fd = h->debug_fd;
	}
	bytes = fd >= 0 ? elf_debug_bytes(fd) * LINES_FACTOR : 0;
	if (!bytes || bytes > LINES_BYTES_MAX)
		return;
	h->alt_fd = elf_debug_alt(fd, ask_debug, &a);
	h->lines = elf_lines_new(fd, h->alt_fd);
	h->bytes += bytes;
	elf_files_trim(o->files);
}

static void elf_load_perf(struct elf_opener *o, struct elf_held *h)
{
	if (h->perf_tried)
		return;
	h->perf_tried = true;
	h->perf = perf_map_read(h->fd);
	if (h->perf)
		h->bytes += perf_map_bytes(h->perf);
	elf_files_trim(o->files);
}

#define MATCHES_MAX (ELF_WIRE_BYTES / sizeof(struct elf_match))
/* The functions of one address, with their strings. */
#define ONE_MAX (ELF_INLINED_MAX * (sizeof(struct elf_name) + 2 * ELF_NAME_BYTES))
_Static_assert(ONE_MAX <= ELF_WIRE_BYTES, "the functions of one address fit a message");

/* An answer while it is composed. */
struct answer {
	int fd;
	struct elf_message head;
	uint32_t costly_left;	/* NAMES: how many names may still take too long */
	uint8_t data[ELF_WIRE_BYTES];
};

static void begin_answer(struct answer *a, int fd, uint32_t kind,
			 const struct elf_message *question)
{
	a->fd = fd;
	a->head = (struct elf_message){ .kind = kind, .file = question->file,
					.request = question->request };
}

static int send_answer(struct answer *a, bool more)
{
	int err;

	a->head.more = more;
	err = elf_channel_send(a->fd, &a->head, a->data, -1);
	a->head.cnt = a->head.bytes = 0;
	return err;
}

static void add_bytes(struct answer *a, const void *data, size_t bytes)
{
	memcpy(a->data + a->head.bytes, data, bytes);
	a->head.bytes += (uint32_t)bytes;
}

/* ---- names ---- */

/* The end of a path is more useful than its beginning. */
static size_t cut_path(const char *path, char *out)
{
	size_t len = strlen(path), skip;

	if (len < ELF_NAME_BYTES) {
		memcpy(out, path, len + 1);
		return len;
	}
	skip = len - (ELF_NAME_BYTES - 1) + 3;
	memcpy(out, "...", 3);
	memcpy(out + 3, path + skip, len - skip + 1);
	return ELF_NAME_BYTES - 1;
}

/* As elf_demangler_name(). */
static int readable_name(struct answer *a, const char *name, char *out, size_t size, bool *costly)
{
	int len;

	*costly = !a->costly_left && elf_is_mangled(name);
	if (*costly)
		return (int)elf_name_copy(name, out, size);
	len = elf_demangler_name(name, out, size, costly);
	a->costly_left -= *costly;
	return len;
}

/* Adds one function. name: as in the file; source: NULL: unknown. Returns 0 or -errno. */
static int add_name(struct answer *a, struct elf_name n, const char *name, const char *source)
{
	char text[ELF_NAME_BYTES], path[ELF_NAME_BYTES];
	bool costly;
	int len = readable_name(a, name, text, sizeof(text), &costly);

	if (len < 0)
		return len;
	n.mangled = costly;
	n.name_bytes = (uint16_t)(len + 1);
	n.source_bytes = source && *source ? (uint16_t)(cut_path(source, path) + 1) : 0;
	add_bytes(a, &n, sizeof(n));
	add_bytes(a, text, n.name_bytes);
	add_bytes(a, path, n.source_bytes);
	a->head.cnt++;
	return 0;
}

/* The symbol is the name of the outermost function, so it is the same with and without lines. */
static int add_elf_name(struct answer *a, const struct elf_held *h, uint64_t addr)
{
	char symbol[ELF_MANGLED_BYTES] = "";
	struct elf_name n = { .addr = addr };
	struct elf_line lines[ELF_INLINED_MAX];
	unsigned int cnt = 0, i;
	int err = 0;

	if (!h->symbols || !elf_symbols_find(h->symbols, addr, symbol, &n.start))
		n.start = elf_segments_start(&h->elf, &h->segments, addr);
	if (h->lines)
		cnt = elf_lines_find(h->lines, addr, lines);
	for (i = 0; !err && i + 1 < cnt; i++) {
		n.inlined = 1;
		n.line = lines[i].line;
		err = add_name(a, n, lines[i].name ? lines[i].name : "", lines[i].source);
	}
	n.inlined = 0;
	if (err)
		return err;
	n.line = cnt ? lines[i].line : 0;
	return add_name(a, n, *symbol || !cnt || !lines[i].name ? symbol : lines[i].name,
			cnt ? lines[i].source : NULL);
}

static int add_perf_name(struct answer *a, const struct elf_held *h, uint64_t addr)
{
	struct elf_name n = { .addr = addr };
	char name[ELF_MANGLED_BYTES] = "";

	if (h->perf)
		perf_map_find(h->perf, addr, name, sizeof(name), &n.start);
	return add_name(a, n, name, NULL);
}

static bool is_question(const struct elf_packet *q)
{
	return q->head.cnt <= ELF_NAMES_MAX && q->head.bytes == q->head.cnt * sizeof(uint64_t);
}

/*
 * Sends the answer to the main process's socket. Symbols and lines are read from the file, and from
 * those that the opener finds for it, by the first request that needs them. Returns 0; -EBADMSG: it
 * is no request; another -errno: the answer could not be sent.
 */
static int elf_names_answer(int main_fd, struct elf_opener *o, struct elf_held *h,
			    const struct elf_packet *question)
{
	bool perf = question->head.kind == HELPER_PERF_NAMES;
	const uint64_t *addrs = (const uint64_t *)question->data;
	static struct answer a;
	uint32_t i;
	int err = 0;
	bool lacks;

	if (!is_question(question))
		return -EBADMSG;
	begin_answer(&a, main_fd, NAMES, &question->head);
	a.costly_left = question->head.flags & ELF_MANGLED ? 0 : ELF_COSTLY_MAX;
	if (perf)
		elf_load_perf(o, h);
	else
		elf_load_symbols(o, h);
	if (!perf && question->head.flags & ELF_LINES)
		elf_load_lines(o, h);
	lacks = !perf && (h->lacks_symbols || (question->head.flags & ELF_LINES && !h->lines));
	a.head.flags = lacks ? ELF_LACKS_DEBUG : 0;
	for (i = 0; !err && i < question->head.cnt; i++) {
		if (sizeof(a.data) - a.head.bytes < ONE_MAX)
			err = send_answer(&a, true);
		if (!err)
			err = perf ? add_perf_name(&a, h, addrs[i]) :
				     add_elf_name(&a, h, addrs[i]);
	}
	return err ? err : send_answer(&a, false);
}

/* ---- matches ---- */

/* Returns true if there are cnt patterns, each with its NUL. */
static bool are_patterns(const struct elf_packet *q)
{
	uint32_t cnt = 0, i;

	for (i = 0; i < q->head.bytes; i++)
		cnt += !q->data[i];
	return q->head.bytes && !q->data[q->head.bytes - 1] && cnt == q->head.cnt;
}

static int elf_names_match(int main_fd, struct elf_opener *o, struct elf_held *h,
			   const struct elf_packet *question)
{
	const char *patterns = (const char *)question->data;
	struct elf_match *found = NULL;
	static struct answer a;
	int cnt = 0, i, err = 0;
	bool partial;

	if (!are_patterns(question))
		return -EBADMSG;
	begin_answer(&a, main_fd, MATCHES, &question->head);
	elf_load_symbols(o, h);
	partial = h->symbols && h->partial;
	if (h->symbols)
		cnt = elf_symbols_match(h->symbols, patterns, question->head.cnt, partial, &found);
	if (cnt == -E2BIG) {	/* a large library: what has no name is shown */
		partial = false;
		cnt = elf_symbols_match(h->symbols, patterns, question->head.cnt, false, &found);
	}
	if (cnt < 0)
		a.head.result = cnt;
	a.head.flags = partial ? ELF_PARTIAL : 0;
	for (i = 0; !err && i < cnt; i++) {
		if (a.head.cnt == MATCHES_MAX)
			err = send_answer(&a, true);
		add_bytes(&a, &found[i], sizeof(found[i]));
		a.head.cnt++;
	}
	free(found);
	return err ? err : send_answer(&a, false);
}

/* ---- a file's table ---- */

/* Answers HELPER_TABLE: a file's unwind table, from the cache or built. */

/* A table from the cache is copied: changing the file on disk must not change a mapped table. */

#define CHUNK 65536

static int copy_all(int from, int to, uint64_t bytes)
{
	static uint8_t chunk[CHUNK];
	uint64_t done = 0;
	ssize_t n;
	int err = 0;

	while (!err && done < bytes) {
		n = pread(from, chunk, sizeof(chunk), (off_t)done);
		if (n <= 0)
			return n ? -errno : -ENODATA;
		err = pwrite_all(to, chunk, (size_t)n, done);
		done += (uint64_t)n;
	}
	return err;
}

/* Makes a sealed copy of a file of at most this many bytes; returns -errno on failure. */
static int copy_sealed(int from, uint64_t *bytes)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
	struct stat st;
	int to, err;

	if (fstat(from, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size < (off_t)UNWIND_FILE_HEAD ||
	    st.st_size > (off_t)(UNWIND_FILE_HEAD + UNWIND_FILE_BYTES_MAX))
		return -EBADMSG;
	*bytes = (uint64_t)st.st_size;
	to = memfd_create("table", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (to < 0)
		return -errno;
	err = copy_all(from, to, *bytes);
	if (!err && fcntl(to, F_ADD_SEALS, seals))
		err = -errno;
	if (!err)
		return to;
	close(to);
	return err;
}

static bool is_table(int fd, uint64_t bytes, const uint64_t hash[2])
{
	const struct unwind_file *f = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	bool ok;

	if (f == MAP_FAILED)
		return false;
	ok = unwind_file_is_valid(f, bytes) && !memcmp(f->hash, hash, sizeof(f->hash));
	munmap((void *)f, bytes);
	return ok;
}

static int from_cache(struct elf_opener *o, uint32_t file, const uint64_t hash[2])
{
	int kept = elf_opener_ask(o, WANT_CACHE, file, hash, 2 * sizeof(*hash)), fd;
	uint64_t bytes = 0;

	if (kept < 0)
		return kept;
	fd = copy_sealed(kept, &bytes);
	close(kept);
	if (fd < 0 || is_table(fd, bytes, hash))
		return fd;
	close(fd);
	return -EBADMSG;
}

static int find_or_build(struct elf_opener *o, uint32_t file, const struct elf_file *elf,
			 struct elf_facts *facts)
{
	uint64_t hash[2] = { 0, 0 };
	int fd = -ENOENT, err = unwind_hash(elf, o->secret, hash);

	if (err)
		return err;
	if (o->has_secret)
		fd = from_cache(o, file, hash);
	if (fd >= 0) {
		facts->cached = 1;
		return fd;
	}
	if (fd == -EPIPE)
		return fd;
	fd = unwind_build(elf, hash);
	if (fd >= 0 && o->has_secret)
		elf_opener_store(o, file, hash, fd);
	return fd;
}

/*
 * Fills *facts with what is known of the file, even if there is no table. Returns the table's
 * descriptor, an immutable memfd owned by the caller; -errno of unwind_build(); -ENOEXEC: not an
 * ELF file that we read.
 */
static int elf_tables_make(struct elf_opener *o, const struct elf_held *h, struct elf_facts *facts)
{
	uint64_t begin = now_ns();
	struct elf_segments segments;
	struct elf_file elf;
	int fd, err;

	memset(facts, 0, sizeof(*facts));
	err = elf_file_open(&elf, h->fd);
	if (!err)
		err = elf_segments_read(&elf, &segments);
	if (err)
		return err == -ENOENT ? -ENOEXEC : err;
	elf_facts_fill(&elf, &segments, facts);
	fd = find_or_build(o, h->file, &elf, facts);
	facts->build_us = (uint32_t)((now_ns() - begin) / 1000);
	return fd;
}

/* ---- requests ---- */

static int say_no_file(int main_fd, const struct elf_message *question)
{
	struct elf_message m = { .kind = NO_FILE, .file = question->file,
				 .request = question->request, .result = -ENOENT };

	return elf_channel_send(main_fd, &m, NULL, -1);
}

static int answer_table(int main_fd, struct elf_opener *o, struct elf_held *h,
			const struct elf_packet *question)
{
	struct elf_message m = { .kind = TABLE, .file = question->head.file, .cnt = 1,
				 .request = question->head.request,
				 .bytes = sizeof(struct elf_facts) };
	struct elf_facts facts;
	int fd, err;

	if (question->head.bytes)
		return -EBADMSG;
	fd = elf_tables_make(o, h, &facts);
	m.result = fd < 0 ? fd : 0;
	err = elf_channel_send(main_fd, &m, &facts, fd);
	if (fd >= 0)
		close(fd);
	return err;
}

static int answer_needs(int main_fd, struct elf_opener *o, struct elf_held *h,
			const struct elf_packet *question)
{
	static struct answer a;

	begin_answer(&a, main_fd, NEEDS, &question->head);
	elf_needs_fill(h->fd, &a.head, a.data);
	return send_answer(&a, false);
}

/* Returns 0; -EBADMSG: it is no request; another -errno. */
static int answer_request(int main_fd, struct elf_opener *o, const struct elf_packet *question)
{
	static int (*const answers[])(int main_fd, struct elf_opener *o, struct elf_held *h,
				      const struct elf_packet *question) = {
		[HELPER_TABLE] = answer_table,
		[HELPER_NAMES] = elf_names_answer,
		[HELPER_PERF_NAMES] = elf_names_answer,
		[HELPER_MATCH] = elf_names_match,
		[HELPER_NEEDS] = answer_needs,
	};
	uint32_t kind = question->head.kind;
	struct elf_held *h;
	int err;

	if (kind == HELPER_FORGET || kind == HELPER_REREAD) {
		(kind == HELPER_FORGET ? elf_files_forget : elf_files_reread)(o->files,
									      question->head.file);
		return 0;
	}
	if (kind >= sizeof(answers) / sizeof(answers[0]) || !answers[kind])
		return -EBADMSG;
	h = elf_files_get(o->files, question->head.file);
	if (!h)
		return say_no_file(main_fd, &question->head);
	o->files->busy = h;
	elf_limit_begin(kind == HELPER_TABLE);
	err = answers[kind](main_fd, o, h, question);
	elf_limit_end(kind == HELPER_TABLE);
	o->files->busy = NULL;
	return err;
}

int elf_serve(int main_fd, int opener_fd)
{
	static struct elf_files files;
	static struct elf_packet question;
	struct elf_opener o = { .fd = opener_fd, .files = &files };
	struct pollfd p[2] = { { .fd = main_fd, .events = POLLIN },
			       { .fd = opener_fd, .events = POLLIN } };
	int passed, err = 0;

	while (!err) {
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return -errno;
		err = elf_channel_receive(main_fd, &question, &passed, MSG_DONTWAIT);
		if (passed >= 0)
			close(passed);
		/* Before answering: files that were passed before the request are there. */
		if (!err || err == -EAGAIN) {
			int of_opener = elf_opener_take(&o);

			err = of_opener ? of_opener : err;
		}
		if (!err)
			err = answer_request(main_fd, &o, &question);
		else if (err == -EAGAIN)
			err = 0;
	}
	elf_files_free(&files);
	return err == -EPIPE ? 0 : err;
}
