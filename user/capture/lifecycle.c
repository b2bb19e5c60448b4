// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * lifecycle.c - the table of transitions, and what each of them does. See lifecycle.h;
 * lifecycle_due.c knows which inspections are due.
 */
#include "capture/lifecycle.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>

#include "base/util.h"
#include "capture/proc_table.h"
#include "resolve/observer.h"

/* What a transition writes to the process's entry in py_procs. */
enum say {
	SAY_NOTHING,	/* leave the entry as it is */
	SAY_WALK,	/* ticks walk the process, by step->args->py */
	SAY_WALK_AGAIN,	/* likewise, unless ticks walk it already */
	SAY_OTHER,	/* no more RAW_UNKNOWN: user space inspects it by its own clock */
	SAY_EXCLUDE,	/* no more RAW_UNKNOWN: it does not meet the conditions */
	SAY_UNSEEN,	/* likewise, and nothing of its program is kept */
};

struct transition {
	bool allowed;
	enum proc_state to;
	enum say say;
};

#define TO(state, word) { .allowed = true, .to = PROC_ ## state, .say = SAY_ ## word }

/*
 * Events come from capture_records.c (ASKED, EXEC_SEEN, ADMITTED, ENDED), from capture_filter.c
 * (EXCLUDED, DISMISSED), from capture_inspect.c (all FOUND_..., INSPECT_FAILED, EXEC, ENDED), and
 * from here (DISPLACED).
 *
 * FOUND and ADMITTED begin a new struct process and end the old one, if there is one. A transition
 * to a state without a struct process ends it, too.
 */
