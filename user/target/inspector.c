// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* inspector.c - see inspector.h: the functions of the worker, and the calls to them. */
#include "target/inspector.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/lru.h"
#include "base/util.h"
#include "cpython/asyncio_section.h"
#include "memory/reader.h"
#include "target/parser.h"

/*
 * How long to wait for an answer. If the files need longer, the process is asked about again a
 * second later.
 */
#define ANSWER_MS 200
/* Multiplies the wait while the inspector makes progress: longer than it waits for its parser. */
#define SLOW_TURNS 10
#define LIKELY_MAX 256
/* Limits for reading ahead: executables whose files are read, and processes examined. */
#ifndef AHEAD_EXES
#define AHEAD_EXES 64
#define AHEAD_PROCESSES 256
#endif

/* include/uapi/linux/capability.h, since 5.9; older headers lack it */
#define CAP_CHECKPOINT_RESTORE_BIT 40

enum function { INSPECT, MEM, LEARN, SEEN, LIKELY, NAMES, ENVIRON, THREAD_CTX, ASYNC,
		SET_PARSER };

struct shared {
	uint32_t owner;			/* user of the files that are read for the first time, */
	pid_t owner_of;			/* unless it is this process' user; 0: no process */
	struct parser_use parser;
	union {
		struct {
			struct proc_info who;
			uint64_t before;
			struct inspected out;
		} inspect;
		struct {
			pid_t about;
			struct file_id file;
			uint64_t vaddr;
			uint32_t len;
			uint8_t bytes[PARSER_BYTES_MAX];
		} mem;
		struct {
			struct proc_info who;
			struct file_id file;
			struct py_proc proc;
			struct learned_exe out;
		} learn;
		struct {
			pid_t first;
			bool all;		/* then read the files of running processes */
			uint32_t listed;	/* not 0: cnt and out are complete */
			uint32_t enough;	/* not 0: the program waits, begin no other */
			pid_t about;		/* process whose files are being read; 0: none */
			uint32_t cnt;
			struct learned_exe out[LIKELY_MAX];
		} likely;
		struct {
			pid_t tgid;
			struct container c;
		} names;
		struct {
			pid_t tgid;
			struct otel_environ out;
		} env;
		struct {
			pid_t tgid, task;
			struct inspected_tls out;
		} thread_ctx;
		struct {
			pid_t tgid, task;
			struct async_layout out;
		} async;
		pid_t new_parser;
	};
};

/* ---- in the worker ---- */

/* The worker's cache, created by the first call. */
static struct file_cache *the_cache(const struct shared *s)
{
	static struct file_cache *cache;

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
	struct proc_info who = s->inspect.who;

	parser_for(who.tgid, &s->parser);
	return c ? inspect_files(c, &who, s->inspect.before, &s->inspect.out) : -ENOMEM;
}

static int run_mem(void *shared, const int *fds)
{
	struct shared *s = shared;
	struct file_cache *c = the_cache(s);
	struct file_id file = s->mem.file;
	uint32_t len = s->mem.len;
	int fd;

	parser_for(s->mem.about, &s->parser);
	fd = c ? file_cache_fd(c, &file, s->mem.about) : -ENOMEM;
	if (fd < 0 || len > sizeof(s->mem.bytes))
		return fd < 0 ? fd : -E2BIG;
	return parser_mem(fd, s->mem.vaddr, s->mem.bytes, len);
}

static int run_learn(void *shared, const int *fds)
{
	struct shared *s = shared;
	struct file_cache *c = the_cache(s);

	parser_for(s->learn.who.tgid, &s->parser);
	return c ? exe_learn_process(c, s->learn.who.tgid, &s->learn.out) : -ENOMEM;
}

static int run_seen(void *shared, const int *fds)
{
	struct shared *s = shared;
	struct file_cache *c = the_cache(s);
	struct proc_info who = s->learn.who;
	struct file_id file = s->learn.file;
	struct py_proc proc = s->learn.proc;

	parser_for(who.tgid, &s->parser);
	return c ? exe_learn_seen(c, &who, &file, &proc, &s->learn.out) : -ENOMEM;
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
	struct {
		dev_t dev;
		ino_t ino;
	} exes[AHEAD_EXES];
};

