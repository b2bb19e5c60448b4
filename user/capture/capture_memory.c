// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * capture_memory.c - when the pages of which process are checked in --mode mem: new ones within
 * some 30 ms, all of them once in an interval and at the end.
 *
 * Each process is asked about in its turn, and few questions are open at a time, so a process with
 * many pages does not delay the others. The progress of each process is in its struct pages_round.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "capture/capture_state.h"
#include "memory/page_check.h"

#define MS_NS 1000000ull
#define SECOND_NS 1000000000ull
/*
 * How long faults wait in the ring buffer, and again until they are asked about. The sooner, the
 * fewer pages have changed their owner meanwhile.
 */
#define BATCH_MS 20
#define NEW_MS 10
/*
 * Checking all pages may take the worker 5 % of a CPU's time: a page takes 0.7 to 1.7 us. A process
 * with more pages is checked less often. New pages are few, and do not wait for that.
 */
#define LOOK_PAGES_A_SECOND 32768u
/* A process without faults is checked after 2, 4, 8 intervals. */
#define IDLE_MAX 3
/* Questions about what has become of the contents of pages, after each check of a process. */
#define LOOKS_A_CHECK 4
/* At the end. */
#define SETTLE_MS 2000
#define WAIT_MS 20

struct capture_memory {
	struct page_check *check;
	uint64_t interval_ns, asked_ns;
	size_t at;		/* whose turn it is, as for lifecycle_next_profiled() */
	bool stopping;		/* and in a hurry */
	uint64_t looked_ns;	/* time that checks have taken, as of now or later */
	uint64_t addrs[PAGE_CHECK_MAX];
};

/*
 * A page_answer_fn. The process may have ended since, and its pid been reused; its start may have
 * become known since.
 */
static void take_answer(void *ctx, const struct page_answer *answer)
{
	struct capture *s = ctx;
	struct process *p = lifecycle_process(&s->life, answer->tgid);

	if (p && (!answer->start_ns || process_start_ns(p) == answer->start_ns))
		lifecycle_fail(&s->life, process_pages_take(p, answer));
}

static int memory_open(struct capture *s)
{
	struct capture_memory *m;
	int err;

	if (!s->mode->memory)
		return 0;
	m = calloc(1, sizeof(*m));
	s->memory = m;
	if (!m)
		return -ENOMEM;
	m->interval_ns = s->args.interval_s > 0 ? (uint64_t)(s->args.interval_s * SECOND_NS) :
						  SECOND_NS;
	m->check = page_check_new(take_answer, s);
	err = m->check ? page_check_start(m->check) : -errno;
	if (err)
		log_error("cannot start the process that checks pages: %s", strerror(-err));
	return err;
}

static int memory_fd(const struct capture *s)
{
	return s->memory ? page_check_fd(s->memory->check) : -1;
}

static void memory_free(struct capture *s)
{
	if (s->memory)
		page_check_free(s->memory->check);
	free(s->memory);
}

/* Returns false if not now. What was asked about and is lost is asked about with all pages. */
static bool ask_pages(struct capture_memory *m, const struct process *p, enum pages_tag tag,
		      size_t cnt)
{
	enum page_asked what = tag < PAGES_SOON ? PAGES_THERE :
			       m->stopping ? PAGES_CONTENTS_LAST : PAGES_CONTENTS;

	return !page_check_ask(m->check, process_tgid(p), process_start_ns(p), tag, what, m->addrs,
			       cnt);
}

static bool has_room(const struct capture_memory *m)
{
	return page_check_open(m->check) < PAGE_CHECK_OPEN_MAX;
}

/* The first check: what the process has before anything was seen. */
static bool ask_first(struct capture_memory *m, const struct process *p, struct pages_round *r,
		      uint64_t now)
{
	r->begun = ask_pages(m, p, PAGES_LAST, 0);
	r->next_ns = now + m->interval_ns;
	return r->begun;
}

static bool ask_new(struct capture_memory *m, const struct process *p)
{
	uint64_t pos = 0;
	size_t n = process_pages_ask(p, false, &pos, m->addrs, PAGE_CHECK_MAX);

	return n && ask_pages(m, p, PAGES_NEW, n);
}

/* What is in pages that were touched just now, before their user has time to free it. */
static bool ask_soon(struct capture_memory *m, const struct process *p, uint64_t now)
{
	size_t n = process_contents_ask(p, false, now, m->addrs, PAGE_LOOK_MAX);

	return n && ask_pages(m, p, PAGES_SOON, n);
}

/* What has become of it since, for the next pages. */
static bool ask_again(struct capture_memory *m, const struct process *p, struct pages_round *r,
		      uint64_t now)
{
	size_t n;

	if (!r->looks)
		return false;
	n = process_contents_ask(p, true, now, m->addrs, PAGE_LOOK_MAX);
	r->looks = n ? r->looks - 1 : 0;
	return n && ask_pages(m, p, PAGES_AGAIN, n);
}

/* An idle process is checked less often; it may still have given memory back. */
static void begin_look(const struct capture_memory *m, struct pages_round *r, uint64_t now)
{
	if (r->touched)
		r->idle = 0;
	else if (r->idle < IDLE_MAX)
		r->idle++;
	r->touched = false;
	r->pos = 0;
	r->looks = m->stopping ? UINT32_MAX : LOOKS_A_CHECK;
	r->next_ns = now + (m->interval_ns << r->idle);
}

