/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * socket_peers.h - the other ends of a process' TCP connections: from /proc/PID/net/tcp and tcp6,
 * which have all sockets of its network namespace, so they are not read for each question.
 */
#ifndef TACHBPF_HOST_SOCKET_PEERS_H
#define TACHBPF_HOST_SOCKET_PEERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Room for an answer: "[IPv6 address]:port". */
#define SOCKET_PEER_BYTES 56

/*
 * Limits: bytes that are read of each of the two files, sockets that are remembered, and the time
 * between two readings: at least one second, and a hundred times what the last one took.
 */
#define SOCKET_PEERS_FILE_BYTES (1u << 20)
#define SOCKET_PEERS_MAX 16384
#define SOCKET_PEERS_PAUSE_NS 1000000000ull
#define SOCKET_PEERS_SHARE 100

struct socket_peers;

/* NULL: no memory. */
struct socket_peers *socket_peers_new(pid_t tgid);
void socket_peers_free(struct socket_peers *p);

/*
 * Which socket this descriptor of the process is; 0: unknown. Up to Linux 5.13 always 0: the file
 * fdinfo/N says it from 5.14 on to those who may trace the process. (The directory of the links
 * fd/N may be searched only with its user's rights to files, which the reader has given up.) Reads
 * /proc itself: for the reader.
 */
uint64_t socket_inode(pid_t tgid, int fd);

/*
 * What the process' socket with this number (0: unknown) is connected to: "10.0.0.5:5432",
 * "[2001:db8::1]:443"; "" if it is none of TCP, listens, is not connected, or is not known (yet).
 * brief: of a connection that was accepted, at a port where somebody listens, without the client's
 * port: they would be countless. Valid until the next call. now_ns: of now_ns().
 */
const char *socket_peers_find(struct socket_peers *p, uint64_t inode, bool brief,
			      uint64_t now_ns);

#endif
