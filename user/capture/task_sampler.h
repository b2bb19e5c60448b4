/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * task_sampler.h - what the waiting tasks of a process wait for, over time: each step walks some of
 * its tasks, and says for each that waits how much time it stands for.
 *
 * A task that awaits another task waits for what that one waits for, so only those that await none
 * count; their stack is the whole chain, from their innermost coroutine up to the outermost one of
 * the task that nobody awaits. In each step the times of all tasks that were met add up to the time
 * since the last step, times the tasks of the process, even if it has more than a step walks.
 */
#ifndef TACHBPF_CAPTURE_TASK_SAMPLER_H
#define TACHBPF_CAPTURE_TASK_SAMPLER_H

#include "memory/task_walk.h"

/* Limits of a chain's tasks, and of all their coroutines. What exceeds them is not in the stack. */
#define TASK_CHAIN_MAX 64
#define TASK_CHAIN_FRAMES 250
/*
 * Awaiting tasks that are read besides those of a step's batch, and calls for that: one has up to
 * TASK_ONES_MAX of them.
 */
#define TASK_PARENTS_MAX 512
#define TASK_PARENT_CALLS 16
/* Lists of a process that are walked: threads with a loop. */
#define TASK_SAMPLED_LISTS 64

/* A step walks this many tasks of a list that is longer than a batch. */
#define TASKS_A_STEP 128
/*
 * A list longer than a batch is counted when it is first met, with this many calls a step. If its
 * way is lost, it is counted again, at most this often.
 */
#define TASK_COUNT_CALLS 4
#define TASK_COUNTS 4

struct task_wait {
	uint32_t tid;			/* of the loop's thread, as in struct task_list */
	uint64_t interp_id;
	uint64_t ns;			/* time that it stands for */
	const struct raw_frame *frames;	/* innermost first */
	uint32_t frame_cnt;
	bool cut;			/* more tasks await it than are in frames */
	const struct task_waits_for *waits;
};

struct task_sampler_stats {
	uint64_t steps, met;		/* tasks that were walked, again in each step */
	uint64_t waits;			/* of these, those that were passed on */
	uint64_t cut;			/* whose chain was cut */
	uint64_t reads;			/* of the process's memory; without those for counting */
	uint64_t unread;		/* steps in which a list was unreadable, or lost */
};

struct task_sampler;

/* at: as of task_walk(). Source outlives it. NULL: no memory. */
struct task_sampler *task_sampler_new(const struct task_source *source, pid_t tgid,
				      const struct tasks_at *at);
void task_sampler_free(struct task_sampler *s);

/*
 * One step: reads one batch of each list, or of some. now_ns: CLOCK_MONOTONIC. The first step
 * passes nothing on. Returns 0, -ENOMEM, or what wait() has returned.
 */
int task_sampler_step(struct task_sampler *s, uint64_t now_ns,
		      int (*wait)(void *ctx, const struct task_wait *w), void *ctx);

const struct task_sampler_stats *task_sampler_stats(const struct task_sampler *s);

#endif
