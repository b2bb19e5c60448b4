/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * page_check.h - asks which pages of processes are still there. A worker reads /proc/PID/pagemap,
 * /proc/kpageflags and /proc/PID/status, which can block on the process' memory map; so nothing
 * waits for it: page_check_poll() takes the answers when they come.
 */
#ifndef TACHBPF_PAGE_CHECK_H
#define TACHBPF_PAGE_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "memory/page_book.h"
#include "worker/worker.h"

struct page_check;

/* Limits on pages in one question, and on open questions. */
#define PAGE_CHECK_MAX 2048
#define PAGE_CHECK_OPEN_MAX 4

/* The worker "tachbpf-pages". */
extern const struct worker_kind page_check_kind;

struct page_answer {
	pid_t tgid;
	uint64_t start_ns;	/* as in the question: identifies the process */
	uint64_t asked_ns;
	int32_t err;		/* 0; -ESRCH: the process is gone; -EACCES: pagemap is denied */
	bool frames_known;	/* page frame numbers are visible (CAP_SYS_ADMIN) */
	uint64_t rss_anon, swapped;	/* bytes */
	uint64_t read_ns;	/* when these two were read: between asked_ns and now */
	uint64_t tag;		/* from the question */
	size_t cnt;
	const struct page_state *states;
};
typedef void (*page_answer_fn)(void *ctx, const struct page_answer *answer);

struct page_check_counts {
	uint64_t pages;		/* asked about */
	uint64_t unanswered;	/* questions whose worker had ended */
	uint32_t starts;	/* of the worker */
	uint32_t stuck;		/* workers that were given up */
	uint32_t broken;	/* workers that ended, or sent an invalid answer */
};

/* NULL with errno. fn is called only from page_check_poll() and page_check_settle(). */
struct page_check *page_check_new(page_answer_fn fn, void *ctx);
/* Start the worker, unless it is running. 0 or -errno; page_check_ask() tries again, too. */
int page_check_start(struct page_check *c);
void page_check_free(struct page_check *c);
/* Readable when there are answers. */
int page_check_fd(const struct page_check *c);

/*
 * Ask about cnt addresses, sorted (0: only RssAnon). 0; -EAGAIN: too many questions are open;
 * -errno: the worker has ended or is stuck, and is started again.
 */
int page_check_ask(struct page_check *c, pid_t tgid, uint64_t start_ns, uint64_t tag,
		   const uint64_t *addrs, size_t cnt);
/*
 * Take the available answers, but none from after known_ns (CLOCK_MONOTONIC), up to which the
 * caller knows the moves of pages. A page moved since the question is gone from its old address.
 */
void page_check_poll(struct page_check *c, uint64_t known_ns);
/* Wait for the answers to all open questions, at most timeout_ms. */
void page_check_settle(struct page_check *c, int timeout_ms);
uint32_t page_check_open(const struct page_check *c);	/* questions without an answer */
void page_check_counts(const struct page_check *c, struct page_check_counts *out);

/*
 * Messages between page_check and its worker: each question is answered by one reply, in the order
 * of questions. The socket's type is SOCK_SEQPACKET.
 */

struct page_question {
	uint64_t number;	/* repeated in the reply */
	uint64_t start_ns;	/* identifies the process; 0: unknown */
	int32_t tgid;
	uint32_t cnt;
	uint64_t addrs[PAGE_CHECK_MAX];	/* only cnt are sent */
};

struct page_reply {
	uint64_t number;
	uint64_t rss_anon, swapped;	/* bytes */
	uint64_t read_ns;	/* when these two were read */
	int32_t err;		/* as in struct page_answer */
	uint32_t cnt;		/* as in the question, or 0 with err */
	uint32_t frames_known;
	uint32_t pad;
	struct page_state states[PAGE_CHECK_MAX];	/* only cnt are sent */
};

size_t page_question_bytes(const struct page_question *q);
size_t page_reply_bytes(const struct page_reply *r);

/* Returns true if a question of this many bytes is well-formed. */
bool page_question_ok(const struct page_question *q, size_t bytes);
/* Returns true if a reply of this many bytes answers q: the same addresses, valid kinds. */
bool page_reply_ok(const struct page_question *q, const struct page_reply *r, size_t bytes);

/* Send a message without blocking. 0; -EAGAIN: no space; other -errno. */
int page_wire_send(int fd, const void *msg, size_t bytes);
/* Receive a message without blocking. Its length; -EAGAIN: none; -EPIPE: the end is closed. */
ssize_t page_wire_receive(int fd, void *msg, size_t room);

#endif
