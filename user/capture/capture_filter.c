// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * capture_filter.c - applies the verdicts of proc_filter_eval.c to processes and to the map
 * py_procs, and replaces the conditions while the capture runs. See capture_filter.h.
 *
 * When they are replaced, the BPF side gets the new conditions first, so that nothing is judged by
 * the old ones any more. Then all earlier verdicts are made again: of entries of excluded
 * processes, of tracked processes, of unknown processes, and of records in the ring buffer.
 */
#include "capture/capture_filter.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/util.h"
#include "capture/capture_state.h"
#include "capture/proc_table.h"
#include "host/identity.h"
#include "host/proc.h"
#include "tachbpf.skel.h"
#include "target/proc_filter_eval.h"

/*
 * Room in the map marks if the conditions may change: 16,384 existing cgroups and as many new ones,
 * less comms and uids. 80 bytes each.
 */
#define MARKS_FOR_ANY 32768
/* Conditions that a change may bring: all of them may be uids, which must have a mark. */
#define CHANGED_RULES_MAX (MARKS_FOR_ANY / 2)

/* Longer than a BPF program takes. */
#define PROGRAM_LASTS_US 10000

/* Records are taken after every N judged processes, and for at most this long. */
#define TAKE_PROCESSES 128
#define TAKE_NS 100000000ull
/* The time for the last records of excluded processes; those not taken by then are orphans. */
#define TAKE_LAST_NS 1000000000ull
/* Time between inspections of newly selected processes: samples wait meanwhile. */
#define INSPECT_APART_NS 1000000ull
#define INSPECT_WITHIN_NS 1000000000ull

static struct proc_filter no_conditions;

/*
 * Replaces the map that has cfg_filter by one that the kernel does not freeze: user space writes to
 * it at any time, and the verifier takes no field for a constant. Returns 0 or -errno.
 */
static int make_changeable(struct bpf_map *settings)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "filter", sizeof(uint32_t),
				bpf_map__value_size(settings), 1, &opts);
	int err;

	if (fd < 0)
		return -errno;
	err = bpf_map__reuse_fd(settings, fd);
	close(fd);
	return err;
}

/* Chooses those that tell of new cgroups, and of other changes. A scan has none of them. */
static void choose_programs(struct capture *s, bool made, bool changed)
{
	if (capture_only_scans(s))
		return;
	bpf_program__set_autoload(s->skel->progs.on_cgroup_mkdir, made);
	bpf_program__set_autoload(s->skel->progs.on_cgroup_rmdir, changed);
	bpf_program__set_autoload(s->skel->progs.on_cgroup_attach, changed);
}

/* Without -a, user space reads the cgroups of processes from /proc. */
static bool follows_made(const struct capture *s)
{
	return s->args.all && !access("/proc/cgroups", F_OK);
}

static int configure_fixed(struct capture *s)
{
	struct filter_config cfg;

	proc_filter_eval_config(s->filter_eval, &cfg);
	s->skel->rodata_filter->cfg_filter = cfg;
	choose_programs(s, follows_made(s) || (cfg.cgroups && cfg.cgroup_ask), cfg.cgroups);
	return bpf_map__set_max_entries(s->skel->maps.marks,
					proc_filter_eval_marks_max(s->filter_eval));
}

static int configure_changeable(struct capture *s)
{
	uint32_t marks = proc_filter_eval_marks_max(s->filter_eval);
	int err = make_changeable(s->skel->maps.rodata_filter);

	choose_programs(s, true, true);
	return err ? err : bpf_map__set_max_entries(s->skel->maps.marks,
						    marks > MARKS_FOR_ANY ? marks : MARKS_FOR_ANY);
}

static int filter_configure(struct capture *s)
{
	struct proc_filter *filter = s->args.proc_filter;

	s->skel->rodata->cfg_hierarchies = identities_hierarchies(s->args.identities);
	choose_programs(s, follows_made(s), false);
	if (!filter && !s->args.filter_may_change)
		return bpf_map__set_max_entries(s->skel->maps.marks, 1);
	s->filter_eval = proc_filter_eval_new(filter ? filter : &no_conditions);
	if (!s->filter_eval)
		return -errno;
	return s->args.filter_may_change ? configure_changeable(s) : configure_fixed(s);
}

