// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* page_check.c - see page_check.h: questions, answers, and a worker that does not answer. */
#include "memory/page_check.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/time.h"
#include "base/util.h"
#include "memory/page_check_wire.h"

/* A question of 2,048 pages takes about 3 ms; one about huge pages 30 ms. */
#define ANSWER_MS 2000
/* Limit on the wait while the worker only waits for a CPU. */
#define SLOW_MS 20000
#define AGAIN_MS 1000

struct asked {
	struct page_question q;
	uint64_t tag, asked_ns;
};

struct page_check {
	page_answer_fn fn;
	void *ctx;
	struct worker worker;
	int fd, epoll;			/* fd: to the worker; -1: there is none */
	uint64_t again_ns;		/* earliest time of the next start */
	uint64_t numbers;
	uint64_t answered_ns;
	uint32_t first, open;		/* of asked, a ring */
	struct asked asked[PAGE_CHECK_OPEN_MAX];
	size_t waiting;			/* bytes of a reply whose turn has not come; 0: none */
	struct page_reply reply;
};

struct page_check *page_check_new(page_answer_fn fn, void *ctx)
{
	struct page_check *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->fn = fn;
	c->ctx = ctx;
	c->fd = -1;
	c->worker.kind = &page_check_kind;
	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (c->epoll < 0) {
		free(c);
		return NULL;
	}
	return c;
}

static void hang_up(struct page_check *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	c->open = 0;
	c->waiting = 0;
	c->again_ns = now_ns() + AGAIN_MS * NS_PER_MS;
}

void page_check_free(struct page_check *c)
{
	if (!c)
		return;
	hang_up(c);
	worker_end(&c->worker);
	free(c->worker.stuck);
	close(c->epoll);
	free(c);
}

int page_check_fd(const struct page_check *c)
{
	return c->epoll;
}

uint32_t page_check_open(const struct page_check *c)
{
	return c->open;
}

int page_check_start(struct page_check *c)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int err;

	if (c->fd >= 0)
		return 0;
	if (now_ns() < c->again_ns)
		return -EAGAIN;
	err = worker_converse(&c->worker, -1, &c->fd);
	if (err) {
		c->fd = -1;
		c->again_ns = now_ns() + AGAIN_MS * NS_PER_MS;
		return err;
	}
	return epoll_ctl(c->epoll, EPOLL_CTL_ADD, c->fd, &ev) ? -errno : 0;
}

/* The oldest open question; NULL: none is open. */
static struct asked *oldest_asked(struct page_check *c)
{
	return c->open ? &c->asked[c->first] : NULL;
}

int page_check_ask(struct page_check *c, pid_t tgid, uint64_t start_ns, uint64_t tag,
		   enum page_asked what, const uint64_t *addrs, size_t cnt)
{
	struct asked *a = &c->asked[(c->first + c->open) % PAGE_CHECK_OPEN_MAX];
	int err;

	if (cnt > page_asked_max(what))
		return -EINVAL;
	if (c->open == PAGE_CHECK_OPEN_MAX)
		return -EAGAIN;
	err = page_check_start(c);
	if (!err)
		err = worker_ready(&c->worker, tgid);
	if (err)
		return err;
	a->tag = tag;
	a->asked_ns = now_ns();
	a->q.number = ++c->numbers;
	a->q.start_ns = start_ns;
	a->q.tgid = tgid;
	a->q.what = what;
	a->q.cnt = (uint32_t)cnt;
	if (cnt)
		memcpy(a->q.addrs, addrs, cnt * sizeof(*addrs));
	err = page_wire_send(c->fd, &a->q, page_question_bytes(&a->q));
	if (err)
		return err;
	if (!c->open++)
		c->answered_ns = a->asked_ns;
	return 0;
}

static uint64_t clamp_time(uint64_t t, uint64_t first, uint64_t last)
{
	return t < first ? first : t > last ? last : t;
}

/* fn may ask again, so the question is closed first. */
static void pass_on(struct page_check *c, const struct asked *a)
{
	uint64_t now = now_ns();
	const struct page_answer answer = {
		.tgid = a->q.tgid, .start_ns = a->q.start_ns, .asked_ns = a->asked_ns,
		.err = c->reply.err, .frames_known = c->reply.frames_known,
		.rss_anon = c->reply.rss_anon, .swapped = c->reply.swapped, .tag = a->tag,
		.cnt = c->reply.cnt, .what = a->q.what,
		.states = a->q.what == PAGES_THERE ? c->reply.states : NULL,
		.contents = a->q.what == PAGES_THERE ? NULL : c->reply.contents,
		.read_ns = clamp_time(c->reply.read_ns, a->asked_ns, now),
	};

	c->first = (c->first + 1) % PAGE_CHECK_OPEN_MAX;
	c->open--;
	c->answered_ns = now;
	c->fn(c->ctx, &answer);
}

/*
 * Whatever the worker waits for belongs to the process that it was asked about. If it only waits
 * for a CPU, it has more time.
 */
static void give_up_if_stuck(struct page_check *c)
{
	const struct asked *a = oldest_asked(c);
	uint64_t waited = a ? now_ns() - c->answered_ns : 0;

	if (waited < ANSWER_MS * NS_PER_MS)
		return;
	if (waited < SLOW_MS * NS_PER_MS && worker_is_runnable(&c->worker))
		return;
	worker_give_up(&c->worker, a->q.tgid, true);
	hang_up(c);
	c->again_ns = 0;
}

/* The next reply: the waiting one, or one from the worker. As page_wire_receive(). */
static ssize_t next_reply(struct page_check *c)
{
	ssize_t n = (ssize_t)c->waiting;

	c->waiting = 0;
	return n ? n : page_wire_receive(c->fd, &c->reply, sizeof(c->reply));
}

void page_check_poll(struct page_check *c, uint64_t known_ns)
{
	struct asked *a;
	ssize_t n;

	while (c->fd >= 0) {
		n = next_reply(c);
		if (n == -EAGAIN)
			break;
		a = oldest_asked(c);
		if (n < 0 || !a || !page_reply_ok(&a->q, &c->reply, (size_t)n)) {
			worker_lost(&c->worker);
			hang_up(c);
			return;
		}
		if (clamp_time(c->reply.read_ns, a->asked_ns, now_ns()) > known_ns) {
			c->waiting = (size_t)n;
			return;
		}
		pass_on(c, a);
	}
	give_up_if_stuck(c);
}

void page_check_settle(struct page_check *c, int timeout_ms)
{
	uint64_t now = now_ns(), end = now + (uint64_t)timeout_ms * NS_PER_MS;

	page_check_poll(c, UINT64_MAX);
	while (c->open && now < end) {
		struct pollfd p = { .fd = c->fd, .events = POLLIN };

		poll(&p, 1, (int)((end - now + NS_PER_MS - 1) / NS_PER_MS));
		page_check_poll(c, UINT64_MAX);
		now = now_ns();
	}
}
