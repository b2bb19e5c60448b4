// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* parser.c - see parser.h: the functions of the worker, and the calls to them. */
#include "target/parser.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "base/util.h"
#include "asyncio/section.h"
#include "cpython/libc.h"
#include "elf/elf.h"
#include "elf/elf_link.h"
#include "host/container_files.h"
#include "host/otel_signs.h"
#include "memory/reader.h"

/*
 * Duration of a turn, and limits on turns: in general, and while the parser waits for a CPU or a
 * disk, or computes. Both waits are shorter than that of the inspector's client, so the inspector
 * survives.
 */
#define TURN_MS 50
#define IDLE_TURNS 3
#define SLOW_TURNS 30
/* Many calls can be short, and take long in total. */
#define BRIEF_NS 5000000ull
enum function {
	IMAGE, MEM, SELF_BELOW, DESCRIBE, LIBRARY, CONTAINER, THREAD_CTX, ASYNC, FUNCTIONS, SDT,
};

struct shared {
	union {
		struct {
			struct cpython_image image;
			char why[256];
		} image;
		struct {
			uint64_t vaddr;
			uint32_t len;
			uint8_t bytes[PARSER_BYTES_MAX];
		} mem;
		uint16_t self_below;
		struct {
			bool with_lib;
			struct py_proc proc;
			struct py_exe exe;
		} describe;
		struct exe_library library;
		struct {
			enum container_file what;
			struct container c;
		} container;
		struct elf_tls tls;
		struct async_tasks_layout tasks;
		struct {
			uint32_t cnt;
			char names[PARSER_FUNCTIONS_MAX][PARSER_FUNCTION_BYTES];
			uint64_t offsets[PARSER_FUNCTIONS_MAX];
		} functions;
		struct {
			char provider[PARSER_FUNCTION_BYTES], name[PARSER_FUNCTION_BYTES];
			struct elf_sdt_place places[ELF_SDT_PLACES_MAX];
			uint32_t cnt;
		} sdt;
	};
};

/* ---- in the worker ---- */

static int run_image(void *shared, const int *fds)
{
	struct shared *s = shared;

	return cpython_image_read(fds[0], &s->image.image, s->image.why, sizeof(s->image.why));
}

static int run_mem(void *shared, const int *fds)
{
	struct shared *s = shared;
	uint32_t len = s->mem.len;
	struct elf_file f;
	int err = elf_file_open(&f, fds[0]);

	if (!err && len > sizeof(s->mem.bytes))
		err = -E2BIG;
	return err ? err : elf_file_read(&f, s->mem.vaddr, s->mem.bytes, len);
}

static int self_below(void *shared, const int *fds)
{
	struct shared *s = shared;

	return libc_self_below(fds[0], &s->self_below);
}

static int run_describe(void *shared, const int *fds)
{
	struct shared *s = shared;
	struct py_exe out = { .proc = s->describe.proc };
	bool with_lib = s->describe.with_lib;
	struct elf_file exe, lib;
	int err = elf_file_open(&exe, fds[0]);

	out.proc.state = PY_PROC_OTHER;
	if (!err)
		err = elf_link_phdrs(&exe, &out.phdr);
	if (!err && with_lib)
		err = elf_file_open(&lib, fds[1]);
	if (!err && with_lib)
		err = elf_link_slot(&exe, &lib, &out.slot, &out.symbol);
	if (!err && with_lib)
		err = elf_link_identity(&lib, &out.id_at, out.id, sizeof(out.id));
	s->describe.exe = out;
	return err;
}

static int run_library(void *shared, const int *fds)
{
	struct shared *s = shared;
	struct elf_file f;
	int err = elf_file_open(&f, fds[0]);

	if (!err)
		err = elf_link_needed(&f, "libpython", s->library.name, sizeof(s->library.name));
	if (!err)
		elf_link_runpath(&f, s->library.runpath, sizeof(s->library.runpath));
	return err;
}

static int run_container(void *shared, const int *fds)
{
	struct shared *s = shared;
	struct container c = s->container.c;
	bool found = container_file_parse(s->container.what, fds[0], &c);

	s->container.c = c;
	return found ? 0 : -ENOENT;
}

static int thread_ctx(void *shared, const int *fds)
{
	struct shared *s = shared;
	struct elf_tls found;
	struct elf_file f;
	int err = elf_file_open(&f, fds[0]);

	if (!err)
		err = elf_tls_find(&f, OTEL_THREAD_CTX_SYMBOL, &found);
	if (!err)
		s->tls = found;
	return err;
}

