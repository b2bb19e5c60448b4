/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sender.h - the process that speaks HTTP: it gets requests, and answers what became of them.
 *
 * DNS, TLS and all that a server says are parsed there only, by libcurl, in a worker
 * (worker/worker.h) without capabilities and with nobody's rights to files. It drives many
 * transfers at once, so it gets one call that never ends, with a socket of its own, over which
 * requests and answers go. It reads files of /etc, /usr and the places of resolv.conf that
 * everyone may read, because the C library's resolver and the system's list of CAs are there; it
 * writes none.
 * What is secret (keys, passwords, headers) comes over the socket, never from a file or the command
 * line.
 *
 * A sender that ends, or that does not answer in time, is replaced (delivery.h). Its requests are
 * sent again, so a server may get one twice: the profile_id in it is the same. So may it if the
 * connection breaks after the server has taken a request and before its answer came.
 *
 * The functions run in the main process, which trusts no answer before its form was checked.
 */
#ifndef TACHBPF_SENDER_H
#define TACHBPF_SENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "delivery/spool_entry.h"
#include "worker/worker.h"

#define SENDER_EXPORTERS_MAX 16
#define SENDER_TEXT_BYTES 201		/* a server's text, with its zero byte */
/* A sender has no more transfers at once; it answers others with SEND_RETRY. */
#define SENDER_TRANSFERS_MAX 256
/* No server makes us wait longer (Retry-After). */
#define SENDER_RETRY_AFTER_MAX_MS 3600000u

/* A server, and how to speak to it. NULL as a text: none. PEM texts, not paths. */
struct sender_server {
	const char *url;		/* http:// or https://; NULL: there is no server yet */
	const char *headers;		/* "Name: value" lines, separated by '\n' */
	const char *user, *password;	/* basic authentication */
	const char *bearer;		/* a bearer token */
	const char *proxy;		/* a URL; NULL: what the environment's *_proxy say */
	const char *ca;			/* the only CAs to trust; NULL: the system's */
	const char *certificate, *key;	/* of the client */
	bool insecure;			/* its certificate is not checked */
	uint32_t stall_ms;		/* no progress for so long ends a transfer; 0: 10 s */
};

enum send_result {
	SEND_DONE,		/* the server has it */
	SEND_RETRY,		/* not now */
	SEND_DROP,		/* the server will never take it */
	SEND_TOO_LARGE,		/* in smaller pieces it may */
	SEND_RESULTS
};

/* Why a transfer had no success. */
enum send_cause {
	CAUSE_NONE, CAUSE_STATUS, CAUSE_DNS, CAUSE_CONNECT, CAUSE_TLS, CAUSE_TIMEOUT, CAUSE_CLOSED,
	CAUSE_OTHER, SEND_CAUSES
};
/* One word for a cause: "dns". */
const char *send_cause_name(enum send_cause cause);

struct sender_answer {
	uint64_t job;
	uint32_t result;		/* enum send_result */
	uint32_t cause;			/* enum send_cause */
	uint32_t status;		/* of HTTP; 0: none came */
	uint32_t retry_after_ms;	/* 0: the server did not say */
	uint64_t sent_bytes;		/* of the body */
	uint64_t rejected;		/* profiles that it did not take (partial success) */
	char text[SENDER_TEXT_BYTES];	/* what the server or libcurl said: printable, terminated */
};

struct sender_job {
	uint64_t id;			/* not 0; its answer has it, too */
	uint32_t exporter;		/* index of the server */
	uint32_t timeout_ms;		/* for all of the transfer */
	int fd;				/* the payload: read with pread(), stays the caller's */
	uint64_t offset, length;	/* where it is in the file */
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
 * Could the sender use this server? 0; -EINVAL, and in why what is wrong, without secrets. Looks at
 * forms only.
 */
int sender_check_server(const struct sender_server *server, char *why, size_t why_size);

/* Start a process for these servers, of which it gets copies. 0 or -errno. */
int sender_start(struct sender *s, const struct sender_server *servers, size_t cnt);
bool sender_is_running(const struct sender *s);
/* The socket, to be polled for POLLIN, while the process runs. */
int sender_fd(const struct sender *s);
/* The CPU time that the process has used, in ns; 0: it has ended. */
uint64_t sender_cpu_ns(const struct sender *s);
/* Send a job; never waits. 0; -EAGAIN: it has too many; other -errno: the process has ended. */
int sender_send(struct sender *s, const struct sender_job *job);
/*
 * Take an answer; never waits. 1: *out is one, its form is right, and its text is printable. 0:
 * none is there. -EPIPE: the process has ended; -EBADMSG: it says what it cannot say: it was taken
 * over, and is to be ended.
 */
int sender_receive(struct sender *s, struct sender_answer *out);
/* Kill the process. Its jobs have no answer any more. */
void sender_end(struct sender *s);

#endif
