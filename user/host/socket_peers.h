/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * socket_peers.h - what the TCP sockets of a process are connected to: the other end of a
 * connection that it made, or the port at which it accepted one. From /proc/PID/net/tcp and tcp6,
 * which have all sockets of its network namespace, so they are not read for each question.
 */
#ifndef TACHBPF_HOST_SOCKET_PEERS_H
#define TACHBPF_HOST_SOCKET_PEERS_H

#include <stdint.h>
#include <sys/types.h>

/* Room for an answer: "[IPv6 address]:port". */
#define SOCKET_PEER_BYTES 64

/*
 * Limits: bytes that are read of each of the two files, sockets that are remembered, and the time
 * between two readings: at least one second, and a hundred times what the last one took.
 */
#define SOCKET_PEERS_FILE_BYTES (512u << 10)
#define SOCKET_PEERS_MAX 4096
#define SOCKET_PEERS_PAUSE_NS 1000000000ull
#define SOCKET_PEERS_SHARE 100

struct socket_peers;

/* NULL: no memory. */
struct socket_peers *socket_peers_new(pid_t tgid);
void socket_peers_free(struct socket_peers *p);

/*
 * What the socket with this descriptor is connected to: "10.0.0.5:5432"; "of port 8080" if it is
 * one that the process listens at, or has accepted there: the clients' ports would be countless.
 * Returns "" if it is none of TCP, or is not known (yet). Valid until the next call. now_ns: of
 * now_ns().
 */
const char *socket_peers_find(struct socket_peers *p, int fd, uint64_t now_ns);

#endif