/* Returns true if the files of the process' executable were not read ahead so far. */
static bool is_new_exe(struct ahead *a, pid_t tgid)
{
	char link[32];
	struct stat st;
	size_t i;

	snprintf(link, sizeof(link), "/proc/%d/exe", tgid);
	if (stat(link, &st))
		return false;	/* a kernel thread has none */
	a->looked++;
	for (i = 0; i < a->cnt; i++)
		if (a->exes[i].dev == st.st_dev && a->exes[i].ino == st.st_ino)
			return false;
	a->exes[a->cnt].dev = st.st_dev;
	a->exes[a->cnt++].ino = st.st_ino;
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

	parser_for(s->likely.first, &s->parser);
	if (c && s->likely.first)
		read_files_of(c, s->likely.first);
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
	struct container c = s->names.c;
	int err;

	parser_for(s->names.tgid, &s->parser);
	err = container_names(&c, container_host_root(), s->names.tgid, parser_container);
	s->names.c = c;
	return err;
}

/* The environment stays here, in memory that is not shared, and only as long as needed. */
static int run_environment(void *shared, const int *fds)
{
	static char text[OTEL_ENVIRON_BYTES_MAX + 1];
	struct shared *s = shared;
	struct otel_environ found;
	ssize_t n = proc_direct.text(s->env.tgid, "environ", text, sizeof(text));

	if (n < 0)
		return n == -ENOENT ? -ESRCH : (int)n;
	otel_environ_find(text, (size_t)n, &found);
	explicit_bzero(text, (size_t)n);
	s->env.out = found;
	return 0;
}

static int thread_ctx(void *shared, const int *fds)
{
	struct shared *s = shared;
	struct file_cache *c = the_cache(s);
	struct inspected_tls found;
	int err = -ENOMEM;

	parser_for(s->thread_ctx.tgid, &s->parser);
	if (c)
		err = inspect_thread_ctx(c, s->thread_ctx.task, &found);
	if (!err)
		s->thread_ctx.out = found;
	return err;
}

static int run_async(void *shared, const int *fds)
{
	struct shared *s = shared;
	struct file_cache *c = the_cache(s);
	struct async_layout found;
	int err = -ENOMEM;

	parser_for(s->async.tgid, &s->parser);
	if (c)
		err = inspect_async(c, s->async.task, &found);
	if (!err)
		s->async.out = found;
	return err;
}

static int set_parser(void *shared, const int *fds)
{
	const struct shared *s = shared;

	return parser_adopt(fds, s->new_parser);
}

static const worker_fn functions[] = {
	[INSPECT] = run_inspect, [MEM] = run_mem, [LEARN] = run_learn, [SEEN] = run_seen,
	[LIKELY] = run_likely, [NAMES] = run_names, [ENVIRON] = run_environment,
	[THREAD_CTX] = thread_ctx, [ASYNC] = run_async,
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
	.does = "opens files that processes have mapped, and those of container runtimes",
	.jail = &jail,
	.functions = functions,
	.function_cnt = ARRAY_SIZE(functions),
	.shared_bytes = sizeof(struct shared),
	.owner = reader_owner,
};

/* ---- in the program ---- */

static struct worker inspector = { .kind = &inspector_kind };
/* The inspector uses it while it runs; it ends with the inspector. */
static struct worker parser = { .kind = &parser_kind };
/* inspector_begin_likely() was called, and its end was not waited for so far. */
static bool has_begun;

uint32_t inspector_owner(pid_t tgid)
{
	uint32_t uid;

	return proc_euid(tgid, &uid) ? LRU_OWNER_UNKNOWN : uid;
}

/* Returns true if the inspector only waits for a CPU, or its parser for a CPU or a disk. */
static bool makes_progress(uint32_t *beats)
{
	const struct shared *s = inspector.shared;
	uint32_t before = *beats;

	*beats = __atomic_load_n(&s->parser.beats, __ATOMIC_RELAXED);
	return *beats != before || worker_is_runnable(&inspector);
}

/* Wait for the inspector as long as it makes progress. err: of the call. As worker_call(). */
static int wait_on(int err)
{
	uint32_t beats = 0;
	int turns = 0;

	while (err == -ETIMEDOUT && ++turns < SLOW_TURNS && makes_progress(&beats))
		err = worker_wait(&inspector, ANSWER_MS);
	return err;
}

/*
 * Evaluate how a call has ended: the process' file did not answer, so the inspector waits for it,
 * or has waited for its parser until it gave up; or one of them has ended.
 */
static int note_answer(int err, pid_t about)
{
	const struct shared *s = inspector.shared;
	bool lost = inspector.pid && __atomic_load_n(&s->parser.lost, __ATOMIC_RELAXED);

	if (err == -ETIMEDOUT)
		worker_give_up(&inspector, about, true);
	if (parser.pid && (lost || !inspector.pid))
		worker_give_up(&parser, about, lost);
	if (err && lost)
		return -ETIMEDOUT;
	return err == -EPIPE ? -EBUSY : err;
}