static int run_async(void *shared, const int *fds)
{
	struct async_tasks_layout found;
	struct shared *s = shared;
	struct elf_file f;
	int err = elf_file_open(&f, fds[0]);

	if (!err)
		err = asyncio_section_read(&f, &found);
	if (!err)
		s->tasks = found;
	return err;
}

/* The names are private to this worker: nobody else can overwrite them. */
static int find_functions(void *shared, const int *fds)
{
	const char *names[PARSER_FUNCTIONS_MAX];
	struct shared *s = shared;
	struct elf_file f;
	uint32_t i;
	int err = elf_file_open(&f, fds[0]);

	if (!err && s->functions.cnt > PARSER_FUNCTIONS_MAX)
		err = -E2BIG;
	for (i = 0; !err && i < s->functions.cnt; i++)
		names[i] = s->functions.names[i];
	if (!err)
		err = elf_functions_find(&f, names, s->functions.offsets, s->functions.cnt);
	return err;
}

/* As with find_functions(). */
static int find_sdt(void *shared, const int *fds)
{
	struct elf_sdt_place places[ELF_SDT_PLACES_MAX];
	struct shared *s = shared;
	struct elf_file f;
	uint32_t cnt = 0;
	int err = elf_file_open(&f, fds[0]);

	if (!err)
		err = elf_sdt_find(&f, s->sdt.provider, s->sdt.name, places, &cnt);
	memcpy(s->sdt.places, places, cnt * sizeof(*places));
	s->sdt.cnt = cnt;
	return err;
}

static const worker_fn functions[] = {
	[IMAGE] = run_image, [MEM] = run_mem, [SELF_BELOW] = self_below, [DESCRIBE] = run_describe,
	[LIBRARY] = run_library, [CONTAINER] = run_container,
	[THREAD_CTX] = thread_ctx, [ASYNC] = run_async, [FUNCTIONS] = find_functions,
	[SDT] = find_sdt,
};
static const char *const calls[] = { "pread64", "read", "fstat", "newfstatat", NULL };
static const struct jail jail = { .calls = calls, .memory_bytes = 128u << 20 };

const struct worker_kind parser_kind = {
	.name = "tachbpf-parser",
	.does = "reads ELF files and JSON; opens nothing",
	.jail = &jail,
	.functions = functions,
	.function_cnt = ARRAY_SIZE(functions),
	.shared_bytes = sizeof(struct shared),
	.owner = reader_owner,
};

/* ---- in its client ---- */

static struct worker parser = { .kind = &parser_kind };
static bool adopted;
static pid_t whose;
static struct parser_use nobody_looks, *use = &nobody_looks;

int parser_adopt(const int fds[WORKER_FDS_MAX], pid_t pid)
{
	adopted = true;
	return worker_adopt(&parser, fds, pid);
}

void parser_for(pid_t about, struct parser_use *its_use)
{
	whose = about;
	use = its_use;
}

/* NULL: there is no parser at the moment; this says nothing about the file. */
static struct shared *parser_ready(int *err)
{
	if (adopted)
		*err = parser.pid ? 0 : -EBUSY;
	else
		*err = worker_ready(&parser, whose) ? -EBUSY : 0;
	return *err ? NULL : parser.shared;
}

/*
 * Returns true if the parser makes progress. A call that has read from a disk waits for it: the
 * file is not on a file system that a process serves, so the data will come. disk_before:
 * worker_disk_bytes() then.
 */
static bool makes_progress(uint64_t disk_before)
{
	bool progress = worker_is_runnable(&parser) || worker_disk_bytes(&parser) > disk_before;

	use->beats += progress;
	return progress;
}

/* Wait as long as it makes progress. As worker_call(). */
static int call_and_wait(enum function f, const int *fds)
{
	uint64_t disk_before = worker_disk_bytes(&parser), began = now_ns();
	int err = worker_call(&parser, f, fds, TURN_MS), turns = 0, idle = 0;

	while (err == -ETIMEDOUT && ++turns < SLOW_TURNS) {
		idle = makes_progress(disk_before) ? 0 : idle + 1;
		if (idle == IDLE_TURNS)
			break;
		err = worker_wait(&parser, TURN_MS);
	}
	if (err != -ETIMEDOUT && now_ns() - began > BRIEF_NS)
		makes_progress(disk_before);
	return err;
}

static int call_parser(enum function f, int fd, int fd2)
{
	const int fds[WORKER_FDS_MAX] = { fd, fd2 };
	int err = call_and_wait(f, fds);

	if (err != -ETIMEDOUT && err != -EPIPE)
		return err;
	use->lost = 1;
	if (adopted)
		worker_end(&parser);
	else if (err == -ETIMEDOUT)
		worker_give_up(&parser, whose, true);
	return -EBUSY;
}

