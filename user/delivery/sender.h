/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sender.h - the process that speaks HTTP: it gets requests, and reports their results.
 *
 * DNS, TLS and everything that a server sends are parsed only there, by libcurl, in a worker
 * (worker/worker.h) without capabilities and with nobody's file permissions. It drives many
 * transfers at once, so it gets one call that never ends, with its own socket for requests and
 * answers. It reads files of /etc, /usr and the places of resolv.conf that are world-readable,
 * because the C library's resolver and the system's list of CAs are there; it writes none. Secrets
 * (keys, passwords, headers) come over the socket, never from a file or the command line.
 *
 * A sender that ends, or that does not answer in time, is replaced (delivery.h). Its requests are
 * sent again, so a server may get one twice: the profile_id in it is the same. This also happens if
 * the connection breaks after the server has taken a request and before its answer arrives.
 *
 * The functions run in the main process, which trusts no answer until its form is checked.
 */
#ifndef TACHBPF_SENDER_H
#define TACHBPF_SENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "delivery/spool_entry.h"
#include "worker/worker.h"

#define SENDER_EXPORTERS_MAX 16
#define SENDER_TEXT_BYTES 201		/* a server's text, with its NUL */
/* Limit for parallel transfers of a sender; it answers others with SEND_RETRY. */
#define SENDER_TRANSFERS_MAX 256
/* No server can make us wait longer (Retry-After). */
#define SENDER_RETRY_AFTER_MAX_MS 3600000u

/* A server, and how to connect to it. A NULL string: none. PEM texts, not paths. */
struct sender_server {
	const char *url;		/* http:// or https://; NULL: there is no server yet */
	const char *headers;		/* "Name: value" lines, separated by '\n' */
	const char *user, *password;	/* basic authentication */
	const char *bearer;		/* a bearer token */
	const char *proxy;		/* a URL; NULL: from the environment's *_proxy */
	const char *ca;			/* the only trusted CAs; NULL: the system's */
	const char *certificate, *key;	/* of the client */
	bool insecure;			/* its certificate is not checked */
	bool grpc;			/* OTLP by gRPC: the URL is that of the method */
	uint32_t stall_ms;		/* time without progress that ends a transfer; 0: 10 s */
};

enum send_result {
	SEND_DONE,		/* the server has it */
	SEND_RETRY,		/* not now */
	SEND_DENIED,		/* not before somebody changes its set-up or ours: 3xx, 401, 404 */
	SEND_DROP,		/* the server will never take it */
	SEND_TOO_LARGE,		/* it may take smaller pieces */
	SEND_RESULTS
};
/* Returns true if the request is kept, to be sent again. */
static inline bool send_is_kept(uint32_t result)
{
	return result == SEND_RETRY || result == SEND_DENIED;
}

/* Why a transfer has failed. */
enum send_cause {
	CAUSE_NONE, CAUSE_STATUS, CAUSE_DNS, CAUSE_CONNECT, CAUSE_TLS, CAUSE_TIMEOUT, CAUSE_CLOSED,
	CAUSE_OTHER, SEND_CAUSES
};
/* Returns one word for a cause: "dns". */
const char *send_cause_name(enum send_cause cause);

struct sender_answer {
	uint64_t job;
	uint32_t result;		/* enum send_result */
	uint32_t cause;			/* enum send_cause */
	uint32_t status;		/* of HTTP; 0: none received */
	uint32_t retry_after_ms;	/* 0: the server did not say */
	uint64_t sent_bytes;		/* of the body */
	uint64_t rejected;		/* profiles that it did not take (partial success) */
	char text[SENDER_TEXT_BYTES];	/* from the server or libcurl: printable, terminated */
};

struct sender_job {
	uint64_t id;			/* not 0; repeated in the answer */
	uint32_t exporter;		/* index of the server */
	uint32_t timeout_ms;		/* for the whole transfer */
	int fd;				/* the payload: read with pread(), owned by the caller */
	uint64_t offset, length;	/* its place in the file */
	const struct request_info *info;
};

/* Zero-initialised: no process. */
struct sender {
	struct worker worker;
	int fd;
};

/* For keeper_start(). */
extern const struct worker_kind sender_kind;

/*
 * Checks whether the sender could use this server. Returns 0; -EINVAL, and the problem in why,
 * without secrets. Checks only the form.
 */
int sender_check_server(const struct sender_server *server, char *why, size_t why_size);

/* Starts a process for these servers, whose settings it gets as copies. Returns 0 or -errno. */
int sender_start(struct sender *s, const struct sender_server *servers, size_t cnt);
bool sender_is_running(const struct sender *s);
/* Returns the socket, to be polled for POLLIN, while the process runs. */
int sender_fd(const struct sender *s);
/* Returns the CPU time that the process has used, in ns; 0: it has ended. */
uint64_t sender_cpu_ns(const struct sender *s);
/* Sends a job; never waits. Returns 0; -EAGAIN: it has too many; another -errno: it has ended. */
int sender_send(struct sender *s, const struct sender_job *job);
/*
 * Takes an answer; never waits. Returns 1: *out is one, it is well-formed, and its text is
 * printable; 0: there is none; -EPIPE: the process has ended; -EBADMSG: it has sent an invalid
 * message, so it has been taken over, and must be ended.
 */
int sender_receive(struct sender *s, struct sender_answer *out);
/* Kills the process. Its jobs will not be answered. */
void sender_end(struct sender *s);

#endif
