// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* elf_wire.c - see elf_wire.h: sends and receives messages. */
#include "elf_helper/elf_wire.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union fd_message {
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

static void attach_fd(struct msghdr *m, union fd_message *with, int passed)
{
	struct cmsghdr *c;

	m->msg_control = with->bytes;
	m->msg_controllen = sizeof(with->bytes);
	c = CMSG_FIRSTHDR(m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &passed, sizeof(passed));
}

int elf_channel_send(int fd, const struct elf_message *head, const void *data, int passed)
{
	struct iovec parts[2] = { { (void *)head, sizeof(*head) }, { (void *)data, head->bytes } };
	struct msghdr m = { .msg_iov = parts, .msg_iovlen = head->bytes ? 2 : 1 };
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	union fd_message with = { .bytes = { 0 } };

	if (passed >= 0)
		attach_fd(&m, &with, passed);
	while (sendmsg(fd, &m, MSG_NOSIGNAL) < 0) {
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		if (errno == EAGAIN && poll(&p, 1, -1) < 0 && errno != EINTR)
			return -errno;
	}
	return 0;
}

/* Returns the descriptor that came with a message, or -1. */
static int passed_with(struct msghdr *m)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);
	int fd = -1;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

static int check_form(const struct elf_message *head, size_t len, int flags)
{
	if (!len)
		return -EPIPE;
	if (flags & MSG_TRUNC || len < sizeof(*head) || head->bytes != len - sizeof(*head) ||
	    !head->kind || head->kind > DEMANGLE)
		return -EBADMSG;
	return 0;
}

int elf_channel_receive(int fd, struct elf_packet *p, int *passed, int flags)
{
	struct iovec parts[2] = { { &p->head, sizeof(p->head) }, { p->data, sizeof(p->data) } };
	union fd_message with;
	/* No room for a second descriptor: the kernel closes it. */
	struct msghdr m = { .msg_iov = parts, .msg_iovlen = 2, .msg_control = with.bytes,
			    .msg_controllen = CMSG_LEN(sizeof(int)) };
	ssize_t n;
	int err;

	*passed = -1;
	do
		n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC | flags);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	*passed = passed_with(&m);
	err = check_form(&p->head, (size_t)n, m.msg_flags);
	if (err && *passed >= 0) {
		close(*passed);
		*passed = -1;
	}
	return err;
}
