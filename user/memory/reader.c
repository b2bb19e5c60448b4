// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* reader.c - see reader.h: the functions of the worker, and the calls to them. */
#include "memory/reader_own.h"

#include <errno.h>
#include <linux/capability.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "base/util.h"
#include "cpython/pages.h"
#include "host/proc.h"

/* How long to wait for an answer. A page from a disk takes some ms. */
#define ANSWER_MS 200
/* Without hurry, multiplies the wait while the reader only waits for a CPU. */
#define SLOW_TURNS 10

/* ---- in the worker ---- */

static int read_mem(void *shared, const int *fds)
{
	struct reader_shared *s = shared;
	uint32_t len = s->len;

	return len > READER_BYTES_MAX ? -E2BIG :
		proc_mem_read((void *)(intptr_t)s->tgid, s->addr, s->bytes, len);
}

static int read_file(struct reader_shared *s, proc_read_fn read)
{
	char name[READER_NAME_BYTES];
	uint32_t size = s->len;
	ssize_t n;

	memcpy(name, s->name, sizeof(name));
	name[sizeof(name) - 1] = '\0';
	n = size > READER_BYTES_MAX ? -E2BIG : read(s->tgid, name, (char *)s->bytes, size);
	s->len = n > 0 ? (uint32_t)n : 0;
	return n < 0 ? (int)n : 0;
}

static int read_text(void *shared, const int *fds)
{
	return read_file(shared, proc_direct.text);
}

static int read_whole(void *shared, const int *fds)
{
	return read_file(shared, proc_direct.whole);
}

static int read_link(void *shared, const int *fds)
{
	return read_file(shared, proc_direct.link);
}

static int add_pid(void *ctx, pid_t pid)
{
	struct reader_shared *s = ctx;

	if (s->len + sizeof(pid) > READER_BYTES_MAX)
		return -E2BIG;
	memcpy(s->bytes + s->len, &pid, sizeof(pid));
	s->len += sizeof(pid);
	return 0;
}

static int read_list(void *shared, const int *fds)
{
	struct reader_shared *s = shared;

	s->len = 0;
	return proc_direct.each(s->tgid, add_pid, s);
}

static int take_mapping(void *ctx, const struct proc_map *map)
{
	otel_mappings_take(ctx, map);
	return 0;
}

static int otel_mappings(void *shared, const int *fds)
{
	struct otel_mappings found = { .cnt = 0 };
	struct reader_shared *s = shared;
	int err = proc_maps(s->tgid, take_mapping, &found);

	memcpy(s->bytes, &found, sizeof(found));
	return err == -EFBIG ? 0 : err;
}

_Static_assert(sizeof(struct python_threads) <= READER_BYTES_MAX, "an answer fits");

/* The input is in s->bytes, which the output replaces. */
static int python_threads(void *shared, const int *fds)
{
	static struct python_threads found;
	static struct pages pages;
	struct reader_shared *s = shared;
	const struct target_mem direct = { proc_mem_read, (void *)(intptr_t)s->tgid };
	const struct target_mem mem = { pages_read, &pages };
	struct python_threads_at at;
	int err;

	pages_begin(&pages, &direct);
	memcpy(&at, s->bytes, sizeof(at));
	err = python_threads_read(&mem, &at, &found);
	memcpy(s->bytes, &found,
	       offsetof(struct python_threads, list) + found.cnt * sizeof(found.list[0]));
	return found.cnt ? 0 : err;
}

_Static_assert(BLOCK_LOOKS_MAX * sizeof(struct block_place) <= READER_BYTES_MAX, "questions fit");
_Static_assert(BLOCK_LOOKS_MAX * sizeof(struct block_words) <= READER_BYTES_MAX, "answers fit");

/* len places, which are replaced by what was read of them. */
static int read_blocks(void *shared, const int *fds)
{
	static struct block_place places[BLOCK_LOOKS_MAX];
	static struct block_words found[BLOCK_LOOKS_MAX];
	struct reader_shared *s = shared;
	const struct target_mem mem = { proc_mem_read, (void *)(intptr_t)s->tgid };
	uint32_t cnt = s->len;

	if (cnt > BLOCK_LOOKS_MAX)
		return -E2BIG;
	memcpy(places, s->bytes, cnt * sizeof(places[0]));
	block_words_read(&mem, places, cnt, found);
	memcpy(s->bytes, found, cnt * sizeof(found[0]));
	return 0;
}

