// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * waits.c - see waits.h.
 *
 * A full ring buffer loses records. If a switch-in was lost, the thread's next record of any kind
 * ends the wait. If a switch-out was lost, the switch-in says so (out_lost, out_ns), and the wait
 * gets the thread's last known stack and STATUS_UNKNOWN.
 */
#include "resolve/waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/u64map.h"

struct wait_thread {
	bool out;		/* it is off-CPU */
	bool known;		/* head is filled */
	uint64_t out_ns;	/* when it left its CPU */
	uint64_t done_ns;	/* the time until then has been emitted */
	uint64_t rest_ns[WAIT_KIND_CNT];	/* not emitted yet: less than an interval */
	struct raw_head head;	/* of its last record with a stack */
};

struct waits {
	struct wait_rules rules;
	wait_fn fn;
	void *ctx;
	struct u64map threads;	/* tid -> struct wait_thread */
	struct wait_stats stats;
};

struct waits *waits_new(const struct wait_rules *rules, wait_fn fn, void *ctx)
{
	struct waits *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->rules = *rules;
	w->fn = fn;
	w->ctx = ctx;
	return w;
}

void waits_free(struct waits *w)
{
	struct wait_thread *t;
	size_t pos = 0;

	if (!w)
		return;
	while ((t = u64map_next(&w->threads, &pos)))
		free(t);
	u64map_free(&w->threads);
	free(w);
}

static struct wait_thread *find_thread(struct waits *w, uint32_t tid)
{
	return u64map_get(&w->threads, tid);
}

static struct wait_thread *find_or_add(struct waits *w, uint32_t tid)
{
	struct wait_thread *t = find_thread(w, tid);

	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (t && !u64map_put(&w->threads, tid, t))
		return t;
	free(t);
	return NULL;
}

static void remember_head(struct wait_thread *t, const struct raw_head *raw)
{
	t->head = *raw;
	t->known = true;
}

/* Emits the time between from and to; a remainder shorter than an interval is kept. */
static int add_time(struct waits *w, struct wait_thread *t, enum wait_kind kind, uint64_t from,
		    uint64_t to)
{
	uint64_t interval = w->rules.interval_ns, rest = t->rest_ns[kind], time;
	struct wait_stretch stretch = { .head = &t->head, .kind = kind };

	if (to <= from || (kind == WAIT_CPU && !w->rules.runnable))
		return 0;
	time = rest + (to - from);
	t->rest_ns[kind] = time % interval;
	stretch.cnt = time / interval;
	stretch.time_ns = from + (interval - rest);
	return stretch.cnt ? w->fn(w->ctx, &stretch) : 0;
}

/* Emits the time from t->done_ns to `to`. After wake_ns (0: unknown) the thread was runnable. */
static int account_wait(struct waits *w, struct wait_thread *t, uint64_t to, uint64_t wake_ns)
{
	bool gil = t->head.status & STATUS_GIL_REQUESTED && !raw_wait_is_held(t->head.h.sysno);
	uint64_t from = t->done_ns, woken = wake_ns ? wake_ns : to;
	int err;

	if (to <= from)
		return 0;
	if (t->head.h.why == WHY_RUNNABLE)
		woken = from;
	if (gil && t->head.h.why == WHY_BLOCKED)
		woken = to;	/* until it runs it does not hold the GIL */
	woken = woken < from ? from : woken > to ? to : woken;
	if ((w->rules.runnable ? to : woken) - t->out_ns < w->rules.min_ns)
		return 0;
	t->done_ns = to;
	err = add_time(w, t, gil ? WAIT_GIL : WAIT_BLOCKED, from, woken);
	return err ? err : add_time(w, t, WAIT_CPU, woken, to);
}

/* A record of thread t has come. If t is still off-CPU, its switch-in was lost: ends the wait. */
static int repair_wait(struct waits *w, struct wait_thread *t, uint64_t now_ns)
{
	if (!t->out)
		return 0;
	t->out = false;
	w->stats.repaired++;
	return account_wait(w, t, now_ns, 0);
}

