/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fake_parties.h - for tests of user/native: maps in the test's memory, helpers that the test plays
 * itself, and an opener that opens nothing. To be included after cmocka.h, once in a program.
 */
#ifndef TACHBPF_FAKE_PARTIES_H
#define TACHBPF_FAKE_PARTIES_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/util.h"
#include "elf/unwind_file.h"
#include "native/file_opener.h"
#include "native/native_mappings.h"
#include "native/native_state.h"

#define LIMIT_NS 60000000000ull
#define TGID 4711

/* ---- the BPF side's maps ---- */

static struct {
	uint8_t *slabs[NATIVE_SLABS];
	uint32_t slab_cnt;
	struct unwind_table tables[UNWIND_TABLES];
	struct native_place places[2];	/* of TGID and TGID + 1 */
} maps;

static int fake_add_slab(void *ctx, uint32_t slab)
{
	assert_int_equal(slab, maps.slab_cnt);
	maps.slabs[maps.slab_cnt++] = calloc(NATIVE_SLAB_CHUNKS, NATIVE_CHUNK);
	return 0;
}

static uint8_t *chunk_at(uint32_t chunk)
{
	assert_true(chunk / NATIVE_SLAB_CHUNKS < maps.slab_cnt);
	return maps.slabs[chunk / NATIVE_SLAB_CHUNKS] + chunk % NATIVE_SLAB_CHUNKS * NATIVE_CHUNK;
}

static int fake_put_chunk(void *ctx, uint32_t chunk, const void *bytes)
{
	memcpy(chunk_at(chunk), bytes, NATIVE_CHUNK);
	return 0;
}

static int fake_put_table(void *ctx, uint32_t number, const struct unwind_table *table)
{
	assert_in_range(number, 1, UNWIND_TABLES - 1);
	assert_int_not_equal(table->stamp, maps.tables[number].stamp);
	maps.tables[number] = *table;
	return 0;
}

static int fake_put_place(void *ctx, pid_t tgid, const struct native_place *place)
{
	assert_in_range(tgid, TGID, TGID + 1);
	maps.places[tgid - TGID] = *place;
	return 0;
}

static int fake_drop_place(void *ctx, pid_t tgid)
{
	maps.places[tgid - TGID] = (struct native_place){ 0 };
	return 0;
}

/* The mapping at this index of the process' list. */
static inline const struct native_mapping *mapping(pid_t tgid, uint32_t i)
{
	const struct native_place *p = &maps.places[tgid - TGID];

	assert_true(i < p->cnt);
	return (const struct native_mapping *)chunk_at(p->chunk) + i;
}

/* ---- helpers: the test has their ends ---- */

static struct {
	int main, opener;
	unsigned int starts;
} fakes[HELPERS] = { { -1, -1, 0 }, { -1, -1, 0 } };
static _Alignas(8) uint8_t fake_data[ELF_WIRE_BYTES];

int elf_helper_find(char *path, size_t size)
{
	return 0;
}

/* It uses a CPU until it is killed. */
static void fake_work(int sig)
{
	for (;;)
		;
}

int elf_helper_start(enum elf_role role, int main_fd, int opener_fd, pid_t *pid, int *pidfd)
{
	*pid = fork();
	if (!*pid) {
		close_range(3, ~0u, 0);	/* sockets end when the test closes its ends */
		alarm(120);
		signal(SIGUSR1, fake_work);
		pause();
		_exit(0);
	}
	*pidfd = (int)syscall(SYS_pidfd_open, *pid, 0);
	if (fakes[role].main >= 0) {
		close(fakes[role].main);
		close(fakes[role].opener);
	}
	fakes[role].main = dup(main_fd);
	fakes[role].opener = dup(opener_fd);
	fakes[role].starts++;
	return 0;
}

/* The helper ends. */
static inline void fake_end(enum elf_role role)
{
	close(fakes[role].main);
	close(fakes[role].opener);
	fakes[role].main = fakes[role].opener = -1;
}

/* ---- the opener: in a process of its own ---- */

/* Its shared memory: what struct file_opener_at does not need of it is the test's. */
struct fake_opener {
	struct file_opener_at at;
	uint32_t maps_asked, opened;	/* questions */
	uint32_t mtime;			/* of all files */
	uint32_t map_cnt;		/* mappings of the process: of inodes 10, 11 ... */
	uint32_t stuck_at;		/* at this inode it does not answer */
	int32_t error;			/* of opening */
	uint32_t absent;		/* this process has no file where it was mapped */
	uint32_t changed;		/* it has changed the code of this inode */
	uint32_t searched;		/* questions for a file by its paths */
	char paths[1024];		/* of the last one, separated by blanks */
};

