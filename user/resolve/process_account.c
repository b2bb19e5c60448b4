// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* process_account.c - what becomes of a process' events and records. See process_parts.h. */
#include <errno.h>

#include "resolve/observer.h"
#include "resolve/process_parts.h"

uint64_t process_samples_in(const struct process *p, const struct event *ev)
{
	return p->args.unit == UNIT_SAMPLES ? ev->weight : 1;
}

void process_add_lost(struct process *p, uint32_t tid, enum loss_cause cause, uint64_t cnt)
{
	p->stats.lost[cause] += cnt;
	losses_add(&p->losses, tid, cause, cnt);
}

const struct losses_of_threads *process_thread_losses(const struct process *p)
{
	return p->losses;
}

int process_deliver(struct process *p, const struct event *ev)
{
	int err = p->args.observer->ops->event(p->args.observer, p, ev);

	p->ended |= err != 0;
	if (err)
		process_add_lost(p, (uint32_t)ev->thread_id, LOSS_WRITE, process_samples_in(p, ev));
	else
		p->stats.samples += process_samples_in(p, ev);
	return err;
}

int process_without_memory(struct process *p, uint32_t tid, int err)
{
	if (err != -ENOMEM || p->ended)
		return err;
	process_add_lost(p, tid, LOSS_MEMORY, 1);
	return 0;
}
