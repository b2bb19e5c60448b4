// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * capture_wait.c - attaches the scheduler programs, scans for threads that are already off-CPU, and
 * emits open waits. waits.c turns the time into samples. Only modes with waits need it
 * (record_mode_def.waits).
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "capture/capture_records.h"
#include "capture/capture_state.h"
#include "capture/offcpu_scan.h"
#include "capture/proc_table.h"
#include "resolve/process.h"
#include "tachbpf.skel.h"

/* Of a scan that alone sees off-CPU threads: one that runs meanwhile is tried again. */
#define SCAN_TRIES 3

/*
 * Returns true if a switch-out may refer to the stack of its thread's last record. Not if records
 * go with a stack, or if the mode has other records than ticks and switch-outs.
 */
static bool may_repeat_stacks(const struct capture *s)
{
	return s->mode->waits && !s->mode->scan_only && !s->mode->memory && !s->mode->events &&
	       !s->mode->exceptions && !s->args.kernel && !s->args.native && !s->args.async;
}

/* A scan has only its own. The scheduler programs are attached later, in wait_start(). */
static void choose_programs(struct capture *s)
{
	struct bpf_program *const scheduler[] = {
		s->skel->progs.on_switch, s->skel->progs.on_wakeup,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(scheduler); i++) {
		bpf_program__set_autoload(scheduler[i], s->mode->waits && !s->mode->scan_only);
		bpf_program__set_autoattach(scheduler[i], false);
	}
	bpf_program__set_autoload(s->skel->progs.on_task, s->mode->waits);
	if (!s->mode->waits)
		bpf_map__set_max_entries(s->skel->maps.wait_slots, 1);
	if (!s->mode->memory)
		bpf_map__set_max_entries(s->skel->maps.gc_slots, 1);
}

static int wait_configure(struct capture *s)
{
	if (!capture_only_scans(s))
		choose_programs(s);
	bpf_program__set_autoattach(s->skel->progs.on_task, false);
	s->skel->rodata->cfg_scan_only = s->mode->scan_only;
	s->skel->rodata->cfg_gc_stats = s->mode->memory;
	s->skel->rodata->cfg_need_status = s->mode->need_status;
	s->skel->rodata->cfg_runnable = s->mode->runnable;
	s->skel->rodata->cfg_exceptions = s->mode->exceptions;
	s->skel->rodata->cfg_kernel_stacks = s->args.kernel;
	s->skel->rodata->cfg_stamps = may_repeat_stacks(s);
	return 0;
}

static int wait_start(struct capture *s)
{
	int err;

	if (!s->mode->waits)
		return 0;
	offcpu_scan_prepare();
	if (s->mode->scan_only)
		return 0;
	s->skel->links.on_wakeup = bpf_program__attach(s->skel->progs.on_wakeup);
	if (s->skel->links.on_wakeup)
		s->skel->links.on_switch = bpf_program__attach(s->skel->progs.on_switch);
	if (s->skel->links.on_switch)
		return 0;
	err = -errno;
	log_error("cannot trace the scheduler: %s", strerror(-err));
	return err;
}

struct scan {
	struct capture *capture;
	capture_chosen_fn chosen;	/* NULL: processes admitted since the last scan */
	void *ctx;
};

static bool is_chosen(const struct scan *scan, const struct tracked *t)
{
	return scan->chosen ? scan->chosen(scan->ctx, t->process) :
			      t->admitted_ns >= scan->capture->scanned_ns;
}

/* An offcpu_scan_proc_fn. */
static int select_process(void *ctx, uint32_t tgid, uint64_t start_ns, struct py_proc *proc)
{
	struct scan *scan = ctx;
	struct lifecycle *life = &scan->capture->life;
	struct tracked *t = lifecycle_find(life, tgid);

	if (!t || !t->process || !is_chosen(scan, t) ||
	    !proc_table_get(life->table, tgid, proc))
		return -ENOENT;
	return lifecycle_confirm_start(t, start_ns) ? 0 : -ENOENT;
}

/* Without memory: not. */
static void keep_scanned(struct capture *s, const struct raw_offcpu_scan *thread)
{
	struct scanned_thread *kept = u64map_get(&s->scanned, thread->tid);

	if (!kept) {
		kept = malloc(sizeof(*kept));
		if (!kept || u64map_put(&s->scanned, thread->tid, kept)) {
			free(kept);
			return;
		}
	}
	*kept = (struct scanned_thread){ .at = *thread };
}

