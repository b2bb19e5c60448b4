// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* native_wire.c - see native_wire.h. */
#include "native/native_wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union with_fd {
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

int native_send(int fd, const struct elf_message *m, const void *data, int passed)
{
	struct iovec parts[] = { { (void *)m, sizeof(*m) }, { (void *)data, m->bytes } };
	struct msghdr h = { .msg_iov = parts, .msg_iovlen = m->bytes ? 2 : 1 };
	union with_fd with = { .bytes = { 0 } };
	struct cmsghdr *c;
	ssize_t n;

	if (m->bytes > ELF_WIRE_BYTES)
		return -EMSGSIZE;
	if (passed >= 0) {
		h.msg_control = with.bytes;
		h.msg_controllen = sizeof(with.bytes);
		c = CMSG_FIRSTHDR(&h);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &passed, sizeof(int));
	}
	do
		n = sendmsg(fd, &h, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == sizeof(*m) + m->bytes ? 0 : -EPIPE;
}

static int take_descriptor(struct msghdr *h)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(h);
	int fd = -1;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(c), sizeof(int));
	return fd;
}

int native_receive(int fd, struct elf_message *m, void *data, int *passed)
{
	struct iovec parts[] = { { m, sizeof(*m) }, { data, ELF_WIRE_BYTES } };
	union with_fd with;
	/* No room for a second descriptor: the kernel closes it. */
	struct msghdr h = { .msg_iov = parts, .msg_iovlen = 2, .msg_control = with.bytes,
			    .msg_controllen = CMSG_LEN(sizeof(int)) };
	ssize_t n;

	*passed = -1;
	do
		n = recvmsg(fd, &h, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n ? -errno : -EPIPE;
	*passed = take_descriptor(&h);
	if ((size_t)n >= sizeof(*m) && !(h.msg_flags & MSG_TRUNC) &&
	    m->bytes == (size_t)n - sizeof(*m))
		return 0;
	if (*passed >= 0)
		close(*passed);
	*passed = -1;
	return -EBADMSG;
}

/* Bytes of a mapping including its path. */
static uint32_t map_bytes(const struct opener_map *map)
{
	return (uint32_t)sizeof(*map) + ((map->path_bytes + 7) & ~7u);
}

bool opener_maps_ok(const struct elf_message *m, const void *data)
{
	const uint8_t *bytes = data;
	uint32_t at = 0, i;

	for (i = 0; i < m->cnt; i++) {
		const struct opener_map *map = (const void *)(bytes + at);

		if (m->bytes - at < sizeof(*map) || !map->path_bytes ||
		    map->path_bytes > OPENER_PATH_MAX || map_bytes(map) > m->bytes - at ||
		    bytes[at + sizeof(*map) + map->path_bytes - 1] || map->start >= map->end)
			return false;
		at += map_bytes(map);
	}
	return at == m->bytes;
}

const struct opener_map *opener_maps_next(const void *data, uint32_t *at, const char **path)
{
	const struct opener_map *map = (const void *)((const uint8_t *)data + *at);

	*path = (const char *)(map + 1);
	*at += map_bytes(map);
	return map;
}
