// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * capture_chains.c - for --async in CPython 3.8 to 3.13, and for trio: reads who awaits the task of
 * a sample, as soon as its RAW_TASK has arrived, while the task lives (asyncio/chain.h). What it
 * has read the BPF side recognises from then on (known_chains.h).
 *
 * The reader may use a share of a CPU for that. Users that ask for chains have the same part of it,
 * and so have the processes of a user. What exceeds it is counted, and the stack keeps the loop.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "asyncio/record.h"
#include "base/u64map.h"
#include "base/util.h"
#include "capture/capture_state.h"
#include "capture/known_chains.h"
#include "host/identity.h"
#include "memory/remote_mem.h"
#include "resolve/process.h"
#include "tachbpf.skel.h"

/* In each period chains may take so long. */
#define PERIOD_NS 100000000ull
#define CHAINS_NS (PERIOD_NS / 5)
/* Later the task may be awaited by others than when the sample was taken. */
#define LATE_NS 150000000ull
/*
 * Limit on what a chain counts for: longer than that the reader has waited for a CPU. Some 40 reads
 * for each task.
 */
#define TASK_NS 60000
/* Users that are told apart. */
#define USERS_MAX 1024

/* Those who ask for chains in a period: processes of a user, or users. */
struct party {
	struct chain_time time;
	uint32_t cnt, cnt_before;	/* how many have asked; in the period before */
};

struct capture_chains {
	struct party all;
	struct u64map users;		/* uid -> struct party */
	uint32_t user_cnt;
	struct party more;		/* further users */
	struct async_others others;
	struct known_chains known;
};

/* ---- shares ---- */

/* Returns true if this is the first time in this period. */
static bool begin_period(struct chain_time *t, uint64_t period)
{
	if (t->period == period)
		return false;
	*t = (struct chain_time){ .period = period };
	return true;
}

/* Returns the same for a party, whose counts are set. */
static bool party_begins(struct party *p, uint64_t period)
{
	bool next = p->time.period + 1 == period;

	if (!begin_period(&p->time, period))
		return false;
	p->cnt_before = next ? p->cnt : 0;
	p->cnt = 0;
	return true;
}

static uint32_t party_size(const struct party *p)
{
	uint32_t cnt = p->cnt > p->cnt_before ? p->cnt : p->cnt_before;

	return cnt ? cnt : 1;
}

static struct party *user_of(struct capture_chains *c, const struct tracked *t)
{
	uint64_t uid = process_identity(t->process)->uid;
	struct party *p = u64map_get(&c->users, uid);

	if (p || c->user_cnt >= USERS_MAX)
		return p ? p : &c->more;
	p = calloc(1, sizeof(*p));
	if (!p || u64map_put(&c->users, uid, p)) {
		free(p);
		return &c->more;
	}
	c->user_cnt++;
	return p;
}

/* Returns true if a chain of this process may be read now. */
static bool has_time(struct capture *s, struct tracked *t, struct party *user, uint64_t now)
{
	struct capture_chains *c = s->chains;
	uint64_t period = now / PERIOD_NS + 1, share;

	party_begins(&c->all, period);
	c->all.cnt += party_begins(user, period);
	user->cnt += begin_period(&t->chain_time, period);
	s->skel->bss->chains_wait = c->all.time.spent_ns >= CHAINS_NS;
	share = CHAINS_NS / party_size(&c->all);
	return c->all.time.spent_ns < CHAINS_NS && user->time.spent_ns < share &&
	       t->chain_time.spent_ns < share / party_size(user);
}

static void count_time(struct capture_chains *c, struct tracked *t, struct party *user,
		       const struct task_chain *chain, uint64_t took_ns)
{
	uint64_t most = (chain->raw.ntasks + 2) * TASK_NS;

	if (took_ns > most)
		took_ns = most;
	c->all.time.spent_ns += took_ns;
	user->time.spent_ns += took_ns;
	t->chain_time.spent_ns += took_ns;
}

/* ---- callbacks that are not known ---- */

static void count_other(struct async_others *o, const char *name)
{
	uint32_t i;

	for (i = 0; i < o->cnt && strcmp(o->other[i].name, name); i++)
		;
	if (i == ASYNC_OTHERS_MAX) {
		o->rest++;
		return;
	}
	if (i == o->cnt) {
		_Static_assert(sizeof(o->other[i].name) >= AWAITERS_NAME_BYTES, "it fits");
		memcpy(o->other[i].name, name, AWAITERS_NAME_BYTES);
		o->cnt++;
	}
	o->other[i].cnt++;
}