static int fake_fd;

static void fake_maps(const struct elf_message *m, const struct fake_opener *o)
{
	struct elf_message to = { .kind = MAPS, .file = m->file, .request = m->request };
	uint32_t i;

	for (i = 0; i < o->map_cnt; i++) {
		const struct opener_map map = {
			.start = 0x10000 * (i + 1), .end = 0x10000 * (i + 1) + 0x8000,
			.offset = 0x1000, .dev = 1, .ino = 10 + i, .path_bytes = 9,
			.flags = o->changed == 10 + i ? OPENER_CHANGED : 0,
		};

		memcpy(fake_data + to.bytes, &map, sizeof(map));
		memcpy(fake_data + to.bytes + sizeof(map), "/libx.so\0\0\0\0\0\0\0", 16);
		fake_data[to.bytes + sizeof(map) + 4] = (uint8_t)('a' + i);
		to.bytes += (uint32_t)sizeof(map) + 16;
		to.cnt++;
	}
	native_send(fake_fd, &to, fake_data, -1);
}

static void fake_open(const struct elf_message *m, struct fake_opener *o)
{
	struct elf_message to = { .kind = OPENED, .file = m->file, .request = m->request,
				  .bytes = sizeof(struct elf_opened), .result = o->error };
	struct elf_opened id = { .size = 1, .mtime_ns = o->mtime };
	struct elf_place place = { 0 };
	struct pollfd never = { .fd = -1 };

	if (m->bytes >= sizeof(place))
		memcpy(&place, fake_data, sizeof(place));
	if (place.tgid && place.tgid == o->absent)
		to.result = -ENOENT;
	id.dev = place.dev;
	id.ino = place.ino;
	o->at.about = place.tgid;
	o->at.step++;
	if (place.ino && place.ino == o->stuck_at)
		poll(&never, 1, -1);
	o->at.about = 0;
	native_send(fake_fd, &to, &id, -1);
}

/* /opt/a.so has inode 10, /opt/b.so 11 ... on device 1; there are no others. */
static void fake_search(const struct elf_message *m, struct fake_opener *o)
{
	struct elf_message to = { .kind = FOUND, .request = m->request, .result = -ENOENT };
	const char *at = (const char *)fake_data + sizeof(struct elf_place);
	const char *end = (const char *)fake_data + m->bytes;
	struct opener_found found = { .dev = 1 };

	o->searched++;
	o->paths[0] = '\0';
	for (; at < end; at += strlen(at) + 1) {
		snprintf(o->paths + strlen(o->paths), sizeof(o->paths) - strlen(o->paths), "%s ",
			 at);
		if (!strncmp(at, "/opt/", 5) && !strcmp(at + 6, ".so") && to.result) {
			to.result = 0;
			found.ino = (uint64_t)(10 + at[5] - 'a');
			strcpy(found.path, at);
		}
	}
	to.bytes = to.result ? 0 : (uint32_t)offsetof(struct opener_found, path) + 11;
	native_send(fake_fd, &to, &found, -1);
}

static int fake_converse(void *shared, const int *fds)
{
	struct pollfd p = { .fd = fds[0], .events = POLLIN };
	struct fake_opener *o = shared;
	struct elf_message m;
	int err, fd;

	fake_fd = fds[0];
	for (;;) {
		poll(&p, 1, -1);
		err = native_receive(fake_fd, &m, fake_data, &fd);
		if (fd >= 0)
			close(fd);
		if (err && err != -EAGAIN)
			_exit(0);
		if (!err && m.kind == OPENER_MAPS) {
			o->maps_asked++;
			fake_maps(&m, o);
		} else if (!err && m.kind == OPENER_PATHS && !m.file) {
			fake_search(&m, o);
		} else if (!err && (m.kind == OPENER_MAPPED || m.kind == OPENER_PASS ||
				    m.kind == OPENER_PATHS)) {
			o->opened++;
			fake_open(&m, o);
		}
	}
}

static const worker_fn fake_functions[] = { fake_converse };
static const char *const fake_calls[] = { "poll", "ppoll", NULL };
static const struct jail fake_jail = { .calls = fake_calls };

const struct worker_kind native_opener_kind = {
	.name = "fake-opener", .does = "opens nothing", .jail = &fake_jail,
	.functions = fake_functions, .function_cnt = 1, .shared_bytes = 4096,
};

static inline struct fake_opener *opener_of(struct native *n)
{
	return n->opener.worker.shared;
}

/* ---- begin and go on ---- */

static const char *fake_debug_urls;
static bool fake_debug_later;

