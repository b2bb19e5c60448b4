/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * notify.h - reports the agent's state to the service manager: systemd's sd_notify(3) protocol,
 * without its library.
 *
 * Messages are datagrams to the socket that $NOTIFY_SOCKET names, a path or, with "@", an abstract
 * name. Nothing is sent if the variable is missing or cannot be a socket's name. Nothing waits: a
 * message that the manager does not take at once is lost. Runs in the main process.
 */
#ifndef TACHBPF_NOTIFY_H
#define TACHBPF_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#include "base/time.h"

struct notify {
	int fd;			/* -1: no service manager */
	struct sockaddr_un to;
	uint32_t to_bytes;
	uint64_t every_ns;	/* how often the manager expects a sign of life; 0: never */
	uint64_t next_ns;	/* when the next one is due */
};

/*
 * Reads and removes NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID in the environment: they are not
 * for processes that we start. Returns 0, or -errno after logging; *n is usable in any case.
 */
int notify_begin(struct notify *n);
void notify_end(struct notify *n);

/* The agent is sampling. */
void notify_ready(struct notify *n);
/* The agent reads its configuration again (SIGHUP); notify_ready() follows. */
void notify_reloading(struct notify *n);
/* The agent is ending. */
void notify_stopping(struct notify *n);
/* Sends a sign of life if half of the manager's time has passed. now: now_ns(). */
void notify_tick(struct notify *n, uint64_t now);

#endif