static int call_inspector(enum function f, pid_t about, const int *fds)
{
	return note_answer(wait_on(worker_call(&inspector, f, fds, ANSWER_MS)), about);
}

/* Make inspector_begin_likely() end soon, and wait for that. Returns its result. */
static int end_begun(void)
{
	struct shared *s = inspector.shared;
	int err;

	has_begun = false;
	if (!inspector.pid)
		return -EBUSY;
	__atomic_store_n(&s->likely.enough, 1, __ATOMIC_RELAXED);
	err = wait_on(worker_wait(&inspector, ANSWER_MS));
	return note_answer(err, inspector.pid ?
				__atomic_load_n(&s->likely.about, __ATOMIC_RELAXED) : 0);
}

/* Returns true if it has found all likely interpreters. It may still be reading ahead. */
static bool has_listed(void)
{
	const struct shared *s = inspector.shared;

	return has_begun && inspector.pid &&
	       __atomic_load_n(&s->likely.listed, __ATOMIC_ACQUIRE);
}

/* Start the inspector and its parser, unless they run. As worker_ready(). */
static int start_for(pid_t about)
{
	int err = worker_ready(&inspector, about), fds[WORKER_FDS_MAX];
	bool had = parser.pid;
	struct shared *s = inspector.shared;

	if (!err)
		err = worker_ready(&parser, about);
	if (err || had)
		return err;
	worker_descriptors(&parser, fds);
	s->parser = (struct parser_use){ 0 };
	s->new_parser = parser.pid;
	err = call_inspector(SET_PARSER, 0, fds);
	if (err && parser.pid)
		worker_end(&parser);
	return err ? -EBUSY : 0;
}

static struct shared *ready_for(pid_t about, uint32_t owner, int *err)
{
	struct shared *s;

	if (has_begun)
		end_begun();
	*err = start_for(about);
	if (*err)
		return NULL;
	s = inspector.shared;
	s->owner = owner;
	s->owner_of = 0;
	s->parser = (struct parser_use){ 0 };
	return s;
}

/* The files are known, or belong to the system. */
static struct shared *inspector_ready(pid_t about, int *err)
{
	return ready_for(about, LRU_OWNER_ROOT, err);
}

/* Make sure that the inspector's answer, which may be forged, has the documented form. */
static bool check_inspected(struct inspected *i, bool found)
{
	uint32_t n;

	i->why[sizeof(i->why) - 1] = '\0';
	if (i->python_cnt > INSPECT_PYTHONS_MAX || i->otel.cnt > OTEL_MAPPINGS_MAX ||
	    (found && !i->python_cnt))
		return false;
	for (n = 0; n < i->python_cnt; n++) {
		struct inspected_python *p = &i->pythons[n];

		p->name[sizeof(p->name) - 1] = '\0';
		p->image.version[sizeof(p->image.version) - 1] = '\0';
	}
	return true;
}

int inspector_inspect(const struct proc_info *who, uint64_t before, const struct inspected **out)
{
	/* A copy: what has been checked cannot change any more. */
	static struct inspected copy;
	int err;
	struct shared *s = inspector_ready(who->tgid, &err);

	if (!s)
		return err;
	s->owner_of = who->tgid;
	s->inspect.who = *who;
	s->inspect.before = before;
	err = call_inspector(INSPECT, who->tgid, NULL);
	if (err == -EBUSY || err == -ETIMEDOUT || err == -EUSERS)
		return err;
	if (!inspector.pid)
		return -EBUSY;
	copy = s->inspect.out;
	*out = &copy;
	return check_inspected(&copy, !err) ? err : -EBADMSG;
}

int inspector_mem(const struct file_id *file, pid_t about, uint64_t vaddr, void *buf, size_t len)
{
	int err;
	struct shared *s = inspector_ready(about, &err);

	if (!s || len > PARSER_BYTES_MAX)
		return s ? -E2BIG : err;
	s->mem.about = about;
	s->mem.file = *file;
	s->mem.vaddr = vaddr;
	s->mem.len = len;
	err = call_inspector(MEM, about, NULL);
	if (!err)
		memcpy(buf, s->mem.bytes, len);
	return err;
}

int inspector_learn(pid_t tgid, uint32_t owner, struct learned_exe *out)
{
	int err;
	struct shared *s = ready_for(tgid, owner, &err);

	if (!s)
		return err;
	s->learn.who = (struct proc_info){ .tgid = tgid };
	err = call_inspector(LEARN, tgid, NULL);
	if (!err)
		*out = s->learn.out;
	return err;
}