static inline struct native *begin(uint32_t map_cnt, size_t memory_bytes)
{
	const struct native_args args = {
		.debug_urls = fake_debug_urls, .debug_cache = "/nonexistent",
		.debug_later = fake_debug_later,
		.maps = { NULL, fake_add_slab, fake_put_chunk, fake_put_table, fake_put_place,
			  fake_drop_place },
		.memory_bytes = memory_bytes,
	};
	struct native *n;
	uint32_t i;

	for (i = 0; i < maps.slab_cnt; i++)
		free(maps.slabs[i]);
	memset(&maps, 0, sizeof(maps));
	fakes[0].starts = fakes[1].starts = 0;
	n = native_new(&args);
	assert_non_null(n);
	opener_of(n)->map_cnt = map_cnt;
	assert_int_equal(native_begin(n, TGID, 1, 1000, 0), 0);
	return n;
}

static inline void step(struct native *n)
{
	struct pollfd p = { .fd = native_fd(n), .events = POLLIN };

	poll(&p, 1, 100);
	native_poll(n);
}

/* The next question to a helper; the vdso has no table here, and is not asked about. */
static inline struct elf_message question(struct native *n, enum elf_role role)
{
	uint64_t end = now_ns() + LIMIT_NS;
	struct elf_message m, no = { .kind = TABLE, .result = -ENOENT };
	int fd;

	while (now_ns() < end) {
		step(n);
		if (fakes[role].main < 0 || native_receive(fakes[role].main, &m, fake_data, &fd))
			continue;
		if (m.kind == HELPER_FORGET)
			continue;
		if (m.kind != HELPER_TABLE || !n->vdso || m.file != n->vdso->number)
			return m;
		no.file = m.file;
		no.request = m.request;
		native_send(fakes[role].main, &no, NULL, -1);
	}
	fail_msg("no question");
	return m;
}

/* Answer a question. */
static inline void answer(enum elf_role role, const struct elf_message *asked, uint32_t kind,
			  const void *data, uint32_t bytes, uint32_t cnt, int fd)
{
	const struct elf_message m = { .kind = kind, .file = asked->file,
				       .request = asked->request, .bytes = bytes, .cnt = cnt };

	assert_int_equal(native_send(fakes[role].main, &m, data, fd), 0);
	if (fd >= 0)
		close(fd);
}

/* A table of so many rows, in a memfd with these seals. */
static inline int make_table(uint32_t rows, int seals)
{
	int fd = memfd_create("table", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct unwind_file f = { .magic = UNWIND_FILE_MAGIC, .version = UNWIND_FILE_VERSION,
				 .start = 0x1000, .bytes = 0x8000, .row_cnt = rows, .shift = 8 };
	uint64_t parts;

	f.index_at = 2 * rows;
	f.ext_at = (f.index_at + unwind_index_cnt(f.bytes, f.shift) + 3) / 4;
	parts = 16ull * f.ext_at;
	f.total = (parts + NATIVE_CHUNK - 1) / NATIVE_CHUNK * NATIVE_CHUNK;
	assert_int_equal(ftruncate(fd, (off_t)(UNWIND_FILE_HEAD + f.total)), 0);
	assert_int_equal(pwrite(fd, &f, sizeof(f), 0), sizeof(f));
	assert_int_equal(pwrite(fd, "first row", 9, UNWIND_FILE_HEAD), 9);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

#define ALL_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)

static uint8_t fake_build_id;

/* What is true of all files here: one segment, at p_vaddr 0x401000, file offset 0x1000. */
static inline struct elf_facts facts_of(bool python)
{
	struct elf_facts f = { .load_cnt = 1 };

	f.loads[0].off = 0x1000;
	f.loads[0].vaddr = 0x401000;
	f.loads[0].filesz = 0x8000;
	f.plt_start = 0x408000;
	f.plt_end = 0x408100;
	f.build_id_bytes = fake_debug_urls ? sizeof(f.build_id) : 0;
	f.build_id[0] = fake_build_id;
	if (python) {
		f.eval_start = 0x401100;
		f.eval_end = 0x401200;
	}
	return f;
}

/* Answer the next question for a table. Returns the file's number. */
static inline uint32_t give_table(struct native *n, bool python, uint32_t rows)
{
	const struct elf_message m = question(n, ELF_ROLE_TABLES);
	const struct elf_facts facts = facts_of(python);

	assert_int_equal(m.kind, HELPER_TABLE);
	answer(ELF_ROLE_TABLES, &m, TABLE, &facts, sizeof(facts), 1, make_table(rows, ALL_SEALS));
	return m.file;
}

#define STEP_UNTIL(n, condition) do { \
	uint64_t end_ = now_ns() + LIMIT_NS; \
	while (!(condition) && now_ns() < end_) \
		step(n); \
	assert_true(condition); \
} while (0)

#endif
