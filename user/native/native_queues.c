// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* native_queues.c - see native_queues.h. */
#include "native/native_queues.h"

#include "base/util.h"

#define PAUSE_DOUBLINGS 6
#define GOOD_NS (60 * NS_PER_S)	/* a user whose last pause is as long ago has done nothing */

/* ---- users ---- */

static bool is_of_turns(enum file_queue queue)
{
	return queue != QUEUE_OPEN && queue != QUEUE_COPY;
}

static enum turn_of_whom whose(enum file_queue queue)
{
	return queue == QUEUE_DEBUG ? TURN_SERVERS : TURN_HELPERS;
}

static bool waits_for(const struct turn *t, enum turn_of_whom whom)
{
	enum file_queue queue = 0;

	while (queue < QUEUES && !(t->queues[queue].first && whose(queue) == whom))
		queue++;
	return queue < QUEUES;
}

static bool turn_waits(const struct turn *t)
{
	return waits_for(t, TURN_HELPERS) || waits_for(t, TURN_SERVERS);
}

/* Beyond TURNS_MAX users at a time, some share a turn. */
static struct turn *new_turn(struct native *n, uint32_t uid)
{
	struct turn *t = &n->turns[uid % TURNS_MAX];
	size_t i;

	if (n->turn_cnt < TURNS_MAX)
		t = &n->turns[n->turn_cnt++];
	for (i = 0; turn_waits(t) && i < TURNS_MAX; i++)
		t = &n->turns[i];
	if (turn_waits(t))
		return &n->turns[uid % TURNS_MAX];
	*t = (struct turn){ .uid = uid };
	return t;
}

/* Time in which a user wanted nothing cannot be saved. */
static struct turn *turn_of(struct native *n, uint32_t uid)
{
	struct turn *t = n->turns;
	enum turn_of_whom whom;

	while (t < n->turns + n->turn_cnt && t->uid != uid)
		t++;
	if (t == n->turns + n->turn_cnt)
		t = new_turn(n, uid);
	for (whom = 0; whom < TURN_KINDS; whom++)
		if (!waits_for(t, whom) && t->used_ns[whom] < n->turn_ns[whom])
			t->used_ns[whom] = n->turn_ns[whom];
	return t;
}

/* Returns the first of these queues in which a file waits for its turn; QUEUES: there is none. */
static enum file_queue first_queue(const struct turn *t, const enum file_queue *queues, size_t cnt)
{
	size_t i;

	for (i = 0; i < cnt && !t->queues[queues[i]].first; i++)
		continue;
	return i < cnt ? queues[i] : QUEUES;
}

/* Returns the turn with files in one of these queues, of the same kind, that has used least. */
static struct turn *next_turn(struct native *n, const enum file_queue *queues, size_t cnt)
{
	enum turn_of_whom whom = whose(queues[0]);
	struct turn *t, *next = NULL;

	for (t = n->turns; t < n->turns + n->turn_cnt; t++)
		if (first_queue(t, queues, cnt) < QUEUES && t->again_ns <= n->now &&
		    (!next || t->used_ns[whom] < next->used_ns[whom]))
			next = t;
	if (next && n->turn_ns[whom] < next->used_ns[whom])
		n->turn_ns[whom] = next->used_ns[whom];
	return next;
}

void turn_charge(struct turn *t, enum turn_of_whom whom, uint64_t ns)
{
	t->used_ns[whom] += ns;
}

void turn_punish(struct native *n, struct turn *t)
{
	if (n->now > t->again_ns + GOOD_NS)
		t->pauses = 0;
	t->again_ns = n->now + (NS_PER_S << t->pauses);
	t->pauses += t->pauses < PAUSE_DOUBLINGS;
}

/* ---- queues ---- */

static struct file_fifo *fifo_of(struct native *n, enum file_queue queue, const struct file *f)
{
	return is_of_turns(queue) ? &f->turn->queues[queue] : &n->queues[queue];
}

static void append_file(struct file_fifo *q, enum file_queue queue, struct file *f)
{
	f->queued |= 1u << queue;
	f->next[queue] = NULL;
	f->prev[queue] = q->last;
	*(q->last ? &q->last->next[queue] : &q->first) = f;
	q->last = f;
}

static void remove_file(struct file_fifo *q, enum file_queue queue, struct file *f)
{
	struct file *next = f->next[queue], *prev = f->prev[queue];

	*(prev ? &prev->next[queue] : &q->first) = next;
	*(next ? &next->prev[queue] : &q->last) = prev;
	f->queued &= ~(1u << queue);
}

void file_push(struct native *n, enum file_queue queue, struct file *f)
{
	if (f->queued & 1u << queue)
		return;
	if (!f->turn)
		f->turn = turn_of(n, f->place.uid);
	append_file(fifo_of(n, queue, f), queue, f);
}

struct file *file_pop_first(struct native *n, const enum file_queue *queues, size_t cnt,
			    enum file_queue *which)
{
	struct turn *t = next_turn(n, queues, cnt);
	struct file *f;

	if (!t)
		return NULL;
	*which = first_queue(t, queues, cnt);
	f = t->queues[*which].first;
	remove_file(&t->queues[*which], *which, f);
	return f;
}

struct file *file_pop(struct native *n, enum file_queue queue)
{
	struct file *f;

	if (is_of_turns(queue))
		return file_pop_first(n, &queue, 1, &queue);
	f = n->queues[queue].first;
	if (f)
		remove_file(&n->queues[queue], queue, f);
	return f;
}

bool file_waits(const struct native *n, enum file_queue queue)
{
	const struct turn *t;

	if (!is_of_turns(queue))
		return n->queues[queue].first;
	for (t = n->turns; t < n->turns + n->turn_cnt; t++)
		if (t->queues[queue].first)
			return true;
	return false;
}

/* ---- whose turn a file takes ---- */

static bool is_wanted(const struct file *f)
{
	return f->stage <= FILE_MATCHING || f->wanted_cnt ||
	       f->queued & (1u << QUEUE_MATCH | 1u << QUEUE_MATCH_LATER);
}

static void move_file(struct file *f, struct turn *to)
{
	enum file_queue queue;

	for (queue = 0; queue < QUEUES; queue++) {
		if (!is_of_turns(queue) || !(f->queued & 1u << queue))
			continue;
		remove_file(&f->turn->queues[queue], queue, f);
		append_file(&to->queues[queue], queue, f);
	}
	f->turn = to;
}

void file_wanted_by(struct native *n, struct file *f, uint32_t uid)
{
	struct turn *t = turn_of(n, uid);

	if (!f->turn || !is_wanted(f) || t->used_ns[TURN_HELPERS] < f->turn->used_ns[TURN_HELPERS])
		move_file(f, t);
}