static const worker_fn functions[] = {
	[READ_MEM] = read_mem, [READ_TEXT] = read_text, [READ_LINK] = read_link,
	[READ_LIST] = read_list, [OTEL_MAPPINGS] = otel_mappings,
	[PYTHON_THREADS] = python_threads,
	[BLOCKS] = read_blocks, [TASK_LISTS] = reader_run_task_lists,
	[TASKS] = reader_run_tasks, [ASYNC_HOMES] = reader_run_async_homes,
	[TASK_CHAIN] = reader_run_task_chain, [LOOP_STATES] = reader_run_loop_states,
	[READ_WHOLE] = read_whole,
};

static const char *const calls[] = {
	"process_vm_readv", "open", "openat", "read", "readlink", "readlinkat", "getdents64",
	"fstat", "newfstatat", "fcntl", "lseek", NULL,
};

static const struct jail jail = {
	.caps = 1ull << CAP_SYS_PTRACE,
	.calls = calls,
	.memory_bytes = 256u << 20,
};

const struct worker_kind reader_kind = {
	.name = "tachbpf-reader",
	.does = "reads processes' memory, and what of /proc is not for everybody",
	.jail = &jail,
	.functions = functions,
	.function_cnt = ARRAY_SIZE(functions),
	.shared_bytes = sizeof(struct reader_shared),
	.owner = reader_owner,
};

/* ---- in the program ---- */

uint32_t reader_owner(pid_t tgid)
{
	uint32_t uid;

	return tgid && !proc_euid(tgid, &uid) ? uid : 0;
}

static struct worker reader = { .kind = &reader_kind };

void reader_prepare(void)
{
	if (worker_ready(&reader, 0))
		log_debug("the reader cannot be started yet");
}

/* Give up the reader. If it only waited for a CPU, the process is not blamed. */
static void give_up(pid_t tgid)
{
	bool is_slow = worker_is_runnable(&reader);

	log_debug("process %d: it cannot be read in time%s", tgid,
		  is_slow ? ": the machine is busy" : "");
	worker_give_up(&reader, tgid, !is_slow);
}

int reader_call(enum reader_function f, pid_t tgid, bool hurry)
{
	int err = worker_call(&reader, f, NULL, ANSWER_MS), turns = 0;

	while (err == -ETIMEDOUT && !hurry && ++turns < SLOW_TURNS &&
	       worker_is_runnable(&reader))
		err = worker_wait(&reader, ANSWER_MS);
	if (err == -ETIMEDOUT)
		give_up(tgid);
	return err == -ETIMEDOUT || err == -EPIPE ? -EBUSY : err;
}

int reader_mem(pid_t tgid, uint64_t addr, size_t len, bool hurry, const void **bytes)
{
	struct reader_shared *s;
	int err;

	if (len > READER_BYTES_MAX)
		return -E2BIG;
	err = worker_ready(&reader, tgid);
	if (err)
		return err == -ETIMEDOUT || err == -EUSERS ? -EBUSY : err;
	s = reader.shared;
	s->tgid = tgid;
	s->addr = addr;
	s->len = len;
	*bytes = s->bytes;
	return reader_call(READ_MEM, tgid, hurry);
}

struct reader_shared *reader_shared_for(pid_t tgid, const char *name, size_t size)
{
	struct reader_shared *s;

	if (worker_ready(&reader, tgid))
		return NULL;
	s = reader.shared;
	s->tgid = tgid;
	s->len = size < READER_BYTES_MAX ? size : READER_BYTES_MAX;
	strncpy(s->name, name, READER_NAME_BYTES - 1);
	return s;
}

/* Copy what was found, at most size - 1 bytes, and NUL-terminate it. */
static ssize_t take_file(const struct reader_shared *s, char *out, size_t size)
{
	size_t len = s->len;

	if (len > READER_BYTES_MAX)
		len = 0;
	if (len >= size)
		len = size - 1;
	memcpy(out, s->bytes, len);
	out[len] = '\0';
	return (ssize_t)len;
}

static ssize_t ask_for_file(enum reader_function f, pid_t tgid, const char *name, char *out,
			    size_t size)
{
	struct reader_shared *s = reader_shared_for(tgid, name, size);
	int err = s ? reader_call(f, tgid, false) : -EBUSY;

	return err ? err : take_file(s, out, size);
}

/* With hidepid, /proc does not show us processes that we may not trace. */
static bool hidden;

/* The part of name after "task/TID/"; NULL: name has another form. */
static const char *of_task(const char *name)
{
	size_t prefix = strlen("task/"), digits;

	if (strncmp(name, "task/", prefix))
		return name;
	digits = strspn(name + prefix, "0123456789");
	return digits && name[prefix + digits] == '/' ? name + prefix + digits + 1 : name;
}

