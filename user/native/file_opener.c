// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * file_opener.c - see file_opener.h.
 *
 * To find a separate debug file it must know which process a file came from: it keeps the places of
 * the files that it passed last.
 */
#include "native/file_opener.h"

#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "elf_helper/elf_start.h"
#include "memory/reader.h"
#include "native/native_wire.h"
#include "native/opener_files.h"
#include "native/opener_maps.h"

/* include/uapi/linux/capability.h, since 5.9; older headers lack it */
#define CAP_CHECKPOINT_RESTORE_BIT 40

#define HELPERS 2
#define PLACES 8192
#define DEBUGS 64

struct passed_place {
	uint32_t file;
	struct elf_place place;	/* tgid 0: none */
	char *path;		/* in our root; NULL: none */
};

/* A debug file that the main process found elsewhere. */
struct given_debug {
	int fd;
	uint32_t id_bytes;	/* 0: none */
	uint8_t id[20];
};

static struct {
	int main, helpers[HELPERS];	/* -1: none */
	struct file_opener_at *at;
	struct passed_place places[PLACES];	/* at file % PLACES */
	struct given_debug debugs[DEBUGS];	/* the last ones */
	unsigned int debug_cnt;
	_Alignas(8) uint8_t data[ELF_WIRE_BYTES];
} self;

static void begin_file(uint32_t about)
{
	__atomic_fetch_add(&self.at->step, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&self.at->about, about, __ATOMIC_RELEASE);
}

static void end_file(void)
{
	__atomic_store_n(&self.at->about, 0, __ATOMIC_RELEASE);
}

/* Sends to main, which takes its messages at least once a second. */
static int send_main_with(const struct elf_message *m, const void *data, int fd)
{
	struct pollfd p = { .fd = self.main, .events = POLLOUT };
	int err;

	while ((err = native_send(self.main, m, data, fd)) == -EAGAIN)
		poll(&p, 1, -1);
	if (err)
		_exit(0);
	return 0;
}

static int send_main(const struct elf_message *m, const void *data)
{
	return send_main_with(m, data, -1);
}

/* Main ends a helper that takes nothing. */
static void send_helper(enum elf_role role, const struct elf_message *m, const void *data, int fd)
{
	if (self.helpers[role] >= 0)
		native_send(self.helpers[role], m, data, fd);
}

/* ---- main's messages ---- */

static void take_helper(const struct elf_message *m, int fd)
{
	const struct elf_message secret = { .kind = PASS_MORE, .bytes = m->bytes };

	if (m->flags >= HELPERS || fd < 0)
		return;
	if (self.helpers[m->flags] >= 0)
		close(self.helpers[m->flags]);
	self.helpers[m->flags] = dup(fd);
	send_helper(m->flags, &secret, self.data, -1);
}

static void pass_file(const struct elf_message *asked, const struct elf_place *place, int fd)
{
	const struct elf_message m = { .kind = PASS_FILE, .file = asked->file,
				       .bytes = sizeof(*place) };

	if (asked->flags & OPEN_FOR_TABLES)
		send_helper(ELF_ROLE_TABLES, &m, place, fd);
	if (asked->flags & OPEN_FOR_NAMES)
		send_helper(ELF_ROLE_NAMES, &m, place, fd);
}

static void remember_place(uint32_t file, const struct elf_place *place, const char *path)
{
	struct passed_place *p = &self.places[file % PLACES];

	free(p->path);
	*p = (struct passed_place){ file, *place, path ? strdup(path) : NULL };
}

static void open_for(const struct elf_message *asked, const struct elf_place *place)
{
	struct elf_message m = { .kind = OPENED, .file = asked->file, .request = asked->request };
	struct elf_opened opened = { 0 };
	int fd;

	begin_file(place->tgid);
	fd = asked->kind == OPENER_MAPPED ? opener_mapped(place, &opened) :
					    opener_perf_map(place, &opened);
	end_file();
	m.result = fd < 0 ? fd : 0;
	m.bytes = fd < 0 ? 0 : sizeof(opened);
	if (fd >= 0) {
		remember_place(asked->file, place, NULL);
		pass_file(asked, place, fd);
		close(fd);
	}
	send_main(&m, &opened);
}

