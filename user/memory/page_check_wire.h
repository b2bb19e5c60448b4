/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * page_check_wire.h - messages between page_check and its worker: each question is answered by one
 * reply, in the order of questions. The socket's type is SOCK_SEQPACKET.
 */
#ifndef TACHBPF_PAGE_CHECK_WIRE_H
#define TACHBPF_PAGE_CHECK_WIRE_H

#include "memory/page_check.h"

struct page_question {
	uint64_t number;	/* repeated in the reply */
	uint64_t start_ns;	/* identifies the process; 0: unknown */
	int32_t tgid;
	uint32_t what;		/* enum page_asked */
	uint32_t cnt, pad;
	uint64_t addrs[PAGE_CHECK_MAX];	/* only cnt are sent */
};

struct page_reply {
	uint64_t number;
	uint64_t rss_anon, swapped;	/* bytes */
	uint64_t read_ns;	/* when these two, or the contents, were read */
	int32_t err;		/* as in struct page_answer */
	uint32_t cnt;		/* as in the question, or 0 with err */
	uint32_t frames_known;
	uint32_t what;		/* as in the question */
	union {			/* only cnt are sent */
		struct page_state states[PAGE_CHECK_MAX];
		struct page_content contents[PAGE_LOOK_MAX];
	};
};

/* Limit on pages in a question of this kind; 0: there is none. */
size_t page_asked_max(uint32_t what);

size_t page_question_bytes(const struct page_question *q);
size_t page_reply_bytes(const struct page_reply *r);

/* Returns true if a question of this many bytes is well-formed. */
bool page_question_ok(const struct page_question *q, size_t bytes);
/*
 * Returns true if a reply of this many bytes answers q: the same addresses, valid kinds and states.
 */
bool page_reply_ok(const struct page_question *q, const struct page_reply *r, size_t bytes);

/* Send a message without blocking. 0; -EAGAIN: no space; other -errno. */
int page_wire_send(int fd, const void *msg, size_t bytes);
/* Receive a message without blocking. Its length; -EAGAIN: none; -EPIPE: the end is closed. */
ssize_t page_wire_receive(int fd, void *msg, size_t room);

#endif
