// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* inspector.c - see inspector.h: the calls to the worker. */
#include "target/inspector.h"

#include <errno.h>
#include <string.h>

#include "base/lru.h"
#include "base/util.h"
#include "asyncio/section.h"
#include "memory/reader.h"
#include "target/inspector_shared.h"
#include "target/parser.h"

/* Wait for an answer. If the files need longer, the process is asked about a second later. */
#define ANSWER_MS 200
/* Multiplies the wait while the inspector makes progress: longer than it waits for its parser. */
#define SLOW_TURNS 10

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

static int call_inspector(enum inspector_function f, pid_t about)
{
	return note_answer(wait_on(worker_call(&inspector, f, NULL, ANSWER_MS)), about);
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
static bool has_listed(const struct shared *s)
{
	return inspector.pid && __atomic_load_n(&s->likely.listed, __ATOMIC_ACQUIRE);
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
	err = note_answer(wait_on(worker_call(&inspector, SET_PARSER, fds, ANSWER_MS)), 0);
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
	s->about = about;
	s->owner = owner;
	s->owner_of = 0;
	s->parser = (struct parser_use){ 0 };
	return s;
}

/* The same for a process' proc_living_task(), which is s->task then. NULL: -ESRCH, too. */
static struct shared *ready_for_task(pid_t tgid, int *err)
{
	pid_t task = proc_living_task(tgid);
	struct shared *s = NULL;

	*err = -ESRCH;
	if (task)
		s = ready_for(tgid, inspector_owner(tgid), err);
	if (s)
		s->task = task;
	return s;
}

/* The files are known, or belong to the system. */
static struct shared *inspector_ready(pid_t about, int *err)
{
	return ready_for(about, LRU_OWNER_ROOT, err);
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
	err = call_inspector(INSPECT, who->tgid);
	if (err == -EBUSY || err == -ETIMEDOUT || err == -EUSERS)
		return err;
	if (!inspector.pid)
		return -EBUSY;
	copy = s->inspect.out;
	*out = &copy;
	return inspected_check(&copy, !err) ? err : -EBADMSG;
}

int inspector_mem(const struct file_id *file, pid_t about, uint64_t vaddr, void *buf, size_t len)
{
	int err;
	struct shared *s = inspector_ready(about, &err);

	if (!s || len > PARSER_BYTES_MAX)
		return s ? -E2BIG : err;
	s->mem.file = *file;
	s->mem.vaddr = vaddr;
	s->mem.len = len;
	err = call_inspector(MEM, about);
	if (!err)
		memcpy(buf, s->mem.bytes, len);
	return err;
}

int inspector_learn(pid_t tgid, uint32_t owner, struct learned_exe *out)
{
	int err;
	struct shared *s = ready_for(tgid, owner, &err);

	if (s)
		err = call_inspector(LEARN, tgid);
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
	err = call_inspector(SEEN, who->tgid);
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
	s->likely.about = first;
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

	if (has_begun && !has_listed(s))
		err = end_begun();
	else if (!has_begun && (s = ready_for_likely(0, false, &err)))
		err = call_inspector(LIKELY, 0);
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
	s->names = *c;
	err = call_inspector(NAMES, tgid);
	if (err == -EBUSY || err == -ETIMEDOUT)
		return err;
	*c = s->names;
	container_end_strings(c);
	return err;
}

int inspector_environ(pid_t tgid, struct otel_environ *out)
{
	int err;
	struct shared *s = inspector_ready(tgid, &err);

	memset(out, 0, sizeof(*out));
	if (s)
		err = call_inspector(ENVIRON, tgid);
	if (err)
		return err;
	*out = s->env;
	out->service_name[sizeof(out->service_name) - 1] = '\0';
	out->resource[sizeof(out->resource) - 1] = '\0';
	return 0;
}

int inspector_thread_ctx(pid_t tgid, struct inspected_tls *out)
{
	int err;
	struct shared *s = ready_for_task(tgid, &err);

	if (s)
		err = call_inspector(THREAD_CTX, tgid);
	if (!err)
		*out = s->thread_ctx;
	return err;
}

int inspector_async(pid_t tgid, struct async_layout *out)
{
	int err;
	struct shared *s = ready_for_task(tgid, &err);

	if (s)
		err = call_inspector(ASYNC, tgid);
	if (err)
		return err;
	*out = s->async;
	out->valid = 1;
	return out->task.interp_tasks_head < ASYNCIO_INTERP_BYTES_MAX ? 0 : -EBUSY;
}

int inspector_source(const struct source_wanted *wanted, int timeout_ms, struct buf *text,
		     uint64_t *mtime_ns)
{
	int err;
	struct shared *s = inspector_ready(wanted->tgid, &err);
	uint32_t len;

	if (!s)
		return err;
	s->source.wanted = *wanted;
	err = note_answer(worker_call(&inspector, SOURCE, NULL, timeout_ms), wanted->tgid);
	if (err)
		return err;
	len = __atomic_load_n(&s->source.out.len, __ATOMIC_RELAXED);
	*mtime_ns = s->source.out.mtime_ns;
	return len > INSPECT_SOURCE_BYTES_MAX ? -EBADMSG :
						buf_add(text, s->source.out.text, len);
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
