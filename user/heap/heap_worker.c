// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* heap_worker.c - see heap_worker.h: the functions of the worker, and the calls to them. */
#include "heap/heap_worker.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>

#include "base/time.h"
#include "base/util.h"
#include "heap/chains_call.h"
#include "heap/greenlets.h"
#include "heap/taking.h"
#include "memory/reader.h"

/* The worker ends by itself after limits.time_ns; it may wait that much longer for memory. */
#define MORE_MS 2000
/* How often that is extended while the worker only waits for a CPU: the process is not to blame. */
#define SLOW_TURNS 10
/* No census may take longer. */
#define TIME_NS_MAX (60 * NS_PER_S)

enum function { CENSUS, CHAINS, GREENLETS };

struct census_call {
	struct heap_target target;
	struct heap_limits limits;
	struct heap_census census;
};

/* Shared by both sides; for one request and its answer. */
union shared {
	struct census_call census;
	struct heap_chains_call chains;
	struct heap_greenlets_call greenlets;
};

/* ---- in the worker ---- */

static int answer_census(void *shared, const int *fds)
{
	union shared *s = shared;
	const struct heap_target target = s->census.target;
	const struct heap_limits limits = s->census.limits;

	return heap_census_take(&target, &limits, &s->census.census);
}

static const worker_fn functions[] = {
	[CENSUS] = answer_census, [CHAINS] = heap_chains_run, [GREENLETS] = heap_greenlets_run,
};

static const char *const calls[] = {
	"process_vm_readv", "open", "openat", "read", "pread64", "readlink", "readlinkat",
	"getdents64", "fstat", "newfstatat", "fcntl", "lseek",
	"clock_getres", "getrusage",
	"sysinfo",	/* glibc's qsort() asks for the amount of memory */
	NULL,
};

/* Addresses, of which not all are used: what is known of a heap takes up to 64 MiB. */
static const struct jail jail = {
	/* The second for /proc/PID/pagemap, which only its owner may open. */
	.caps = 1ull << CAP_SYS_PTRACE | 1ull << CAP_DAC_READ_SEARCH,
	.calls = calls,
	.memory_bytes = 256u << 20,
};

const struct worker_kind heap_worker_kind = {
	.name = "tachbpf-heap",
	.does = "reads what is in the heaps of Python processes",
	.jail = &jail,
	.functions = functions,
	.function_cnt = ARRAY_SIZE(functions),
	.shared_bytes = sizeof(union shared),
	.owner = reader_owner,
};

/* ---- in the program ---- */

static struct worker worker = { .kind = &heap_worker_kind };

/* A census that was begun. */
static struct {
	pid_t tgid;			/* 0: none */
	uint64_t deadline_ns;
	int turns;			/* that it was extended */
	bool answered;			/* at once, with this result */
	int result;
} open_census;

static void give_up(pid_t tgid)
{
	bool is_slow = worker_is_runnable(&worker);

	log_debug("process %d: its heap cannot be read in time%s", tgid,
		  is_slow ? ": the machine is busy" : "");
	worker_give_up(&worker, tgid, !is_slow);
}

static uint64_t census_time(const struct heap_limits *limits)
{
	return limits->time_ns < TIME_NS_MAX ? limits->time_ns : TIME_NS_MAX;
}

/* Text of the worker becomes printable UTF-8 that ends. */
static void clean(char text[HEAP_NAME_BYTES])
{
	char copy[HEAP_NAME_BYTES];

	memcpy(copy, text, sizeof(copy));
	escape_text(copy, strnlen(copy, sizeof(copy)), text, HEAP_NAME_BYTES);
}

/* A bool with another value than 0 and 1 is none. */
static void clean_bool(bool *b)
{
	*b = *(const volatile unsigned char *)b & 1;
}

/* Copy an answer and make it well-formed: the worker may be compromised. */
static void take_answer(struct heap_census *out)
{
	uint32_t i;

	memcpy(out, &((union shared *)worker.shared)->census.census, sizeof(*out));
	if (out->row_cnt > HEAP_TYPES_MAX)
		out->row_cnt = HEAP_TYPES_MAX;
	if (out->large_cnt > HEAP_LARGEST_MAX)
		out->large_cnt = HEAP_LARGEST_MAX;
	clean_bool(&out->limited);
	clean_bool(&out->pages);
	clean(out->other.name);
	for (i = 0; i < out->row_cnt; i++)
		clean(out->rows[i].name);
	for (i = 0; i < out->large_cnt; i++) {
		clean(out->largest[i].type);
		clean(out->largest[i].what);
		clean(out->largest[i].where);
	}
}

