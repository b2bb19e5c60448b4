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
#include "memory/page_content.h"
#include "worker/worker.h"

struct page_check;

/* Limits on pages in one question, in one about their contents, and on open questions. */
#define PAGE_CHECK_MAX 2048
#define PAGE_LOOK_MAX 64
#define PAGE_CHECK_OPEN_MAX 4

/* The worker "tachbpf-pages". */
extern const struct worker_kind page_check_kind;

enum page_asked {
	PAGES_THERE = 0,	/* which pages are there: struct page_state */
	PAGES_CONTENTS,		/* what is in them: struct page_content, within a budget of time */
	PAGES_CONTENTS_LAST,	/* the same without that budget */
	PAGES_ASKED
};

struct page_answer {
	pid_t tgid;
	uint64_t start_ns;	/* as in the question: identifies the process */
	uint64_t asked_ns;
	int32_t err;		/* 0; -ESRCH: the process is gone; -EACCES: pagemap is denied */
	bool frames_known;	/* page frame numbers are visible (CAP_SYS_ADMIN) */
	uint64_t rss_anon, swapped;	/* bytes */
	uint64_t read_ns;	/* when these two, or all contents, were read: between asked_ns
				 * and now */
	uint64_t tag;		/* from the question */
	enum page_asked what;
	size_t cnt;
	const struct page_state *states;	/* NULL: they are contents */
	const struct page_content *contents;
};
typedef void (*page_answer_fn)(void *ctx, const struct page_answer *answer);

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
		   enum page_asked what, const uint64_t *addrs, size_t cnt);
/*
 * Take the available answers, but none from after known_ns (CLOCK_MONOTONIC), up to which the
 * caller knows the moves of pages. A page moved since the question is gone from its old address.
 */
void page_check_poll(struct page_check *c, uint64_t known_ns);
/* Wait for the answers to all open questions, at most timeout_ms. */
void page_check_settle(struct page_check *c, int timeout_ms);
uint32_t page_check_open(const struct page_check *c);	/* questions without an answer */

#endif