int parser_image(int fd, struct cpython_image *img, char *why, size_t why_size)
{
	int err;
	struct shared *s = parser_ready(&err);

	why[0] = '\0';
	if (s)
		err = call_parser(IMAGE, fd, -1);
	if (!s || err == -EBUSY)
		return err;
	*img = s->image.image;
	img->version[sizeof(img->version) - 1] = '\0';
	snprintf(why, why_size, "%.*s", (int)sizeof(s->image.why) - 1, s->image.why);
	return err;
}

int parser_mem(int fd, uint64_t vaddr, void *buf, size_t len)
{
	int err;
	struct shared *s = parser_ready(&err);

	if (!s || len > PARSER_BYTES_MAX)
		return s ? -E2BIG : err;
	s->mem.vaddr = vaddr;
	s->mem.len = len;
	err = call_parser(MEM, fd, -1);
	if (!err)
		memcpy(buf, s->mem.bytes, len);
	return err;
}

int parser_self_below(int fd, uint16_t *below)
{
	int err;
	struct shared *s = parser_ready(&err);

	if (s)
		err = call_parser(SELF_BELOW, fd, -1);
	if (s && !err)
		*below = s->self_below;
	return err;
}

int parser_describe(int exe_fd, int lib_fd, const struct py_proc *proc, struct py_exe *out)
{
	int err;
	struct shared *s = parser_ready(&err);

	if (!s)
		return err;
	s->describe.with_lib = lib_fd >= 0;
	s->describe.proc = *proc;
	err = call_parser(DESCRIBE, exe_fd, lib_fd);
	if (!err)
		*out = s->describe.exe;
	return err;
}

int parser_library(int exe_fd, struct exe_library *out)
{
	int err;
	struct shared *s = parser_ready(&err);

	if (s)
		err = call_parser(LIBRARY, exe_fd, -1);
	if (err)
		return err;
	*out = s->library;
	out->name[sizeof(out->name) - 1] = '\0';
	out->runpath[sizeof(out->runpath) - 1] = '\0';
	return 0;
}

bool parser_container(enum container_file what, int fd, struct container *c)
{
	int err;
	struct shared *s = parser_ready(&err);

	if (!s)
		return false;
	s->container.what = what;
	s->container.c = *c;
	if (call_parser(CONTAINER, fd, -1))
		return false;
	*c = s->container.c;
	container_end_strings(c);
	return true;
}

int parser_thread_ctx(int fd, struct elf_tls *out)
{
	int err;
	struct shared *s = parser_ready(&err);

	if (s)
		err = call_parser(THREAD_CTX, fd, -1);
	if (s && !err)
		*out = s->tls;
	return err;
}

int parser_async(int fd, struct async_tasks_layout *out)
{
	int err;
	struct shared *s = parser_ready(&err);

	if (s)
		err = call_parser(ASYNC, fd, -1);
	if (s && !err)
		*out = s->tasks;
	return err;
}

int parser_functions(int fd, const char *const *names, uint64_t *offsets, uint32_t cnt)
{
	int err;
	struct shared *s = parser_ready(&err);
	uint32_t i;

	if (!s || cnt > PARSER_FUNCTIONS_MAX)
		return s ? -E2BIG : err;
	s->functions.cnt = cnt;
	for (i = 0; i < cnt; i++)
		snprintf(s->functions.names[i], PARSER_FUNCTION_BYTES, "%s", names[i]);
	err = call_parser(FUNCTIONS, fd, -1);
	if (!err)
		memcpy(offsets, s->functions.offsets, cnt * sizeof(*offsets));
	return err;
}

int parser_sdt(int fd, const char *provider, const char *name,
	       struct elf_sdt_place places[ELF_SDT_PLACES_MAX], uint32_t *cnt)
{
	int err;
	struct shared *s = parser_ready(&err);

	*cnt = 0;
	if (!s)
		return err;
	snprintf(s->sdt.provider, sizeof(s->sdt.provider), "%s", provider);
	snprintf(s->sdt.name, sizeof(s->sdt.name), "%s", name);
	err = call_parser(SDT, fd, -1);
	if (err)
		return err;
	*cnt = s->sdt.cnt < ELF_SDT_PLACES_MAX ? s->sdt.cnt : ELF_SDT_PLACES_MAX;
	memcpy(places, s->sdt.places, *cnt * sizeof(*places));
	return 0;
}
