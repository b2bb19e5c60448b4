// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* look_worker.c - see look_worker.h: the function of the worker, and the calls to it. */
#include "look/look_worker.h"

#include <linux/capability.h>
#include <string.h>

#include "base/util.h"
#include "look/look_locals.h"
#include "look/look_locks.h"
#include "memory/reader.h"
#include "resolve/process.h"

/* How long to wait for an answer about a batch of threads: some 0.02 ms each. */
#define ANSWER_MS 500
/* The same for all locks, or all variables, of a process. */
#define LOCKS_MS 3000
#define LOCALS_MS 3000
#define BATCH 64

enum function { DETAILS, LOCKS, LOCALS };

struct details {
	int32_t tgid;
	bool kernel;		/* the kernel's functions, too */
	uint32_t cnt;
	struct look_thread threads[BATCH];
};

/* Shared by both sides; only for a request and its answer. */
union shared {
	struct details details;
	struct look_locks locks;
	struct look_locals_answer locals;
};

static int answer_details(void *shared, const int *fds)
{
	struct details *s = shared;
	uint32_t i;

	for (i = 0; i < s->cnt && i < BATCH; i++) {
		look_thread_detail(&s->threads[i], s->tgid);
		if (s->kernel && !s->threads[i].moved)
			look_thread_kernel(&s->threads[i], s->tgid);
	}
	return 0;
}

static int answer_locks(void *shared, const int *fds)
{
	look_locks_answer(shared);
	return 0;
}

static int answer_locals(void *shared, const int *fds)
{
	look_locals_answer(shared);
	return 0;
}

static const worker_fn functions[] = {
	[DETAILS] = answer_details, [LOCKS] = answer_locks, [LOCALS] = answer_locals,
};
static const char *const calls[] = {
	"process_vm_readv", "open", "openat", "read", "readlink", "readlinkat", "fstat",
	"newfstatat",
	"sysinfo",	/* glibc's qsort() asks for the amount of memory */
	NULL,
};
#define LOOK_CAPS (1ull << CAP_SYS_PTRACE | 1ull << CAP_DAC_READ_SEARCH)
static const struct jail jail = {
	.caps = LOOK_CAPS,
	.calls = calls,
	.memory_bytes = 64u << 20,
};
static const struct jail kernel_jail = {
	.caps = LOOK_CAPS | 1ull << CAP_SYS_ADMIN,	/* for /proc/PID/task/TID/stack */
	.calls = calls,
	.memory_bytes = 64u << 20,
};

#define LOOK_KIND \
	.does = "reads what threads wait in, their locks and variables", \
	.functions = functions, \
	.function_cnt = ARRAY_SIZE(functions), \
	.shared_bytes = sizeof(union shared), \
	.owner = reader_owner

const struct worker_kind look_worker_kind = { LOOK_KIND, .name = "tachbpf-look", .jail = &jail };
const struct worker_kind look_kernel_worker_kind = { LOOK_KIND, .name = "tachbpf-look",
						     .jail = &kernel_jail };

static struct worker worker = { .kind = &look_worker_kind };

void look_worker_with_kernel(void)
{
	worker.kind = &look_kernel_worker_kind;
}

bool look_worker_sees_kernel(void)
{
	return worker.kind == &look_kernel_worker_kind;
}

static int ask_worker(enum function f, pid_t tgid, int timeout_ms)
{
	int err = worker_call(&worker, f, NULL, timeout_ms);

	if (err)
		worker_give_up(&worker, tgid, !worker_is_runnable(&worker));
	return err;
}

/* Takes an answer; the worker is not trusted. */
static void take_answer(struct look_thread *t, const struct look_thread *answer)
{
	t->moved = *(const volatile unsigned char *)&answer->moved & 1;
	t->fd = answer->fd;
	t->futex = answer->futex;
	t->futex_timed = *(const volatile unsigned char *)&answer->futex_timed & 1;
	if (answer->state == LOOK_SLEEP)
		t->state = LOOK_SLEEP;
	memcpy(t->file, answer->file, sizeof(t->file));
	t->file[sizeof(t->file) - 1] = '\0';
	memcpy(t->kernel, answer->kernel, sizeof(t->kernel));
	t->kernel[sizeof(t->kernel) - 1] = '\0';
}

static void ask_batch(struct look_thread *threads, uint32_t cnt, pid_t tgid)
{
	struct details *s;
	uint32_t i;
	int err;

	if (worker_ready(&worker, tgid))
		return;
	s = worker.shared;
	s->tgid = tgid;
	s->kernel = look_worker_sees_kernel();
	s->cnt = cnt;
	memcpy(s->threads, threads, cnt * sizeof(*threads));
	err = ask_worker(DETAILS, tgid, ANSWER_MS);
	for (i = 0; !err && i < cnt; i++)
		take_answer(&threads[i], &s->threads[i]);
}

void look_worker_details(struct look_thread *threads, size_t cnt, pid_t tgid)
{
	size_t done, n;

	for (done = 0; done < cnt; done += n) {
		n = cnt - done < BATCH ? cnt - done : BATCH;
		ask_batch(threads + done, (uint32_t)n, tgid);
	}
}

struct look_locks *look_worker_locks(pid_t tgid)
{
	return worker_ready(&worker, tgid) ? NULL : worker.shared;
}

int look_worker_locks_answer(pid_t tgid)
{
	return ask_worker(LOCKS, tgid, LOCKS_MS);
}

struct look_locals_answer *look_worker_locals(pid_t tgid)
{
	return worker_ready(&worker, tgid) ? NULL : worker.shared;
}

int look_worker_locals_answer(pid_t tgid)
{
	return ask_worker(LOCALS, tgid, LOCALS_MS);
}

void look_worker_end(void)
{
	worker_end(&worker);
}

bool look_is_nested(const struct process *p)
{
	pid_t inner = process_identity(p)->ns_tgid;

	return inner && inner != process_tgid(p);
}

struct py_frames_at look_frames_at(const struct process *p)
{
	const struct cpython_image *image = process_image(p);

	return (struct py_frames_at){ .interps = process_interps(p), .layout = image->layout,
				      .objects = image->objects, .musl = process_has_musl(p) };
}
