/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * page_check_wire.h - what page_check and its worker say to each other: a question is answered by
 * one reply, in the order of questions. Messages of a socket of type SOCK_SEQPACKET.
 */
#ifndef TACHBPF_PAGE_CHECK_WIRE_H
#define TACHBPF_PAGE_CHECK_WIRE_H

#include "memory/page_check.h"

struct page_question {
	uint64_t number;	/* which the reply repeats */
	uint64_t start_ns;	/* the process' identity; 0: not known */
	int32_t tgid;
	uint32_t cnt;
	uint64_t addrs[PAGE_CHECK_MAX];	/* cnt sent */
};

struct page_reply {
	uint64_t number;
	uint64_t rss_anon, swapped;	/* bytes */
	uint64_t read_ns;	/* when these two were read */
	int32_t err;		/* as in struct page_answer */
	uint32_t cnt;		/* as in the question, or 0 with err */
	uint32_t frames_known;
	uint32_t pad;
	struct page_state states[PAGE_CHECK_MAX];	/* cnt sent */
};

size_t page_question_bytes(const struct page_question *q);
size_t page_reply_bytes(const struct page_reply *r);

/* Has a question of so many bytes its form? */
bool page_question_ok(const struct page_question *q, size_t bytes);
/* Does a reply of so many bytes answer q: the same addresses, kinds that there are? */
bool page_reply_ok(const struct page_question *q, const struct page_reply *r, size_t bytes);

/* Send a message. Does not wait. 0; -EAGAIN: there is no room; other -errno. */
int page_wire_send(int fd, const void *msg, size_t bytes);
/* Receive one. Does not wait. Its length; -EAGAIN: there is none; -EPIPE: the end is closed. */
ssize_t page_wire_receive(int fd, void *msg, size_t room);

#endif
