// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* inspector_worker.c - see inspector.h: the functions that run in the worker, and its jail. */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "memory/reader.h"
#include "target/inspector.h"
#include "target/inspector_shared.h"

/* Limits for reading ahead: executables whose files are read, and processes examined. */
#ifndef AHEAD_EXES
#define AHEAD_EXES 64
#define AHEAD_PROCESSES 256
#endif

/* include/uapi/linux/capability.h, since 5.9; older headers lack it */
#define CAP_CHECKPOINT_RESTORE_BIT 40

/* The worker's cache, created by the first call. New files belong to the process of this one. */
static struct file_cache *the_cache(struct shared *s)
{
	static struct file_cache *cache;

	parser_for(s->about, &s->parser);
	if (!cache)
		cache = file_cache_new();
	if (cache)
		file_cache_set_owner(cache, s->owner);
	if (cache && s->owner_of)
		file_cache_set_process(cache, s->owner_of);
	return cache;
}

static int run_inspect(void *shared, const int *fds)
{
	struct shared *s = shared;
	struct file_cache *c = the_cache(s);

	if (!c)
		return -ENOMEM;
	return inspect_files(c, &s->inspect.who, s->inspect.before, &s->inspect.out);
}

static int run_mem(void *shared, const int *fds)
{
	struct shared *s = shared;
	struct file_cache *c = the_cache(s);
	uint32_t len = s->mem.len;
	int fd = c ? file_cache_fd(c, &s->mem.file, s->about) : -ENOMEM;

	if (fd < 0 || len > sizeof(s->mem.bytes))
		return fd < 0 ? fd : -E2BIG;
	return parser_mem(fd, s->mem.vaddr, s->mem.bytes, len);
}

static int run_learn(void *shared, const int *fds)
{
	struct shared *s = shared;
	struct file_cache *c = the_cache(s);

	return c ? exe_learn_process(c, s->about, &s->learn.out) : -ENOMEM;
}

static int run_seen(void *shared, const int *fds)
{
	struct shared *s = shared;
	struct file_cache *c = the_cache(s);

	if (!c)
		return -ENOMEM;
	return exe_learn_seen(c, &s->learn.who, &s->learn.file, &s->learn.proc, &s->learn.out);
}

/* Bring the process' files into the cache. */
static void read_files_of(struct file_cache *c, pid_t tgid)
{
	static struct inspected unused;
	struct proc_info who;

	if (!proc_info_read(tgid, &who))
		inspect_files(c, &who, 0, &unused);
}

/* State of reading ahead. */
struct ahead {
	struct file_cache *cache;
	struct shared *s;
	size_t looked, cnt;
	struct file_id exes[AHEAD_EXES];
};

/* Returns true if the files of the process' executable were not read ahead so far. */
static bool is_new_exe(struct ahead *a, pid_t tgid)
{
	struct file_id exe;
	char link[32];
	struct stat st;
	size_t i;

	snprintf(link, sizeof(link), "/proc/%d/exe", tgid);
	if (stat(link, &st))
		return false;	/* a kernel thread has none */
	a->looked++;
	exe = file_id_of(&st);
	for (i = 0; i < a->cnt; i++)
		if (file_id_same(&a->exes[i], &exe))
			return false;
	a->exes[a->cnt++] = exe;
	return true;
}

/* proc_each_fn */
static int read_ahead(void *ctx, pid_t tgid)
{
	struct ahead *a = ctx;

	if (a->cnt == AHEAD_EXES || a->looked == AHEAD_PROCESSES ||
	    __atomic_load_n(&a->s->likely.enough, __ATOMIC_RELAXED))
		return 1;
	__atomic_store_n(&a->s->likely.about, tgid, __ATOMIC_RELAXED);
	parser_for(tgid, &a->s->parser);
	file_cache_set_process(a->cache, tgid);
	if (is_new_exe(a, tgid))
		read_files_of(a->cache, tgid);
	return 0;
}

