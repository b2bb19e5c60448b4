// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* page_check_wire.c - see page_check_wire.h. */
#include "memory/page_check_wire.h"

#include <errno.h>
#include <sys/socket.h>

size_t page_question_bytes(const struct page_question *q)
{
	return offsetof(struct page_question, addrs) + q->cnt * sizeof(q->addrs[0]);
}

size_t page_reply_bytes(const struct page_reply *r)
{
	return offsetof(struct page_reply, states) + r->cnt * sizeof(r->states[0]);
}

bool page_question_ok(const struct page_question *q, size_t bytes)
{
	return bytes >= offsetof(struct page_question, addrs) && q->cnt <= PAGE_CHECK_MAX &&
	       bytes == page_question_bytes(q);
}

bool page_reply_ok(const struct page_question *q, const struct page_reply *r, size_t bytes)
{
	uint32_t i;

	if (bytes < offsetof(struct page_reply, states) || r->cnt > PAGE_CHECK_MAX ||
	    bytes != page_reply_bytes(r) || r->number != q->number || r->err > 0 ||
	    r->cnt != (r->err ? 0 : q->cnt))
		return false;
	for (i = 0; i < r->cnt; i++)
		if (r->states[i].addr != q->addrs[i] || r->states[i].kind > PAGE_OTHER)
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