/* Asks about the next pages of a full check. If that fails, the next check begins later. */
static bool ask_all(struct capture_memory *m, const struct process *p, struct pages_round *r,
		    uint64_t now)
{
	bool asked;
	size_t n;

	if (!r->going)
		begin_look(m, r, now);
	n = process_pages_ask(p, true, &r->pos, m->addrs, PAGE_CHECK_MAX);
	m->looked_ns += n * SECOND_NS / LOOK_PAGES_A_SECOND;
	asked = ask_pages(m, p, r->pos == UINT64_MAX ? PAGES_LAST : PAGES_ALL, n);
	r->going = asked && r->pos != UINT64_MAX;
	return asked;
}

static bool may_look(struct capture_memory *m, uint64_t now)
{
	if (m->looked_ns < now)
		m->looked_ns = now;
	return m->stopping || m->looked_ns < now + NEW_MS * MS_NS;
}

/* Asks one question about a process. Returns false if there is none. */
static bool ask_about(struct capture_memory *m, struct process *p, uint64_t now)
{
	struct pages_round *r = process_pages_round(p);

	if (!r)
		return false;
	if (!r->begun)
		return ask_first(m, p, r, now);
	if (ask_new(m, p) || ask_again(m, p, r, now))
		return true;
	return (r->going || (now >= r->next_ns && process_pages_due(p))) && may_look(m, now) &&
	       ask_all(m, p, r, now);
}

/* Asks once for all processes, from where the last call ended. Returns the number of questions. */
static uint32_t ask_each(struct capture *s, uint64_t now)
{
	struct capture_memory *m = s->memory;
	uint32_t i, asked = 0, cnt = s->life.live_cnt;
	struct tracked *t;

	for (i = 0; i < cnt && has_room(m); i++) {
		t = lifecycle_next_profiled(&s->life, &m->at);
		if (!t) {
			m->at = 0;
			t = lifecycle_next_profiled(&s->life, &m->at);
		}
		asked += t && ask_about(m, t->process, now);
	}
	return asked;
}

/* Asks until no more questions can be open, or none are left. */
static void ask_all_processes(struct capture *s, uint64_t now)
{
	while (ask_each(s, now) && has_room(s->memory))
		;
}

static void ask_soon_all(struct capture *s, uint64_t now)
{
	struct capture_memory *m = s->memory;
	struct pages_round *r;
	struct tracked *t;
	size_t pos = 0;

	while (has_room(m) && (t = lifecycle_next_profiled(&s->life, &pos))) {
		r = process_pages_round(t->process);
		if (r && r->begun)
			ask_soon(m, t->process, now);
	}
}

/* A record waits no longer than that. */
static uint64_t memory_wait_ns(struct capture *s, uint64_t now_ns, uint64_t limit_ns)
{
	return s->memory && limit_ns > BATCH_MS * MS_NS ? BATCH_MS * MS_NS : limit_ns;
}

/* While questions are open, their answers wake us, and bring the next ones. */
static void memory_poll(struct capture *s)
{
	struct capture_memory *m = s->memory;
	uint64_t now = now_ns();
	bool waits;

	if (!m)
		return;
	waits = page_check_open(m->check) == PAGE_CHECK_OPEN_MAX;
	page_check_poll(m->check, s->taken_ns);
	if (s->args.contents)
		ask_soon_all(s, now);
	if (now - m->asked_ns < NEW_MS * MS_NS && !waits)
		return;
	m->asked_ns = now;
	ask_all_processes(s, now);
}

/* Each process has a last check of all its pages. Returns false if none is left. */
static bool looks_go_on(struct capture *s, bool begin)
{
	struct pages_round *r;
	struct tracked *t;
	size_t pos = 0;
	bool any = false;

	while ((t = lifecycle_next_profiled(&s->life, &pos))) {
		r = process_pages_round(t->process);
		if (!r)
			continue;
		if (begin) {
			r->begun = true;
			r->going = false;
			r->next_ns = 0;
			r->look_pos = 0;
		}
		any |= process_pages_due(t->process) && (r->going || !r->next_ns || r->looks);
	}
	return any;
}

/* Checks all pages of all processes, for at most 2 s. */
static void memory_settle(struct capture *s)
{
	struct capture_memory *m = s->memory;
	uint64_t end, now = now_ns();
	bool more;

	if (!m)
		return;
	end = now + SETTLE_MS * MS_NS;
	m->stopping = true;
	page_check_settle(m->check, SETTLE_MS / 2);
	for (more = looks_go_on(s, true); more && now < end && !s->life.err; now = now_ns()) {
		ask_all_processes(s, now);
		if (!has_room(m))
			page_check_settle(m->check, WAIT_MS);
		more = looks_go_on(s, false);
	}
	now = now_ns();
	if (now < end)
		page_check_settle(m->check, (int)((end - now) / MS_NS));
}

const struct source_ops capture_memory_source = {
	.open = memory_open,
	.fd = memory_fd,
	.poll = memory_poll,
	.wait_ns = memory_wait_ns,
	.settle = memory_settle,
	.free = memory_free,
};