static int run_likely(void *shared, const int *fds)
{
	struct shared *s = shared;
	struct file_cache *c = the_cache(s);
	struct ahead a = { .cache = c, .s = s };

	if (c && s->about)
		read_files_of(c, s->about);
	if (c)
		file_cache_set_owner(c, LRU_OWNER_ROOT);
	parser_for(0, &s->parser);
	s->likely.about = 0;
	s->likely.cnt = c ? exe_learn_likely(c, s->likely.out, LIKELY_MAX) : 0;
	__atomic_store_n(&s->likely.listed, 1, __ATOMIC_RELEASE);
	if (c && s->likely.all) {
		is_new_exe(&a, getpid());	/* exclude our own */
		proc_direct.each(0, read_ahead, &a);
	}
	return c ? 0 : -ENOMEM;
}

static int run_names(void *shared, const int *fds)
{
	struct shared *s = shared;
	struct container c = s->names;
	int err;

	parser_for(s->about, &s->parser);
	err = container_names(&c, container_host_root(), s->about, parser_container);
	s->names = c;
	return err;
}

/* The environment stays here, in memory that is not shared, and only as long as needed. */
static int run_environment(void *shared, const int *fds)
{
	static char text[OTEL_ENVIRON_BYTES_MAX + 1];
	struct shared *s = shared;
	ssize_t n = proc_direct.text(s->about, "environ", text, sizeof(text));

	if (n < 0)
		return n == -ENOENT ? -ESRCH : (int)n;
	otel_environ_find(text, (size_t)n, &s->env);
	explicit_bzero(text, (size_t)n);
	return 0;
}

static int run_thread_ctx(void *shared, const int *fds)
{
	struct shared *s = shared;
	struct file_cache *c = the_cache(s);

	return c ? inspect_thread_ctx(c, s->task, &s->thread_ctx) : -ENOMEM;
}

static int run_async(void *shared, const int *fds)
{
	struct shared *s = shared;
	struct file_cache *c = the_cache(s);

	return c ? inspect_async(c, s->task, &s->async) : -ENOMEM;
}

static int run_source(void *shared, const int *fds)
{
	struct shared *s = shared;
	struct source_wanted wanted = s->source.wanted;

	return inspect_source(&wanted, &s->source.out);
}

static int set_parser(void *shared, const int *fds)
{
	return parser_adopt(fds, ((const struct shared *)shared)->new_parser);
}

static const worker_fn functions[] = {
	[INSPECT] = run_inspect, [MEM] = run_mem, [LEARN] = run_learn, [SEEN] = run_seen,
	[LIKELY] = run_likely, [NAMES] = run_names, [ENVIRON] = run_environment,
	[THREAD_CTX] = run_thread_ctx, [ASYNC] = run_async, [SOURCE] = run_source,
	[SET_PARSER] = set_parser,
};

/* It reads /proc, opens files, and waits for its parser. */
static const char *const calls[] = {
	"open", "openat", "openat2", "read", "pread64", "readlink", "readlinkat", "stat", "lstat",
	"newfstatat", "fstat", "statx", "fstatfs", "access", "faccessat", "faccessat2", "fcntl",
	"lseek", "getdents64", "poll", "ppoll", "getuid", "geteuid", NULL,
};

static const struct jail jail = {
	.caps = 1ull << CAP_SYS_PTRACE | 1ull << CAP_DAC_READ_SEARCH |
		1ull << CAP_CHECKPOINT_RESTORE_BIT,
	.calls = calls,
};

const struct worker_kind inspector_kind = {
	.name = "tachbpf-inspect",
	.does = "opens files of processes: mapped ones, sources, those of container runtimes",
	.jail = &jail,
	.functions = functions,
	.function_cnt = ARRAY_SIZE(functions),
	.shared_bytes = sizeof(struct shared),
	.owner = reader_owner,
};
