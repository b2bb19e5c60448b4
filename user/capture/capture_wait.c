// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * capture_wait.c - what modes do that are about waiting: the scheduler's programs, threads that
 * sleep already, and those that go on sleeping. What their time is worth is waits.c's.
 */
#include "capture/capture_impl.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "tachbpf.skel.h"

/* They are attached when sampling begins. */
void capture_choose_programs(struct capture *s)
{
	struct bpf_program *const scheduler[] = {
		s->skel->progs.on_switch, s->skel->progs.on_wakeup, s->skel->progs.on_task,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(scheduler); i++) {
		bpf_program__set_autoload(scheduler[i], s->mode->waits);
		bpf_program__set_autoattach(scheduler[i], false);
	}
	s->skel->rodata->cfg_ticks = s->mode->ticks;
	s->skel->rodata->cfg_need_status = s->mode->need_status;
	s->skel->rodata->cfg_runnable = s->mode->runnable;
	s->skel->rodata->cfg_exceptions = s->mode->exceptions;
	s->skel->rodata->cfg_kernel_stacks = s->args.kernel;
	if (!s->mode->waits)
		bpf_map__set_max_entries(s->skel->maps.wait_slots, 1);
}

int capture_follow_scheduler(struct capture *s)
{
	int err;

	if (!s->mode->waits)
		return 0;
	s->skel->links.on_wakeup = bpf_program__attach(s->skel->progs.on_wakeup);
	if (s->skel->links.on_wakeup)
		s->skel->links.on_switch = bpf_program__attach(s->skel->progs.on_switch);
	if (s->skel->links.on_switch)
		return 0;
	err = -errno;
	log_error("cannot follow the scheduler: %s", strerror(-err));
	return err;
}

/* offcpu_scan_proc_fn: those of which nobody has seen how they came to wait. */
static int was_found_since(void *ctx, uint32_t tgid, uint64_t start_ns, struct py_proc *proc)
{
	struct capture *s = ctx;
	struct process *p = u64map_get(&s->processes, tgid);

	if (!p || process_admitted(p) < s->asleep_ns || !capture_kernel_knows(s, tgid, proc))
		return -ENOENT;
	return process_knows_start(p, start_ns) ? 0 : -ENOENT;
}

/* offcpu_scan_record_fn. Of what a mode needs the kernel knows, and this way does not. */
static void take_asleep(void *ctx, void *data, size_t len)
{
	const struct raw_head *head = data;
	struct capture *s = ctx;

	if (head->h.kind != RAW_WAIT || !s->mode->need_status ||
	    head->status & s->mode->need_status)
		capture_take(s, data, len);
}

void capture_look_asleep(struct capture *s)
{
	uint64_t begin_ns = now_ns();
	int err;

	if (!s->mode->waits || !s->asleep_due)
		return;
	s->asleep_due = false;
	err = offcpu_scan_look(s->skel, was_found_since, take_asleep, s, &s->asleep);
	if (err)
		log_debug("threads that sleep are seen when they wake up: %s", strerror(-err));
	s->asleep_ns = begin_ns;
}

void capture_leave_scheduler(struct capture *s)
{
	bpf_link__destroy(s->skel->links.on_switch);
	bpf_link__destroy(s->skel->links.on_wakeup);
	s->skel->links.on_switch = s->skel->links.on_wakeup = NULL;
}

/*
 * What is waiting now has done so until some moment ago: records of later ones may be in the
 * ring buffer.
 */
void capture_settle_waits(struct capture *s, struct process *p)
{
	capture_fail(s, process_settle_waits(p, s->taken_ns));
}
