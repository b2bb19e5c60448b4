// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* notify.c - see notify.h. */
#include "agent/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/time.h"
#include "base/util.h"


static int set_address(struct notify *n, const char *name)
{
	size_t len = strlen(name);

	if (*name != '/' && *name != '@')
		return -EAFNOSUPPORT;	/* the manager's other kinds are for virtual machines */
	if (len < 2 || len >= sizeof(n->to.sun_path))
		return -EINVAL;
	n->to.sun_family = AF_UNIX;
	memcpy(n->to.sun_path, name, len);
	n->to_bytes = (uint32_t)(offsetof(struct sockaddr_un, sun_path) + len);
	if (*name == '@')
		n->to.sun_path[0] = '\0';
	else
		n->to_bytes++;
	return 0;
}

/* The watchdog is for another process if WATCHDOG_PID says so. */
static void set_watchdog(struct notify *n)
{
	const char *us = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	uint64_t v;

	if (pid && (!parse_decimal(pid, strlen(pid), &v) || v != (uint64_t)getpid()))
		return;
	if (us && parse_decimal(us, strlen(us), &v) && v && v < UINT64_MAX / NS_PER_US)
		n->every_ns = v * NS_PER_US / 2;
}

int notify_begin(struct notify *n)
{
	const char *name = getenv("NOTIFY_SOCKET");
	int err = 0;

	*n = (struct notify){ .fd = -1 };
	if (name && *name) {
		err = set_address(n, name);
		if (!err)
			n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (!err && n->fd < 0)
			err = -errno;
		if (err)
			log_warn("cannot use NOTIFY_SOCKET, so the service manager does not hear "
				 "of us: %s", strerror(-err));
	}
	if (n->fd >= 0)
		set_watchdog(n);
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	return err;
}

void notify_end(struct notify *n)
{
	if (n->fd >= 0)
		close(n->fd);
	*n = (struct notify){ .fd = -1 };
}

static void notify_send(struct notify *n, const char *text)
{
	if (n->fd >= 0)
		sendto(n->fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT,
		       (const struct sockaddr *)&n->to, n->to_bytes);
}

void notify_ready(struct notify *n)
{
	notify_send(n, "READY=1");
}

/* systemd has to know which reload a READY=1 belongs to. */
void notify_reloading(struct notify *n)
{
	char text[64];

	snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
		 (uint64_t)(now_ns() / NS_PER_US));
	notify_send(n, text);
}

void notify_stopping(struct notify *n)
{
	notify_send(n, "STOPPING=1");
}

void notify_tick(struct notify *n, uint64_t now)
{
	if (!n->every_ns || now < n->next_ns)
		return;
	n->next_ns = now + n->every_ns;
	notify_send(n, "WATCHDOG=1");
}