/* Returns a descriptor or -errno; wanted: dev and ino, or 0. */
static int open_path(const struct elf_place *wanted, uint32_t bytes, struct opener_found *found,
		     struct elf_opened *opened)
{
	int fd;

	begin_file(0);
	fd = opener_paths((const char *)self.data + sizeof(*wanted), bytes - sizeof(*wanted),
			  found, opened);
	end_file();
	if (fd < 0 || !wanted->ino || (wanted->ino == found->ino && wanted->dev == found->dev))
		return fd;
	close(fd);
	return -ESTALE;
}

static void open_paths(const struct elf_message *asked)
{
	struct elf_message m = { .kind = asked->file ? OPENED : FOUND, .file = asked->file,
				 .request = asked->request };
	static struct opener_found found;
	struct elf_opened opened;
	struct elf_place wanted;
	int fd;

	memcpy(&wanted, self.data, sizeof(wanted));
	fd = open_path(&wanted, asked->bytes, &found, &opened);
	m.result = fd < 0 ? fd : 0;
	if (fd >= 0 && asked->file) {
		remember_place(asked->file, &wanted, found.path);
		pass_file(asked, &wanted, fd);
		m.bytes = sizeof(opened);
	} else if (fd >= 0) {
		m.bytes = (uint32_t)(offsetof(struct opener_found, path) + strlen(found.path) + 1);
	}
	if (fd >= 0)
		close(fd);
	send_main(&m, asked->file ? (const void *)&opened : &found);
}

/* Passes a file of our own, which has no place. */
static void pass_given(const struct elf_message *asked, int fd)
{
	const struct elf_place none = { 0 };
	const struct elf_opened opened = { 0 };
	const struct elf_message m = { .kind = OPENED, .file = asked->file,
				       .request = asked->request, .bytes = sizeof(opened) };

	pass_file(asked, &none, fd);
	send_main(&m, &opened);
}

static void list_maps(const struct elf_message *asked, const struct elf_place *place)
{
	begin_file(place->tgid);
	opener_maps(asked, place, send_main);
	end_file();
}

static void pass_more(const struct elf_message *m, int fd)
{
	struct elf_message more = *m;

	more.kind = PASS_MORE;
	more.bytes = 0;
	send_helper(ELF_ROLE_TABLES, &more, NULL, fd);
}

static void keep_debug(const struct elf_message *m, int fd)
{
	struct given_debug *d = &self.debugs[self.debug_cnt++ % DEBUGS];

	if (d->id_bytes)
		close(d->fd);
	*d = (struct given_debug){ .fd = dup(fd) };
	d->id_bytes = d->fd < 0 ? 0 : m->bytes;
	memcpy(d->id, self.data, m->bytes);
}

/* Returns a descriptor, or -ENOENT. */
static int find_given(const struct elf_want_debug *want)
{
	const struct given_debug *d;
	int fd = -1;

	for (d = self.debugs; fd < 0 && d < self.debugs + DEBUGS; d++)
		if (d->id_bytes && d->id_bytes == want->id_bytes &&
		    !memcmp(d->id, want->id, d->id_bytes))
			fd = dup(d->fd);
	return fd < 0 ? -ENOENT : fd;
}

static void take_from_main(const struct elf_message *m, int fd)
{
	struct elf_place place = { 0 };

	if (m->bytes == sizeof(place))
		memcpy(&place, self.data, sizeof(place));
	if (m->kind == OPENER_HELPER)
		take_helper(m, fd);
	else if (m->kind == OPENER_PASS && fd >= 0)
		pass_given(m, fd);
	else if (m->kind == OPENER_DEBUG && fd >= 0 && m->bytes <= sizeof(self.debugs[0].id))
		keep_debug(m, fd);
	else if (m->kind == OPENER_CACHED)
		pass_more(m, fd);
	else if ((m->kind == OPENER_MAPPED || m->kind == OPENER_PERF_MAP) && place.tgid)
		open_for(m, &place);
	else if (m->kind == OPENER_PATHS && m->bytes > sizeof(place))
		open_paths(m);
	else if (m->kind == OPENER_MAPS && place.tgid)
		list_maps(m, &place);
}

