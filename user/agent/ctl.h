/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ctl.h - the Unix socket on which a running agent takes requests (ctl_request.h).
 *
 * Runs in the agent's main process, and never waits: its loop polls ctl_fd() for POLLIN and calls
 * ctl_tick(). Only root and the agent's own user may ask: the socket has mode 0600, and each peer's
 * uid is checked (SO_PEERCRED). With a group, its mode is 0660, and the group's members may ask for
 * what changes no configuration (ctl_request.limited). A client has CTL_CLIENT_NS for its line and
 * its answer. There are at most CTL_CLIENTS_MAX at a time; further ones are told that the agent is
 * busy. So a client that stalls costs a descriptor for some seconds, and at most 4 KiB.
 */
#ifndef TACHBPF_AGENT_CTL_H
#define TACHBPF_AGENT_CTL_H

#include <stdint.h>

#include "agent/ctl_request.h"

#define CTL_CLIENTS_MAX 8
#define CTL_CLIENT_NS 5000000000ull

/*
 * Obeys a request. Appends what the user reads, at most CTL_ANSWER_MAX bytes, to *out; returns the
 * client's exit status, 0 to 255. May take what the request owns, and clear it there.
 */
typedef int (*ctl_obey_fn)(void *ctx, struct ctl_request *r, struct buf *out);

struct ctl;

/*
 * Listens. Makes the directory of path (0755) if only that is missing; replaces a socket that a
 * dead agent left. group: a name; "": only root. Returns NULL with errno, after logging.
 * EADDRINUSE: another agent listens there.
 */
struct ctl *ctl_new(const char *path, const char *group, ctl_obey_fn obey, void *ctx);
/* Removes the socket. */
void ctl_free(struct ctl *c);

/* Readable when ctl_tick() has something to do. Owned by c. */
int ctl_fd(const struct ctl *c);

/* Accepts clients, reads, answers, and ends clients that take too long. now_ns: CLOCK_MONOTONIC. */
void ctl_tick(struct ctl *c, uint64_t now_ns);

#endif