/* An offcpu_scan_record_fn. Drops records without a status that the mode needs. */
static void take_scanned(void *ctx, const struct raw_offcpu_scan *thread, void *data, size_t len)
{
	struct capture *s = ((struct scan *)ctx)->capture;
	const struct raw_head *head = data;
	struct tracked *t;

	if (len < sizeof(*head))
		return;
	if (s->mode->scan_only && head->h.kind == RAW_SWITCH_OUT)
		keep_scanned(s, thread);
	t = lifecycle_find(&s->life, (pid_t)thread->tgid);
	if (t && t->process)
		process_say_comm(t->process, thread->tid, (const char *)thread->comm);
	if (head->h.kind != RAW_SWITCH_OUT || !s->mode->need_status ||
	    head->status & s->mode->need_status)
		capture_take(s, data, len);
}

const struct scanned_thread *capture_scanned(const struct capture *s, uint32_t tid)
{
	return u64map_get(&s->scanned, tid);
}

/* An offcpu_scan_thread_fn. */
static void check_scanned(void *ctx, const struct raw_offcpu_scan *thread)
{
	struct capture *s = ctx;
	struct scanned_thread *t = u64map_get(&s->scanned, thread->tid);

	if (t)
		t->still = offcpu_scan_still(&t->at, thread);
}

void capture_check_scanned(struct capture *s)
{
	struct scanned_thread *t;
	size_t pos = 0;

	while ((t = u64map_next(&s->scanned, &pos)))
		t->still = false;
	offcpu_scan_list(s->skel, check_scanned, s);
}

static void run_scan(struct scan *scan)
{
	struct capture *s = scan->capture;
	int err = offcpu_scan_run(s->skel, s->args.native ? &s->native_maps : NULL,
				  s->mode->scan_only ? SCAN_TRIES : 1, select_process,
				  take_scanned, scan, &s->scan);

	if (err)
		log_debug("sleeping threads are only seen when they wake up: %s", strerror(-err));
}

void capture_wait_scan(struct capture *s)
{
	struct scan scan = { .capture = s };
	uint64_t begin_ns = now_ns();

	if (!s->mode->waits || !s->scan_due || s->skel->bss->capture_paused)
		return;
	s->scan_due = false;
	run_scan(&scan);
	s->scanned_ns = begin_ns;
}

void capture_scan(struct capture *s)
{
	if (s->mode->scan_only)
		capture_wait_scan(s);
}

void capture_scan_again(struct capture *s, capture_chosen_fn chosen, void *ctx)
{
	struct scan scan = { .capture = s, .chosen = chosen, .ctx = ctx };

	if (s->mode->scan_only && !s->skel->bss->capture_paused)
		run_scan(&scan);
}

static void wait_stop(struct capture *s)
{
	bpf_link__destroy(s->skel->links.on_switch);
	bpf_link__destroy(s->skel->links.on_wakeup);
	s->skel->links.on_switch = s->skel->links.on_wakeup = NULL;
}

/* Up to s->taken_ns, not now: the ring buffer may have later records that end a wait. */
void capture_wait_emit_open(struct capture *s)
{
	struct tracked *t;
	size_t pos = 0;

	while (s->mode->waits && (t = lifecycle_next_profiled(&s->life, &pos)))
		lifecycle_fail(&s->life, process_emit_open_waits(t->process, s->taken_ns));
}

void capture_emit_waits(struct capture *s)
{
	if (s->mode->scan_only)
		capture_wait_emit_open(s);
}

/*
 * Switch-outs stop from now on, or start again; then a scan finds the threads that fell asleep in
 * between.
 */
static void wait_pause(struct capture *s, bool pause)
{
	if (s->skel->bss->capture_paused == pause)
		return;
	capture_wait_emit_open(s);
	s->skel->bss->capture_paused = pause;
	if (pause)
		return;
	s->scan_due = true;
	s->scanned_ns = 0;
}

static void wait_free(struct capture *s)
{
	struct scanned_thread *t;
	size_t pos = 0;

	while ((t = u64map_next(&s->scanned, &pos)))
		free(t);
	u64map_free(&s->scanned);
	offcpu_scan_end();
}

const struct source_ops capture_wait_source = {
	.scans = true,
	.configure = wait_configure,
	.start = wait_start,
	.pause = wait_pause,
	.stop = wait_stop,
	.free = wait_free,
};