static const struct transition transitions[PROC_STATE_CNT][PROC_EVENT_CNT] = {
	[PROC_UNKNOWN] = {
		[PROC_EV_ASKED]			= TO(SEEN, NOTHING),
		[PROC_EV_ADMITTED]		= TO(PROFILED, NOTHING),
	},
	[PROC_SEEN] = {
		[PROC_EV_ASKED]			= TO(SEEN, NOTHING),
		[PROC_EV_EXEC]			= TO(SEEN, NOTHING),
		[PROC_EV_ADMITTED]		= TO(PROFILED, NOTHING),
		[PROC_EV_EXCLUDED]		= TO(UNKNOWN, EXCLUDE),
		[PROC_EV_FOUND]			= TO(PROFILED, WALK),
		[PROC_EV_FOUND_NOTHING]		= TO(OTHER, OTHER),
		[PROC_EV_FOUND_UNCHANGED]	= TO(OTHER, OTHER),
		[PROC_EV_FOUND_UNREADY]		= TO(UNREADY, NOTHING),
		[PROC_EV_FOUND_UNSUPPORTED]	= TO(REFUSED, OTHER),
		[PROC_EV_INSPECT_FAILED]	= TO(OTHER, OTHER),
		[PROC_EV_ENDED]			= TO(UNKNOWN, NOTHING),
	},
	[PROC_OTHER] = {
		[PROC_EV_ASKED]			= TO(SEEN, NOTHING),
		[PROC_EV_EXEC]			= TO(SEEN, NOTHING),
		[PROC_EV_ADMITTED]		= TO(PROFILED, NOTHING),
		[PROC_EV_EXCLUDED]		= TO(UNKNOWN, EXCLUDE),
		[PROC_EV_FOUND]			= TO(PROFILED, WALK),
		[PROC_EV_FOUND_NOTHING]		= TO(OTHER, NOTHING),
		[PROC_EV_FOUND_UNCHANGED]	= TO(OTHER, NOTHING),
		[PROC_EV_FOUND_UNREADY]		= TO(UNREADY, NOTHING),
		[PROC_EV_FOUND_UNSUPPORTED]	= TO(REFUSED, NOTHING),
		[PROC_EV_INSPECT_FAILED]	= TO(OTHER, NOTHING),
		[PROC_EV_ENDED]			= TO(UNKNOWN, NOTHING),
	},
	[PROC_UNREADY] = {
		[PROC_EV_ASKED]			= TO(UNREADY, NOTHING),
		[PROC_EV_EXEC]			= TO(SEEN, NOTHING),
		[PROC_EV_ADMITTED]		= TO(PROFILED, NOTHING),
		[PROC_EV_EXCLUDED]		= TO(UNKNOWN, EXCLUDE),
		[PROC_EV_FOUND]			= TO(PROFILED, WALK),
		[PROC_EV_FOUND_NOTHING]		= TO(OTHER, NOTHING),
		[PROC_EV_FOUND_UNCHANGED]	= TO(UNREADY, NOTHING),
		[PROC_EV_FOUND_UNREADY]		= TO(UNREADY, NOTHING),
		[PROC_EV_FOUND_UNSUPPORTED]	= TO(REFUSED, NOTHING),
		[PROC_EV_INSPECT_FAILED]	= TO(OTHER, NOTHING),
		[PROC_EV_ENDED]			= TO(UNKNOWN, NOTHING),
	},
	[PROC_REFUSED] = {
		[PROC_EV_ASKED]			= TO(REFUSED, OTHER),
		[PROC_EV_EXEC]			= TO(SEEN, NOTHING),
		[PROC_EV_ADMITTED]		= TO(PROFILED, NOTHING),
		[PROC_EV_EXCLUDED]		= TO(UNKNOWN, EXCLUDE),
		[PROC_EV_FOUND]			= TO(PROFILED, WALK),
		[PROC_EV_FOUND_NOTHING]		= TO(OTHER, NOTHING),
		[PROC_EV_FOUND_UNCHANGED]	= TO(REFUSED, NOTHING),
		[PROC_EV_FOUND_UNREADY]		= TO(UNREADY, NOTHING),
		[PROC_EV_FOUND_UNSUPPORTED]	= TO(REFUSED, NOTHING),
		[PROC_EV_INSPECT_FAILED]	= TO(REFUSED, NOTHING),
		[PROC_EV_ENDED]			= TO(UNKNOWN, NOTHING),
	},
	[PROC_PROFILED] = {
		[PROC_EV_ASKED]			= TO(PAUSED, NOTHING),
		[PROC_EV_EXEC]			= TO(SEEN, NOTHING),
		[PROC_EV_EXEC_SEEN]		= TO(PROFILED, WALK_AGAIN),
		[PROC_EV_ADMITTED]		= TO(PROFILED, NOTHING),
		[PROC_EV_EXCLUDED]		= TO(PAUSED, EXCLUDE),
		[PROC_EV_DISPLACED]		= TO(SEEN, NOTHING),
		[PROC_EV_FOUND]			= TO(PROFILED, WALK),
		[PROC_EV_FOUND_SAME]		= TO(PROFILED, NOTHING),
		[PROC_EV_FOUND_NOTHING]		= TO(PROFILED, NOTHING),
		[PROC_EV_FOUND_UNCHANGED]	= TO(PROFILED, NOTHING),
		[PROC_EV_FOUND_UNREADY]		= TO(PROFILED, NOTHING),
		[PROC_EV_FOUND_UNSUPPORTED]	= TO(PROFILED, NOTHING),
		[PROC_EV_INSPECT_FAILED]	= TO(PROFILED, NOTHING),
		[PROC_EV_ENDED]			= TO(UNKNOWN, NOTHING),
	},
	[PROC_PAUSED] = {
		[PROC_EV_ASKED]			= TO(PAUSED, NOTHING),
		[PROC_EV_EXEC]			= TO(SEEN, NOTHING),
		[PROC_EV_EXEC_SEEN]		= TO(PAUSED, NOTHING),
		[PROC_EV_ADMITTED]		= TO(PROFILED, NOTHING),
		[PROC_EV_EXCLUDED]		= TO(PAUSED, EXCLUDE),
		[PROC_EV_DISMISSED]		= TO(UNKNOWN, UNSEEN),
		[PROC_EV_DISPLACED]		= TO(SEEN, NOTHING),
		[PROC_EV_FOUND]			= TO(PROFILED, WALK),
		[PROC_EV_FOUND_SAME]		= TO(PROFILED, WALK_AGAIN),
		[PROC_EV_FOUND_NOTHING]		= TO(OTHER, OTHER),
		[PROC_EV_FOUND_UNCHANGED]	= TO(PAUSED, NOTHING),
		[PROC_EV_FOUND_UNREADY]		= TO(PAUSED, NOTHING),
		[PROC_EV_FOUND_UNSUPPORTED]	= TO(REFUSED, OTHER),
		[PROC_EV_INSPECT_FAILED]	= TO(PAUSED, NOTHING),
		[PROC_EV_ENDED]			= TO(UNKNOWN, NOTHING),
	},
};