const struct async_others *capture_chains_others(const struct capture *s)
{
	return s->chains ? &s->chains->others : NULL;
}

/* ---- records ---- */

static void set_sample(const struct raw_task *q, struct raw_async *out)
{
	out->h = q->h;
	out->tid = q->tid;
	out->interp_id = q->interp_id;
	out->cpu = q->cpu;
	out->at = q->at;
}

static void no_chain(const struct raw_task *q, enum async_end end, struct task_chain *out)
{
	memset(out, 0, offsetof(struct task_chain, raw.frames));
	set_sample(q, &out->raw);
	out->raw.end = end;
	out->other[0] = '\0';
}

/* Where tasks of its kind are; false: unknown. */
static bool chain_at(struct capture *s, struct tracked *t, const struct raw_task *q,
		     struct tasks_at *at)
{
	if (q->trio) {
		const struct cpython_image *image = process_image(t->process);

		*at = (struct tasks_at){ .l = image->layout, .objects = image->objects,
					 .library = TASKS_TRIO };
		at->async.coro = image->coro;
		return true;
	}
	/* A child of a process that has tasks: the BPF side knew it before us. */
	if (!t->homes)
		capture_async_look(s, t);
	return t->homes && capture_async_at(s, t, at);
}

/* The BPF side has recognised it, and it is kept no more: counted as late. */
static void take_known(struct capture *s, const struct raw_task *q, struct task_chain *out)
{
	const struct known_chain *k = known_chains_get(&s->chains->known, q->known);

	no_chain(q, ASYNC_TIME, out);
	if (!k)
		return;
	memcpy(&out->raw, k->raw, offsetof(struct raw_async, frames) +
	       k->raw->nframes * sizeof(k->raw->frames[0]));
	memcpy(out->other, k->other, sizeof(out->other));
	set_sample(q, &out->raw);
	out->raw.name_at.len = 0;
}

static void read_chain(struct capture *s, struct tracked *t, const struct raw_task *q,
		       struct task_chain *out)
{
	struct party *user = user_of(s->chains, t);
	uint64_t now = now_ns();
	struct tasks_at at;
	int err;

	no_chain(q, ASYNC_UNREADABLE, out);
	if (!chain_at(s, t, q, &at))
		return;
	out->raw.end = ASYNC_TIME;
	if (!has_time(s, t, user, now) || now > q->h.time_ns + LATE_NS)
		return;
	err = remote_task_chain(t->tgid, &at, q, out);
	/* The reader may be compromised. */
	if (!err && !async_record_is_whole(&out->raw, sizeof(out->raw)))
		err = -EBADMSG;
	if (err)
		no_chain(q, err == -EBUSY ? ASYNC_TIME : ASYNC_GONE, out);
	count_time(s->chains, t, user, out, now_ns() - now);
	if (!err && !s->args.task_names)
		known_chains_put(&s->chains->known, s->skel->maps.async_chains, t->tgid, q, out);
	if (!err && out->gone)
		no_chain(q, ASYNC_GONE, out);
}

int capture_chains_take(struct capture *s, struct tracked *t, const struct raw_task *q, size_t len)
{
	static struct task_chain chain;

	if (len < offsetof(struct raw_task, name_bytes) || (!q->known && len < sizeof(*q)))
		return -EBADMSG;
	if (!s->chains)
		s->chains = calloc(1, sizeof(*s->chains));
	if (!s->chains)
		return -ENOMEM;
	if (q->known)
		take_known(s, q, &chain);
	else
		read_chain(s, t, q, &chain);
	if (chain.raw.end == ASYNC_SHAPE)
		count_other(&s->chains->others, chain.other);
	chain.raw.h.kind = RAW_ASYNC;
	chain.raw.flags |= q->flags & ASYNC_INSIDE;
	return process_take(t->process, &chain.raw.h, offsetof(struct raw_async, frames) +
			    chain.raw.nframes * sizeof(chain.raw.frames[0]));
}

static void chains_free(struct capture *s)
{
	struct party *p;
	size_t pos = 0;

	if (!s->chains)
		return;
	while ((p = u64map_next(&s->chains->users, &pos)))
		free(p);
	u64map_free(&s->chains->users);
	known_chains_free(&s->chains->known);
	free(s->chains);
	s->chains = NULL;
}

const struct source_ops capture_chains_source = {
	.free = chains_free,
};
