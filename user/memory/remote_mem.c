// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* remote_mem.c - see remote_mem.h: how much time may be spent on reads. */
#include "memory/remote_mem.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "base/util.h"
#include "host/proc.h"
#include "memory/reader.h"

/*
 * On a busy machine each answer costs a turn of the scheduler. At most one fifth of the time is
 * spent waiting, so that samples are taken meanwhile. Unused time is saved up to a limit, because
 * the names of a new program are read in a burst; the limit is a fifth of what the ring buffer can
 * hold (capture.c).
 */
#define WAIT_SHARE 5
#define WAIT_NS_MAX 100000000ll

static struct {
	bool hurry;
	int64_t wait_ns;		/* time that may be spent waiting now */
	uint64_t as_of_ns;
} budget;

static bool may_wait(uint64_t now)
{
	if (!budget.hurry)
		return true;
	if (budget.wait_ns < WAIT_NS_MAX) {
		budget.wait_ns += (now - budget.as_of_ns) / WAIT_SHARE;
		if (budget.wait_ns > WAIT_NS_MAX)
			budget.wait_ns = WAIT_NS_MAX;
	}
	budget.as_of_ns = now;
	return budget.wait_ns > 0;
}

/* A read that began at start_ns has ended. */
static void count_wait(uint64_t start_ns)
{
	if (budget.hurry)
		budget.wait_ns -= now_ns() - start_ns;
}

int remote_mem_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	pid_t tgid = (pid_t)(intptr_t)ctx;
	uint64_t start_ns = now_ns();
	const void *bytes;
	int err;

	if (tgid == getpid())
		return proc_mem_read(ctx, addr, buf, len);
	if (!may_wait(start_ns))
		return -EBUSY;
	err = reader_mem(tgid, addr, len, budget.hurry, &bytes);
	count_wait(start_ns);
	if (!err)
		memcpy(buf, bytes, len);
	return err;
}

int remote_python_threads(pid_t tgid, const struct python_threads_at *at,
			  const struct python_threads **out)
{
	static struct python_threads own;
	const struct target_mem mem = { proc_mem_read, (void *)(intptr_t)tgid };
	uint64_t start_ns = now_ns();
	int err;

	*out = &own;
	if (tgid == getpid())
		return python_threads_read(&mem, at, &own);
	if (!may_wait(start_ns))
		return -EBUSY;
	err = reader_python_threads(tgid, at, budget.hurry, out);
	count_wait(start_ns);
	return err;
}

int remote_task_lists(pid_t tgid, const struct tasks_at *at, const struct task_lists **out)
{
	uint64_t start_ns = now_ns();
	int err = may_wait(start_ns) ? reader_task_lists(tgid, at, budget.hurry, out) : -EBUSY;

	count_wait(start_ns);
	return err;
}

int remote_tasks(pid_t tgid, const struct tasks_at *at, const struct tasks_batch **out)
{
	uint64_t start_ns = now_ns();
	int err = may_wait(start_ns) ? reader_tasks(tgid, at, budget.hurry, out) : -EBUSY;

	count_wait(start_ns);
	return err;
}

int remote_async_homes(pid_t tgid, const struct tasks_at *at, struct async_homes *out)
{
	uint64_t start_ns = now_ns();
	int err = may_wait(start_ns) ? reader_async_homes(tgid, at, budget.hurry, out) : -EBUSY;

	count_wait(start_ns);
	return err;
}

int remote_task_chain(pid_t tgid, const struct tasks_at *at, const struct raw_task *q,
		      struct task_chain *out)
{
	uint64_t start_ns = now_ns();
	int err = may_wait(start_ns) ? reader_task_chain(tgid, at, q, budget.hurry, out) : -EBUSY;

	count_wait(start_ns);
	return err;
}

int remote_loop_states(pid_t tgid, const struct tasks_at *at, int64_t clock_ns,
		       const struct loop_states **out)
{
	uint64_t start_ns = now_ns();
	int err = may_wait(start_ns) ? reader_loop_states(tgid, at, clock_ns, budget.hurry, out) :
				       -EBUSY;

	count_wait(start_ns);
	return err;
}

int remote_blocks(pid_t tgid, const struct block_place *places, size_t cnt,
		  struct block_words *out)
{
	uint64_t start_ns = now_ns();
	int err = may_wait(start_ns) ? reader_blocks(tgid, places, cnt, budget.hurry, out) :
				       -EBUSY;

	count_wait(start_ns);
	return err;
}

void remote_mem_hurry(bool hurry)
{
	budget.hurry = hurry;
}

void remote_mem_grant(int64_t ns)
{
	budget.wait_ns = ns;
	budget.as_of_ns = now_ns();
}