/* ---- the helpers' messages ---- */

static void want_debug(enum elf_role role, const struct elf_message *asked)
{
	struct elf_message m = { .kind = PASS_MORE, .file = asked->file,
				 .request = asked->request };
	const struct passed_place *p = &self.places[asked->file % PLACES];
	const struct elf_place *place = p->file == asked->file && p->place.tgid ? &p->place : NULL;
	struct elf_want_debug want;
	int fd;

	memcpy(&want, self.data, sizeof(want));
	begin_file(place ? place->tgid : 1);
	fd = opener_debug(place, p->file == asked->file ? p->path : NULL, &want);
	end_file();
	if (fd < 0)
		fd = find_given(&want);
	m.result = fd < 0 ? fd : 0;
	send_helper(role, &m, NULL, fd);
	if (fd >= 0)
		close(fd);
}

/* Tables go to main with TABLE, so the data that the helper wants stored is not needed. */
static void take_from_helper(enum elf_role role, const struct elf_message *m)
{
	if (m->kind == WANT_DEBUG && m->bytes == sizeof(struct elf_want_debug))
		want_debug(role, m);
	else if (m->kind == WANT_CACHE && role == ELF_ROLE_TABLES && m->bytes == 16)
		send_main(m, self.data);
}

/* ---- the loop ---- */

static void drain_main(void)
{
	struct elf_message m;
	int fd, err;

	while (!(err = native_receive(self.main, &m, self.data, &fd))) {
		take_from_main(&m, fd);
		if (fd >= 0)
			close(fd);
	}
	if (err != -EAGAIN)
		_exit(0);
}

/* Takes one message each time: main's come first. */
static void take_helpers(enum elf_role role)
{
	struct elf_message m;
	int fd, err = native_receive(self.helpers[role], &m, self.data, &fd);

	if (!err)
		take_from_helper(role, &m);
	if (fd >= 0)
		close(fd);
	if (err && err != -EAGAIN) {
		close(self.helpers[role]);
		self.helpers[role] = -1;
	}
}

static int open_files(void *shared, const int *fds)
{
	struct pollfd p[1 + HELPERS];
	int i;

	self.at = shared;
	self.main = fds[0];
	for (i = 0; i < HELPERS; i++)
		self.helpers[i] = -1;
	for (;;) {
		p[0] = (struct pollfd){ .fd = self.main, .events = POLLIN };
		for (i = 0; i < HELPERS; i++)
			p[1 + i] = (struct pollfd){ .fd = self.helpers[i], .events = POLLIN };
		if (poll(p, 1 + HELPERS, -1) < 0 && errno != EINTR)
			_exit(1);
		drain_main();
		for (i = 0; i < HELPERS; i++)
			if (p[1 + i].revents && self.helpers[i] >= 0)
				take_helpers(i);
	}
}

static const worker_fn functions[] = { open_files };

static const char *const calls[] = {
	"open", "openat", "openat2", "read", "pread64", "fstat", "newfstatat", "statx", "stat",
	"fstatfs", "readlink", "readlinkat", "access", "faccessat", "faccessat2", "lseek", "dup",
	"poll", "ppoll", "fcntl", NULL,
};

static const struct jail jail = {
	.caps = 1ull << CAP_SYS_PTRACE | 1ull << CAP_DAC_READ_SEARCH |
		1ull << CAP_CHECKPOINT_RESTORE_BIT,
	.calls = calls,
	.memory_bytes = 512u << 20,
};

const struct worker_kind native_opener_kind = {
	.name = "tachbpf-opener",
	.does = "opens files that processes have mapped, for machine code's frames",
	.jail = &jail,
	.functions = functions,
	.function_cnt = ARRAY_SIZE(functions),
	.shared_bytes = 4096,
	.owner = reader_owner,
};