uint64_t lifecycle_new_ident(pid_t tgid)
{
	return ((now_ns() ^ (uint64_t)tgid << 40) | 3) ^ 1;
}

void lifecycle_fail(struct lifecycle *l, int err)
{
	if (!l->err)
		l->err = err;
}

/* ---- the entry in py_procs ---- */

/*
 * Of the user with most Python processes, one gives way to a user who has fewer, so that nobody
 * keeps all others from being profiled. Returns false if nobody has more, except perhaps root, who
 * keeps them.
 */
static bool displace_process(struct lifecycle *l, uint32_t uid)
{
	struct tracked *t = LRU_STRUCT(lru_give_way(&l->places, uid), struct tracked, place);

	if (!t)
		return false;
	l->table_full++;
	proc_table_remove(l->table, t->tgid);
	return !lifecycle_step(l, t, PROC_EV_DISPLACED, NULL);
}

/*
 * py_procs is full: removes the entry of a process that is not Python, or is excluded; its ticks
 * will ask again what it is. If there is none, a Python process of another user may give way.
 * Returns false if none does.
 */
static bool make_room(struct lifecycle *l, uint32_t uid)
{
	struct tracked *t;
	size_t pos = 0;

	while ((t = u64map_next(&l->tracked, &pos)))
		if (t->has_entry && !t->process) {
			proc_table_remove(l->table, t->tgid);
			t->has_entry = false;
			return true;
		}
	return proc_table_remove_unseen(l->table, &l->unseen_after) || displace_process(l, uid);
}

static int say_walk(struct lifecycle *l, const struct tracked *t, const struct step *step)
{
	struct py_proc py = step->args->py;
	uint32_t uid = t->process ? process_identity(t->process)->uid : step->args->identity.uid;
	int err;

	py.start_ns = t->start_ns;
	py.euid = EUID_NEVER;
	do
		err = proc_table_put(l->table, t->tgid, &py);
	while (err == -E2BIG && make_room(l, uid));
	l->table_full += err != 0;
	return err;
}

static int say_walk_again(struct lifecycle *l, const struct tracked *t, const struct step *step)
{
	struct py_proc py;

	if (proc_table_get(l->table, t->tgid, &py) && !py.unselected &&
	    (py.state == PY_PROC_PYTHON || py.state == PY_PROC_LINKING))
		return 0;
	return say_walk(l, t, step);
}

bool lifecycle_bpf_admitted(struct lifecycle *l, pid_t tgid, uint64_t start_ns)
{
	struct py_proc py;

	return proc_table_get(l->table, tgid, &py) && py.exe && !py.mismatches &&
	       !py.unselected && (!start_ns || py.start_ns == start_ns);
}

static void say_other(struct lifecycle *l, struct tracked *t)
{
	struct py_proc py = {
		.start_ns = t->start_ns,
		.ident = lifecycle_new_ident(t->tgid),
		.exec_pages = t->exec_pages,
		.euid = EUID_NEVER,
		.state = PY_PROC_OTHER,
	};

	if (!lifecycle_bpf_admitted(l, t->tgid, t->start_ns))
		t->has_entry = !proc_table_put(l->table, t->tgid, &py);
}

/* keep: the process keeps its entry, with the reason added. Otherwise it gets a new one. */
static void say_exclude(struct lifecycle *l, const struct tracked *t, bool keep, uint8_t unselected)
{
	struct py_proc py;

	if (!keep || !proc_table_get(l->table, t->tgid, &py) ||
	    (t->start_ns && py.start_ns != t->start_ns))
		py = (struct py_proc){
			.start_ns = t->start_ns,
			.ident = lifecycle_new_ident(t->tgid),
			.state = PY_PROC_UNSEEN,
		};
	py.unselected = unselected;
	py.euid = EUID_NEVER;
	proc_table_put(l->table, t->tgid, &py);
}