int inspector_seen(const struct proc_info *who, uint32_t owner, const struct file_id *image,
		   const struct py_proc *proc, struct learned_exe *out)
{
	int err;
	struct shared *s = ready_for(who->tgid, owner, &err);

	if (!s)
		return err;
	s->learn.who = *who;
	s->learn.file = *image;
	s->learn.proc = *proc;
	err = call_inspector(SEEN, who->tgid, NULL);
	if (!err)
		*out = s->learn.out;
	return err;
}

static struct shared *ready_for_likely(pid_t first, bool all, int *err)
{
	struct shared *s = first ? ready_for(first, inspector_owner(first), err) :
				   inspector_ready(0, err);

	if (!s)
		return NULL;
	s->likely.first = s->likely.about = first;
	s->likely.all = all;
	s->likely.listed = s->likely.enough = 0;
	return s;
}

void inspector_begin_likely(pid_t first, bool all)
{
	int err;

	if (ready_for_likely(first, all, &err))
		has_begun = worker_call(&inspector, LIKELY, NULL, 0) == -ETIMEDOUT;
}

int inspector_likely(const struct learned_exe **out, size_t *cnt)
{
	struct shared *s = inspector.shared;
	uint32_t found;
	int err = 0;

	if (has_begun && !has_listed())
		err = end_begun();
	else if (!has_begun && (s = ready_for_likely(0, false, &err)))
		err = call_inspector(LIKELY, 0, NULL);
	if (err)
		return err;
	found = __atomic_load_n(&s->likely.cnt, __ATOMIC_RELAXED);
	*out = s->likely.out;
	*cnt = found < LIKELY_MAX ? found : LIKELY_MAX;
	return 0;
}

int inspector_names(struct container *c, pid_t tgid)
{
	int err;
	struct shared *s = inspector_ready(tgid, &err);

	if (!s)
		return err;
	s->names.tgid = tgid;
	s->names.c = *c;
	err = call_inspector(NAMES, tgid, NULL);
	if (err == -EBUSY || err == -ETIMEDOUT)
		return err;
	*c = s->names.c;
	container_end_strings(c);
	return err;
}

int inspector_environ(pid_t tgid, struct otel_environ *out)
{
	int err;
	struct shared *s = inspector_ready(tgid, &err);

	memset(out, 0, sizeof(*out));
	if (s) {
		s->env.tgid = tgid;
		err = call_inspector(ENVIRON, tgid, NULL);
	}
	if (err)
		return err;
	*out = s->env.out;
	out->service_name[sizeof(out->service_name) - 1] = '\0';
	out->resource[sizeof(out->resource) - 1] = '\0';
	return 0;
}

int inspector_thread_ctx(pid_t tgid, struct inspected_tls *out)
{
	pid_t task = proc_living_task(tgid);
	int err;
	struct shared *s = task ? ready_for(tgid, inspector_owner(tgid), &err) : NULL;

	if (!s)
		return task ? err : -ESRCH;
	s->thread_ctx.tgid = tgid;
	s->thread_ctx.task = task;
	err = call_inspector(THREAD_CTX, tgid, NULL);
	if (!err)
		*out = s->thread_ctx.out;
	return err;
}

int inspector_async(pid_t tgid, struct async_layout *out)
{
	pid_t task = proc_living_task(tgid);
	int err;
	struct shared *s = task ? ready_for(tgid, inspector_owner(tgid), &err) : NULL;

	if (!s)
		return task ? err : -ESRCH;
	s->async.tgid = tgid;
	s->async.task = task;
	err = call_inspector(ASYNC, tgid, NULL);
	if (err)
		return err;
	*out = s->async.out;
	out->valid = 1;
	return out->task.interp_tasks_head < ASYNCIO_INTERP_BYTES_MAX ? 0 : -EBUSY;
}

bool inspector_is_worker(const struct proc_info *who)
{
	const pid_t ours[] = { keeper_pid(), reader_pid(), inspector.pid };
	size_t i;

	/* The keeper's children include the parser, and workers that were given up. */
	for (i = 0; i < ARRAY_SIZE(ours); i++)
		if (ours[i] && (who->tgid == ours[i] || who->stat.ppid == ours[i]))
			return true;
	return false;
}

void inspector_end(void)
{
	has_begun = false;
	worker_end(&inspector);
	worker_end(&parser);
}
