// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cache_keeper.c - a worker (worker_converse()) that keeps the cache of tables (table_cache.h). It
 * alone writes files as root, and it opens nothing that others name: the main process has given up
 * the former, and the opener and the helpers handle hostile input.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include "base/util.h"
#include "native/native.h"
#include "native/table_cache.h"

/* The directory is pruned after this many new tables. */
#define PRUNE_EVERY 64

static struct {
	int fd, dir;
	unsigned int stored;
	_Alignas(8) uint8_t data[ELF_WIRE_BYTES];
} self;

static void send_answer(const struct elf_message *m, const void *data, int fd)
{
	struct pollfd p = { .fd = self.fd, .events = POLLOUT };
	int err;

	while ((err = native_send(self.fd, m, data, fd)) == -EAGAIN)
		poll(&p, 1, -1);
	if (err)
		_exit(0);
}

/* Workers have given up access to root's files (jail_leave_files()); this one takes it back. */
static void take_files_back(void)
{
	if (geteuid())
		return;
	setfsuid(0);
	setfsgid(0);
}

static void open_cache(const struct elf_message *asked)
{
	struct elf_message m = { .kind = CACHE_READY, .bytes = NATIVE_SECRET_BYTES };
	uint8_t secret[NATIVE_SECRET_BYTES] = { 0 };

	self.data[asked->bytes < sizeof(self.data) ? asked->bytes : sizeof(self.data) - 1] = '\0';
	take_files_back();
	self.dir = table_cache_open((const char *)self.data);
	m.result = self.dir < 0 ? self.dir : table_cache_secret(self.dir, secret);
	if (!m.result)
		table_cache_prune(self.dir, TABLE_CACHE_BYTES, TABLE_CACHE_FILES);
	send_answer(&m, secret, -1);
}

static void send_table(const struct elf_message *asked)
{
	struct elf_message m = *asked;
	uint64_t hash[2];
	int fd;

	memcpy(hash, self.data, sizeof(hash));
	fd = table_cache_find(self.dir, hash);
	m.kind = CACHE_OPENED;
	m.bytes = 0;
	m.result = fd < 0 ? fd : 0;
	send_answer(&m, NULL, fd);
	if (fd >= 0)
		close(fd);
}

static void store_table(int fd)
{
	uint64_t hash[2];

	memcpy(hash, self.data, sizeof(hash));
	if (table_cache_store(self.dir, hash, fd) || ++self.stored % PRUNE_EVERY)
		return;
	table_cache_prune(self.dir, TABLE_CACHE_BYTES, TABLE_CACHE_FILES);
}

static void take_message(const struct elf_message *m, int fd)
{
	if (m->kind == CACHE_BEGIN && self.dir < 0)
		open_cache(m);
	else if (m->kind == CACHE_OPEN && m->bytes == 16)
		send_table(m);
	else if (m->kind == CACHE_STORE && m->bytes == 16 && fd >= 0)
		store_table(fd);
}

static int keep_cache(void *shared, const int *fds)
{
	struct pollfd p = { .fd = fds[0], .events = POLLIN };
	struct elf_message m;
	int err, fd;

	self.fd = fds[0];
	self.dir = -1;
	for (;;) {
		err = native_receive(self.fd, &m, self.data, &fd);
		if (!err)
			take_message(&m, fd);
		if (fd >= 0)
			close(fd);
		if (err == -EAGAIN)
			poll(&p, 1, -1);
		else if (err)
			_exit(0);
	}
}

static const worker_fn functions[] = { keep_cache };

static const char *const calls[] = {
	"open", "openat", "read", "pread64", "write", "fstat", "newfstatat", "statx", "getdents64",
	"mkdir", "mkdirat", "rename", "renameat", "renameat2", "unlink", "unlinkat", "utimensat",
	"fcntl", "lseek", "geteuid", "setfsuid", "setfsgid", "poll", "ppoll",
	"sysinfo",	/* glibc's qsort() asks for the amount of memory */
	NULL,
};

static const struct jail jail = { .calls = calls, .memory_bytes = 256u << 20 };

const struct worker_kind native_cache_kind = {
	.name = "tachbpf-cache",
	.does = "keeps unwind tables on disk",
	.jail = &jail,
	.functions = functions,
	.function_cnt = ARRAY_SIZE(functions),
	.shared_bytes = 4096,
};