static int write_entry(struct lifecycle *l, struct tracked *t, enum say what,
		       const struct step *step)
{
	switch (what) {
	case SAY_NOTHING:
		break;
	case SAY_WALK:
		return say_walk(l, t, step);
	case SAY_WALK_AGAIN:
		return say_walk_again(l, t, step);
	case SAY_OTHER:
		say_other(l, t);
		break;
	case SAY_EXCLUDE:
		say_exclude(l, t, t->process, step->unselected);
		break;
	case SAY_UNSEEN:
		say_exclude(l, t, false, step->unselected);
		break;
	}
	return 0;
}

/* ---- the observer's begin() and end() ---- */

static void end_process(struct lifecycle *l, struct tracked *t, uint64_t end_ns)
{
	uint64_t until = end_ns ? end_ns : l->stop_ns ? l->stop_ns : now_ns();
	struct process *p = t->process;

	t->process = NULL;
	lru_remove(&l->places, &t->place);
	l->live_cnt--;
	lifecycle_fail(l, process_emit_open_waits(p, until));
	lifecycle_fail(l, process_pages_end(p));
	native_life_end(&l->machine, p, !l->live_cnt);
	if (l->observer->ops->end)
		lifecycle_fail(l, l->observer->ops->end(l->observer, p, end_ns));
	process_free(p);
}

void lifecycle_forget_ended(struct lifecycle *l)
{
	uint32_t ended = l->begun_cnt - l->live_cnt;

	if (ended == l->forgotten)
		return;
	malloc_trim(0);
	l->forgotten = ended;
}

void lifecycle_set_admitted(struct tracked *t, uint64_t inspected_ns)
{
	t->inspected_ns = inspected_ns;
	t->admitted_ns = now_ns();
}

static void begin_process(struct lifecycle *l, struct tracked *t, const struct step *step)
{
	struct process_args args = *step->args;

	args.start_ns = t->start_ns;
	if (!l->places.max)
		lru_init(&l->places, SIZE_MAX, SIZE_MAX);
	t->process = process_new(&args);
	if (!t->process) {
		lifecycle_fail(l, -ENOMEM);
		return;
	}
	lifecycle_fail(l, lru_add(&l->places, &t->place, args.identity.uid));
	t->inspected_ns = t->admitted_ns = 0;
	if (step->inspected_ns)
		lifecycle_set_admitted(t, step->inspected_ns);
	lifecycle_fail(l, native_life_begin(&l->machine, t->process, step->parent));
	t->async = (struct inspect_schedule){ .next_ns = 0 };
	free(t->homes);
	t->homes = NULL;
	l->begun_cnt++;
	l->live_cnt++;
	if (l->observer->ops->begin)
		lifecycle_fail(l, l->observer->ops->begin(l->observer, t->process));
}

/* ---- steps ---- */

static bool has_process(enum proc_state state)
{
	return state == PROC_PROFILED || state == PROC_PAUSED;
}

/* The process runs another program: forgets what is known of the last one. */
static void forget_program(struct tracked *t)
{
	inspect_restart(&t->schedule);
	t->selected = t->has_entry = t->other = t->plain = t->program_seen = false;
	t->asked = t->bpf_ticks = t->files = t->exec_pages = t->program = t->moved_ns = 0;
	t->plain_ns = t->plain_ticks = 0;
}

/* The BPF side does not walk a profiled process any more: an inspection finds out why. */
static void inspect_at_once(struct tracked *t)
{
	t->schedule.next_ns = 0;
	t->files = 0;
}

static void forget_process(struct lifecycle *l, struct tracked *t)
{
	u64map_remove(&l->tracked, t->tgid);
	lifecycle_forget_due(l, t);
	free(t->homes);
	free(t);
}