/* Enters the verdicts first, because the settings say how to read them. Returns 0 or -errno. */
static int enter_verdicts(struct capture *s, struct proc_filter_eval *eval)
{
	int err = proc_filter_eval_start(eval, s->skel->maps.marks);
	struct filter_config cfg;
	uint32_t zero = 0;

	if (err || !s->args.filter_may_change)
		return err;
	proc_filter_eval_config(eval, &cfg);
	return bpf_map__update_elem(s->skel->maps.rodata_filter, &zero, sizeof(zero), &cfg,
				    sizeof(cfg), BPF_ANY);
}

static int filter_load(struct capture *s)
{
	return s->filter_eval ? enter_verdicts(s, s->filter_eval) : 0;
}

static void filter_free(struct capture *s)
{
	proc_filter_eval_free(s->filter_eval);
}

const struct source_ops capture_filter_source = {
	.scans = true,
	.configure = filter_configure,
	.load = filter_load,
	.free = filter_free,
};

/* Removes the exclusion from the map py_procs: the process meets the conditions. */
static void let_in(struct capture *s, pid_t tgid)
{
	struct py_proc py;

	if (!proc_table_get(s->life.table, tgid, &py))
		return;
	if (py.state == PY_PROC_UNSEEN) {
		proc_table_remove(s->life.table, tgid);
	} else if (py.unselected) {
		py.unselected = 0;
		proc_table_put(s->life.table, tgid, &py);
	}
}

bool capture_filter_admits(struct capture *s, struct tracked *t)
{
	uint64_t wait;
	int why;

	if (!s->filter_eval || t->selected)
		return true;
	wait = proc_filter_eval_wait_ns(s->filter_eval, t->tgid, t->start_ns);
	if (wait) {
		t->schedule.next_ns = now_ns() + wait;
		return false;
	}
	why = proc_filter_eval_judge(s->filter_eval, t->tgid);
	if (why > 0) {
		inspect_no_more(&t->schedule);
		lifecycle_step(&s->life, t, PROC_EV_EXCLUDED,
			       &(struct step){ .unselected = (uint8_t)why });
		return false;
	}
	t->selected = true;
	t->schedule.tries = 0;
	if (!why)
		let_in(s, t->tgid);
	return true;
}

/*
 * Judges a tracked process again after a change. One that was profiled and is excluded now is
 * PAUSED; one that is PAUSED and selected now is inspected soon; one that is selected before and
 * after is left alone. t may be freed.
 */
static void judge_again(struct capture *s, struct tracked *t)
{
	int why = proc_filter_eval_judge(s->filter_eval, t->tgid);

	t->selected = false;
	if (why < 0)
		return;		/* it has ended; a record will report that */
	if (why) {
		inspect_no_more(&t->schedule);
		lifecycle_step(&s->life, t, PROC_EV_EXCLUDED,
			       &(struct step){ .unselected = (uint8_t)why });
		return;
	}
	let_in(s, t->tgid);
	if (t->state == PROC_PAUSED)
		lifecycle_step(&s->life, t, PROC_EV_ASKED, NULL);
}

void capture_filter_judge_admitted(struct capture *s, struct tracked *t, uint64_t time_ns)
{
	if (time_ns < s->filter_changed_ns)
		judge_again(s, t);
}

bool capture_filter_meets(struct capture *s, pid_t tgid)
{
	return !s->filter_eval || (!proc_filter_eval_wait_ns(s->filter_eval, tgid, 0) &&
				   proc_filter_eval_judge(s->filter_eval, tgid) <= 0);
}

/* Returns true if the BPF side has admitted it again (odd ident), at a later exec than ev's. */
static bool has_executed_since(struct capture *s, const struct raw_exec *ev)
{
	struct py_proc py;

	return proc_table_get(s->life.table, ev->h.tgid, &py) && ev->ident && py.ident & 1 &&
	       py.ident != ev->ident;
}

bool capture_filter_admits_exec(struct capture *s, const struct raw_exec *ev)
{
	bool outdated = ev->h.time_ns < s->filter_changed_ns;
	struct tracked *t;
	int why;

	if (!ev->unselected && !outdated)
		return true;
	if (ev->unselected & UNSELECTED_FOR_SURE && !outdated)
		return false;
	proc_filter_eval_take_comm(s->filter_eval, ev->comm);
	why = proc_filter_eval_judge(s->filter_eval, ev->h.tgid);
	if (why < 0 || has_executed_since(s, ev))
		return !ev->unselected;		/* the program that it executed then was selected */
	if (!why) {
		let_in(s, ev->h.tgid);
		return true;
	}
	t = lifecycle_ask(&s->life, ev->h.tgid, ev->h.start_ns);
	if (t)
		lifecycle_step(&s->life, t, PROC_EV_EXCLUDED,
			       &(struct step){ .unselected = (uint8_t)why });
	return false;
}

