/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * notify.h - tells the service manager how the agent is: systemd's sd_notify(3) protocol, without
 * its library.
 *
 * Messages are datagrams to the socket that $NOTIFY_SOCKET names, a path or, with "@", an abstract
 * name. Without the variable, or with one that cannot be a socket's name, nothing is sent. Nothing
 * waits: a message that the manager does not take at once is lost. Runs in the main process.
 */
#ifndef TACHBPF_NOTIFY_H
#define TACHBPF_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#include "base/time.h"

struct notify {
	int fd;			/* -1: nobody wants to know */
	struct sockaddr_un to;
	uint32_t to_bytes;
	uint64_t every_ns;	/* how often the manager wants a sign of life; 0: never */
	uint64_t next_ns;	/* when the next one is due */
};

/*
 * Read NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID of the environment, and take them out of it:
 * they are not for processes that we start. 0, or -errno after logging why; *n is usable anyway.
 */
int notify_begin(struct notify *n);
void notify_end(struct notify *n);

/* The agent samples. */
void notify_ready(struct notify *n);
/* It reads its configuration again (SIGHUP); notify_ready() follows. */
void notify_reloading(struct notify *n);
/* It ends. */
void notify_stopping(struct notify *n);
/* Still alive: sends a message if half of the manager's time has passed. now: now_ns(). */
void notify_tick(struct notify *n, uint64_t now);

#endif