int lifecycle_step(struct lifecycle *l, struct tracked *t, enum proc_event event,
		   const struct step *step)
{
	static const struct step nothing;
	const struct transition *tr = &transitions[t->state][event];
	bool begins = event == PROC_EV_FOUND || event == PROC_EV_ADMITTED;
	int err;

	if (!tr->allowed)
		return -EINVAL;
	lifecycle_touch(l, t);
	step = step ? step : &nothing;
	err = write_entry(l, t, tr->say, step);
	if (err)
		return err;
	if (t->process && (begins || !has_process(tr->to)))
		end_process(l, t, step->end_ns);
	if (begins)
		begin_process(l, t, step);
	t->state = tr->to;
	t->orphan = t->orphan && !begins;
	if (event == PROC_EV_EXEC || event == PROC_EV_DISPLACED)
		forget_program(t);
	if (event == PROC_EV_DISPLACED)
		inspect_backoff(&t->schedule, now_ns());
	if (event == PROC_EV_ASKED && t->state == PROC_PAUSED)
		inspect_at_once(t);
	if (t->state == PROC_UNKNOWN || (begins && !t->process))
		forget_process(l, t);
	return 0;
}

/* ---- the processes ---- */

struct tracked *lifecycle_find(struct lifecycle *l, pid_t tgid)
{
	struct tracked *t = u64map_get(&l->tracked, tgid);

	if (t)
		lifecycle_touch(l, t);
	return t;
}

struct process *lifecycle_process(struct lifecycle *l, pid_t tgid)
{
	const struct tracked *t = lifecycle_find(l, tgid);

	return t ? t->process : NULL;
}

bool lifecycle_confirm_start(struct tracked *t, uint64_t start_ns)
{
	if (!t->start_ns) {
		t->start_ns = start_ns;
		if (t->process)
			process_set_start(t->process, start_ns);
	}
	return t->start_ns == start_ns;
}

/* A new struct tracked is in state PROC_UNKNOWN. Returns NULL if there is no memory. */
static struct tracked *find_or_make(struct lifecycle *l, pid_t tgid, uint64_t start_ns)
{
	struct tracked *t = lifecycle_find(l, tgid);

	if (t && start_ns && !lifecycle_confirm_start(t, start_ns)) {
		lifecycle_step(l, t, PROC_EV_ENDED, NULL);	/* the pid was reused */
		t = NULL;
	}
	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t || u64map_put(&l->tracked, tgid, t)) {
		free(t);
		lifecycle_fail(l, -ENOMEM);
		return NULL;
	}
	t->tgid = tgid;
	t->start_ns = start_ns;
	return t;
}

uint64_t lifecycle_unidentified(const struct tracked *t)
{
	return t->other ? 0 : t->asked;
}

struct tracked *lifecycle_ask(struct lifecycle *l, pid_t tgid, uint64_t start_ns)
{
	struct tracked *t = find_or_make(l, tgid, start_ns);

	if (t)
		lifecycle_step(l, t, PROC_EV_ASKED, NULL);
	return t;
}

struct tracked *lifecycle_admit(struct lifecycle *l, const struct step *step)
{
	const struct process_args *args = step->args;
	struct tracked *t = find_or_make(l, args->tgid, args->start_ns);

	if (!t)
		return NULL;
	if (t->state != PROC_UNKNOWN)
		forget_program(t);
	lifecycle_step(l, t, PROC_EV_ADMITTED, step);
	if (l->err)
		return NULL;
	inspect_no_more(&t->schedule);
	return t;
}

void lifecycle_free(struct lifecycle *l)
{
	struct tracked *t;
	size_t pos = 0;

	while ((t = u64map_next(&l->tracked, &pos))) {
		process_free(t->process);
		free(t->homes);
		free(t);
	}
	u64map_free(&l->tracked);
	lru_free(&l->places);
}

struct tracked *lifecycle_next_profiled(struct lifecycle *l, size_t *pos)
{
	struct tracked *t;

	while ((t = u64map_next(&l->tracked, pos)))
		if (t->process)
			return t;
	return NULL;
}

uint64_t lifecycle_sweep_gone(struct lifecycle *l)
{
	uint64_t asked = 0;
	struct tracked *t;
	size_t pos = 0;

	while ((t = u64map_next(&l->tracked, &pos))) {
		if (t->process || !kill(t->tgid, 0) || errno != ESRCH)
			continue;
		asked += t->schedule.tries ? 0 : lifecycle_unidentified(t);
		lifecycle_step(l, t, PROC_EV_ENDED, NULL);
	}
	return asked;
}