int waits_tick(struct waits *w, const struct raw_head *raw)
{
	struct wait_thread *t = find_or_add(w, raw->tid);
	int err;

	if (!t)
		return -ENOMEM;
	err = repair_wait(w, t, raw->h.time_ns);
	remember_head(t, raw);
	return err;
}

int waits_no_stack(struct waits *w, uint32_t tid, uint64_t now_ns)
{
	struct wait_thread *t = find_thread(w, tid);

	return t ? repair_wait(w, t, now_ns) : 0;
}

static void begin_wait(struct waits *w, struct wait_thread *t, uint64_t out_ns)
{
	t->out = true;
	t->out_ns = t->done_ns = out_ns;
	w->stats.waits++;
}

/* The wait was not walked and gets the last known stack. Only "main" of its status is certain. */
static void guess_stack(struct waits *w, struct wait_thread *t, const struct raw_header *h)
{
	w->stats.guessed++;
	t->head.status = (t->head.status & STATUS_MAIN_THREAD) | STATUS_UNKNOWN;
	t->head.h = *h;
}

int waits_switch_out(struct waits *w, const struct raw_head *raw)
{
	bool walked = !(raw->flags & RAW_NOT_WALKED);
	struct wait_thread *t = walked ? find_or_add(w, raw->tid) : find_thread(w, raw->tid);
	int err;

	/* The BPF side has seen the stack, but here it is no longer known. */
	if (!walked && raw->h.kind == RAW_SWITCH_SAME && (!t || !t->known))
		w->stats.forgotten++;
	if (!t)
		return walked ? -ENOMEM : 0;
	err = repair_wait(w, t, raw->h.time_ns);
	if (!walked) {
		if (!t->known)
			return err;
		guess_stack(w, t, &raw->h);
	} else {
		remember_head(t, raw);
	}
	begin_wait(w, t, raw->h.time_ns);
	return err;
}

/*
 * The thread's last switch-out was not sent (out_lost); run->out_ns is its time. If the thread is
 * still off-CPU, that wait began earlier, and its switch-in was lost, too.
 */
static int begin_lost_switch_out(struct waits *w, struct wait_thread *t,
				 const struct raw_switch_in *run)
{
	struct raw_header h = run->h;
	int err = repair_wait(w, t, run->out_ns);

	h.why = WHY_BLOCKED;
	h.sysno = RAW_SYSNO_NONE;
	guess_stack(w, t, &h);
	begin_wait(w, t, run->out_ns);
	return err;
}

int waits_switch_in(struct waits *w, const struct raw_switch_in *run)
{
	struct wait_thread *t = find_thread(w, run->tid);
	bool out_lost = run->out_lost && run->out_ns < run->h.time_ns;
	int err = 0, end_err;

	if (!t)
		return 0;	/* a thread without a stack has no samples */
	if (out_lost && (t->out ? run->out_ns > t->out_ns : t->known))
		err = begin_lost_switch_out(w, t, run);
	if (!t->out)
		return err;
	t->out = false;
	end_err = account_wait(w, t, run->h.time_ns, run->wake_ns);
	return err ? err : end_err;
}

bool waits_exit(struct waits *w, uint32_t tid, uint32_t *interp_id)
{
	struct wait_thread *t = u64map_remove(&w->threads, tid);
	bool known = t && t->known;

	if (known)
		*interp_id = t->head.interp_id;
	free(t);
	return known;
}

void waits_forget(struct waits *w, uint32_t tid, uint32_t interp_id, bool lives)
{
	struct wait_thread *t = find_thread(w, tid);

	if (!t || t->head.interp_id != interp_id)
		return;
	w->stats.forgotten += t->out && lives;
	u64map_remove(&w->threads, tid);
	free(t);
}

int waits_emit_open(struct waits *w, uint64_t now_ns)
{
	struct wait_thread *t;
	size_t pos = 0;
	int err = 0;

	while (!err && (t = u64map_next(&w->threads, &pos)))
		if (t->out)
			err = account_wait(w, t, now_ns, 0);
	return err;
}

void waits_stats(const struct waits *w, struct wait_stats *out)
{
	*out = w->stats;
}