int heap_worker_begin(const struct heap_target *target, const struct heap_limits *limits)
{
	struct census_call *call;
	int err;

	if (open_census.tgid)
		return -EBUSY;
	err = worker_ready(&worker, target->tgid);
	if (err)
		return err == -EUSERS ? -EBUSY : err;
	call = &((union shared *)worker.shared)->census;
	call->target = *target;
	call->limits = *limits;
	call->limits.time_ns = census_time(limits);
	memset(&call->census, 0, sizeof(call->census));
	err = worker_call(&worker, CENSUS, NULL, 0);
	if (err == -EPIPE)
		return -EBUSY;
	open_census.answered = err != -ETIMEDOUT;
	open_census.result = err;
	open_census.tgid = target->tgid;
	open_census.turns = 0;
	open_census.deadline_ns = now_ns() + call->limits.time_ns + MORE_MS * NS_PER_MS;
	return 0;
}

static bool may_wait_on(void)
{
	if (now_ns() < open_census.deadline_ns)
		return true;
	if (!worker_is_runnable(&worker) || open_census.turns++ >= SLOW_TURNS)
		return false;
	open_census.deadline_ns = now_ns() + MORE_MS * NS_PER_MS;
	return true;
}

/* Wait for the answer. -EAGAIN: not yet. */
static int wait_answer(struct heap_census *out, int timeout_ms)
{
	int err = open_census.answered ? open_census.result : worker_wait(&worker, timeout_ms);

	if (err == -ETIMEDOUT && worker.pid && may_wait_on())
		return -EAGAIN;
	if (err == -ETIMEDOUT && worker.pid)
		give_up(open_census.tgid);
	if (!err)
		take_answer(out);
	open_census.tgid = 0;
	return err == -EPIPE ? -EBUSY : err;
}

int heap_worker_poll(struct heap_census *out)
{
	return open_census.tgid ? wait_answer(out, 0) : -EINVAL;
}

int heap_worker_census(const struct heap_target *target, const struct heap_limits *limits,
		       struct heap_census *out)
{
	int err = heap_worker_begin(target, limits);

	if (err)
		return err;
	do
		err = wait_answer(out, MORE_MS / 4);
	while (err == -EAGAIN);
	return err;
}

/* Call a function that ends by itself after time_ns. */
static int call_and_wait(enum function f, pid_t tgid, uint64_t time_ns)
{
	uint64_t deadline = now_ns() + time_ns + MORE_MS * NS_PER_MS;
	int err = worker_call(&worker, f, NULL, MORE_MS / 4), turns = 0;

	while (err == -ETIMEDOUT && (now_ns() < deadline ||
				     (worker_is_runnable(&worker) && turns++ < SLOW_TURNS)))
		err = worker_wait(&worker, MORE_MS / 4);
	if (err == -ETIMEDOUT)
		give_up(tgid);
	return err;
}

int heap_worker_chains(const struct heap_target *target, const struct heap_why *why,
		       struct heap_chains *out)
{
	struct heap_chains_call *call;
	int err;

	if (open_census.tgid)
		return -EBUSY;
	err = worker_ready(&worker, target->tgid);
	if (err)
		return err == -EUSERS ? -EBUSY : err;
	call = &((union shared *)worker.shared)->chains;
	call->target = *target;
	call->why = *why;
	call->why.limits.time_ns = census_time(&why->limits);
	memset(&call->result, 0, sizeof(call->result));
	err = call_and_wait(CHAINS, target->tgid, call->why.limits.time_ns);
	if (!err || err == -ENOTUNIQ) {
		memcpy(out, &call->result, sizeof(*out));
		heap_chains_check(out);
	}
	return err == -EPIPE ? -EBUSY : err;
}

int heap_worker_greenlets(const struct heap_target *target, uint32_t own_tgid,
			  struct heap_greenlets *out)
{
	struct heap_greenlets_call *call;
	int err;

	if (open_census.tgid)
		return -EBUSY;
	err = worker_ready(&worker, target->tgid);
	if (err)
		return err == -EUSERS ? -EBUSY : err;
	call = &((union shared *)worker.shared)->greenlets;
	call->target = *target;
	call->own_tgid = own_tgid;
	err = call_and_wait(GREENLETS, target->tgid, GREENLETS_NS_MAX);
	if (!err)
		heap_greenlets_copy(out, &call->found);
	return err == -EPIPE ? -EBUSY : err;
}

void heap_worker_end(void)
{
	open_census.tgid = 0;
	worker_end(&worker);
}
