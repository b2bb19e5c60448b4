// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* page_check_wire.c - see page_check_wire.h. */
#include "memory/page_check_wire.h"

#include <errno.h>
#include <sys/socket.h>

size_t page_asked_max(uint32_t what)
{
	return what >= PAGES_ASKED ? 0 : what == PAGES_THERE ? PAGE_CHECK_MAX : PAGE_LOOK_MAX;
}

size_t page_question_bytes(const struct page_question *q)
{
	return offsetof(struct page_question, addrs) + q->cnt * sizeof(q->addrs[0]);
}

size_t page_reply_bytes(const struct page_reply *r)
{
	size_t each = r->what == PAGES_THERE ? sizeof(r->states[0]) : sizeof(r->contents[0]);

	return offsetof(struct page_reply, states) + r->cnt * each;
}

bool page_question_ok(const struct page_question *q, size_t bytes)
{
	return bytes >= offsetof(struct page_question, addrs) && q->what < PAGES_ASKED &&
	       q->cnt <= page_asked_max(q->what) && bytes == page_question_bytes(q);
}

static bool is_state_of(const struct page_state *s, uint64_t addr)
{
	return s->addr == addr && s->kind <= PAGE_OTHER;
}

static bool is_content_of(const struct page_content *c, uint64_t addr)
{
	unsigned int i;

	for (i = 0; i < PAGE_PLACES; i++)
		if (c->states[i] >= PLACE_STATES)
			return false;
	return c->addr == addr;
}

bool page_reply_ok(const struct page_question *q, const struct page_reply *r, size_t bytes)
{
	uint32_t i;

	if (bytes < offsetof(struct page_reply, states) || r->what != q->what ||
	    r->cnt > page_asked_max(q->what) || bytes != page_reply_bytes(r) ||
	    r->number != q->number || r->err > 0 || r->cnt != (r->err ? 0 : q->cnt))
		return false;
	for (i = 0; i < r->cnt; i++)
		if (q->what == PAGES_THERE ? !is_state_of(&r->states[i], q->addrs[i]) :
					     !is_content_of(&r->contents[i], q->addrs[i]))
			return false;
	return true;
}

int page_wire_send(int fd, const void *msg, size_t bytes)
{
	ssize_t n;

	do
		n = send(fd, msg, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EWOULDBLOCK ? -EAGAIN : -errno;
	return (size_t)n == bytes ? 0 : -EPIPE;
}

ssize_t page_wire_receive(int fd, void *msg, size_t room)
{
	ssize_t n;

	do
		n = recv(fd, msg, room, MSG_DONTWAIT | MSG_TRUNC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EWOULDBLOCK ? -EAGAIN : -errno;
	return n ? n : -EPIPE;
}