/*
 * The kernel answers these immediately, and to all who see the process. A thousand threads have a
 * thousand names, and a round trip to the reader costs about 40 us.
 */
static bool is_open(const char *name)
{
	static const char *const names[] = { "stat", "status", "cgroup", "comm" };
	const char *file = of_task(name);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(file, names[i]))
			return !hidden;
	return false;
}

static ssize_t text_by_reader(pid_t tgid, const char *name, char *out, size_t size)
{
	return !tgid || is_open(name) ? proc_direct.text(tgid, name, out, size) :
		ask_for_file(READ_TEXT, tgid, name, out, size);
}

static ssize_t link_by_reader(pid_t tgid, const char *name, char *out, size_t size)
{
	return ask_for_file(READ_LINK, tgid, name, out, size);
}

static ssize_t whole_by_reader(pid_t tgid, const char *name, char *out, size_t size)
{
	return ask_for_file(READ_WHOLE, tgid, name, out, size);
}

static int each_by_reader(pid_t tgid, proc_each_fn cb, void *ctx)
{
	struct reader_shared *s;
	pid_t *pids = NULL;
	size_t cnt, i;
	int err;

	if (!hidden)
		return proc_direct.each(tgid, cb, ctx);
	s = reader_shared_for(tgid, "", 0);
	err = s ? reader_call(READ_LIST, tgid, false) : -EBUSY;
	cnt = err ? 0 : s->len / sizeof(pid_t);
	if (cnt > READER_BYTES_MAX / sizeof(pid_t))
		return -E2BIG;
	if (cnt)
		pids = malloc(cnt * sizeof(pid_t));
	if (cnt && !pids)
		return -ENOMEM;
	if (cnt)	/* the callback may call the reader */
		memcpy(pids, s->bytes, cnt * sizeof(pid_t));
	for (i = 0; !err && i < cnt; i++)
		err = cb(ctx, pids[i]);
	free(pids);
	return err;
}

int reader_otel_mappings(pid_t tgid, bool hurry, struct otel_mappings *out)
{
	struct reader_shared *s = reader_shared_for(tgid, "", 0);
	int err = s ? reader_call(OTEL_MAPPINGS, tgid, hurry) : -EBUSY;

	if (!err)
		memcpy(out, s->bytes, sizeof(*out));
	/* The reader may be compromised. */
	if (err || out->cnt > OTEL_MAPPINGS_MAX)
		out->cnt = 0;
	return err;
}

int reader_python_threads(pid_t tgid, const struct python_threads_at *at, bool hurry,
			  const struct python_threads **out)
{
	/* A copy: what has been checked cannot change any more. */
	static struct python_threads copy;
	struct reader_shared *s = reader_shared_for(tgid, "", 0);
	uint32_t i;
	int err;

	if (!s)
		return -EBUSY;
	memcpy(s->bytes, at, sizeof(*at));
	err = reader_call(PYTHON_THREADS, tgid, hurry);
	if (err)
		return err;
	memcpy(&copy, s->bytes, sizeof(copy));
	/* The reader may be compromised. */
	if (copy.cnt > PYTHON_THREADS_MAX)
		return -EBADMSG;
	for (i = 0; i < copy.cnt; i++)
		utf8_repair(copy.list[i].name, sizeof(copy.list[i].name));
	*out = &copy;
	return 0;
}

int reader_blocks(pid_t tgid, const struct block_place *places, size_t cnt, bool hurry,
		  struct block_words *out)
{
	struct reader_shared *s = reader_shared_for(tgid, "", 0);
	int err;

	if (!s || cnt > BLOCK_LOOKS_MAX)
		return s ? -E2BIG : -EBUSY;
	memcpy(s->bytes, places, cnt * sizeof(*places));
	s->len = (uint32_t)cnt;
	err = reader_call(BLOCKS, tgid, hurry);
	if (!err)
		memcpy(out, s->bytes, cnt * sizeof(*out));
	return err;
}

void reader_reads_proc(void)
{
	static const struct proc_source by_reader = {
		.text = text_by_reader, .link = link_by_reader, .each = each_by_reader,
		.whole = whole_by_reader,
	};

	hidden = access("/proc/1/stat", R_OK);
	proc_set_source(&by_reader);
}

pid_t reader_pid(void)
{
	return reader.pid;
}

void reader_end(void)
{
	worker_end(&reader);
}