/* ---- other conditions ---- */

/*
 * Returns when all BPF programs that were running have ended: they are RCU readers, and this waits
 * for those. Some kernels (nohz_full) do not offer it.
 */
static void wait_for_programs(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		usleep(PROGRAM_LASTS_US);
}

/*
 * Replaces the conditions (NULL: none) in user space and in the BPF programs. When it returns 0, no
 * program judges by the old ones any more, but their verdicts remain in py_procs and in records
 * that were not taken yet: until s->filter_changed_ns is set to a time, each record is judged
 * again. -errno: nothing has changed; logs why.
 */
static int replace_conditions(struct capture *s, struct proc_filter *filter)
{
	struct proc_filter_eval *eval;
	int err;

	if (!s->args.filter_may_change)
		return -ENOTSUP;
	if (filter && filter->cnt > CHANGED_RULES_MAX) {
		log_error("more than %d process filters: use fewer", CHANGED_RULES_MAX);
		return -E2BIG;
	}
	eval = proc_filter_eval_new(filter ? filter : &no_conditions);
	if (!eval) {
		err = -errno;
		log_error("cannot find the cgroups of this host: %s", strerror(-err));
		return err;
	}
	s->filter_changed_ns = UINT64_MAX;
	proc_filter_eval_free(s->filter_eval);
	s->filter_eval = eval;
	s->args.proc_filter = filter;
	lifecycle_fail(&s->life, enter_verdicts(s, eval));
	wait_for_programs();
	return 0;
}

struct change {
	struct capture *s;
	uint64_t begin_ns;
	uint32_t judged, selected;	/* processes; newly selected ones */
};

static void take_some(struct capture *s, uint64_t limit_ns)
{
	s->take_until_ns = now_ns() + limit_ns;
	ring_buffer__consume(s->ring);	/* an error occurs again in capture_poll() */
}

/* An untracked process. Without args.all, its tick asks if -p chose it. */
static int find_selected(struct change *c, pid_t tgid)
{
	struct capture *s = c->s;
	struct proc_info who;
	struct tracked *t;

	if (!s->args.all || tgid == getpid() || proc_info_read(tgid, &who) ||
	    who.stat.kernel_thread || !capture_filter_meets(s, tgid))
		return 0;
	t = lifecycle_ask(&s->life, tgid, 0);
	if (!t)
		return s->life.err;
	t->schedule.next_ns = c->begin_ns + c->selected++ * INSPECT_APART_NS % INSPECT_WITHIN_NS;
	return 0;
}

static int judge_process(void *ctx, pid_t tgid)
{
	struct change *c = ctx;
	struct tracked *t;

	if (!(++c->judged % TAKE_PROCESSES))
		take_some(c->s, TAKE_NS);
	t = lifecycle_find(&c->s->life, tgid);
	if (!t)
		return find_selected(c, tgid);
	judge_again(c->s, t);
	return 0;
}

/* Ends the processes that are excluded. Their last samples were taken. */
static void dismiss_excluded(struct capture *s)
{
	struct step step = { .unselected = 0 };
	struct tracked *t;
	struct py_proc py;
	size_t pos = 0;

	while ((t = lifecycle_next_profiled(&s->life, &pos))) {
		if (t->state != PROC_PAUSED || !proc_table_get(s->life.table, t->tgid, &py) ||
		    !(py.unselected & UNSELECTED_FOR_SURE))
			continue;
		step.unselected = py.unselected;
		lifecycle_step(&s->life, t, PROC_EV_DISMISSED, &step);
	}
}

int capture_set_filter(struct capture *s, struct proc_filter *filter)
{
	struct change c = { .s = s };
	int err;

	take_some(s, TAKE_NS);	/* the remaining ones are older than the change */
	err = replace_conditions(s, filter);
	if (err)
		return err;
	c.begin_ns = now_ns();
	proc_table_remove_all_unseen(s->life.table);
	lifecycle_fail(&s->life, proc_each(judge_process, &c));
	s->filter_changed_ns = now_ns();
	take_some(s, TAKE_LAST_NS);
	capture_take_losses(s);
	dismiss_excluded(s);
	log_debug("filters changed in %.1f ms: %u processes checked, %u newly selected",
		  (now_ns() - c.begin_ns) / 1e6, c.judged, c.selected);
	return s->life.err;
}
