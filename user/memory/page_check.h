/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * page_check.h - asks which pages of processes are still there. A worker reads /proc/PID/pagemap,
 * /proc/kpageflags and /proc/PID/status, which can wait for the process' memory map; nobody waits
 * for it: answers come when they come, to page_check_poll().
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

/* Pages in one question, and questions that may be open. */
#define PAGE_CHECK_MAX 2048
#define PAGE_CHECK_OPEN_MAX 4

/* The worker "tachbpf-pages". */
extern const struct worker_kind page_check_kind;

struct page_answer {
	pid_t tgid;
	uint64_t start_ns;	/* as in the question: the process' identity */
	uint64_t asked_ns;
	int32_t err;		/* 0; -ESRCH: the process is gone; -EACCES: pagemap is denied */
	bool frames_known;	/* page frame numbers are shown (CAP_SYS_ADMIN) */
	uint64_t rss_anon, swapped;	/* bytes */
	uint64_t read_ns;	/* when these two were read: from asked_ns to now */
	uint64_t tag;		/* of the question */
	size_t cnt;
	const struct page_state *states;
};
typedef void (*page_answer_fn)(void *ctx, const struct page_answer *answer);

struct page_check_counts {
	uint64_t pages;		/* that were asked about */
	uint64_t unanswered;	/* questions: their worker had ended */
	uint32_t starts;	/* of the worker */
	uint32_t stuck;		/* workers that were given up */
	uint32_t broken;	/* workers that ended, or said what is no answer */
};

/* NULL with errno. fn is called from page_check_poll() and page_check_settle() only. */
struct page_check *page_check_new(page_answer_fn fn, void *ctx);
/* Start the worker, if it does not run. 0 or -errno; page_check_ask() tries again, too. */
int page_check_start(struct page_check *c);
void page_check_free(struct page_check *c);
/* Can be read when there are answers. */
int page_check_fd(const struct page_check *c);

/*
 * Ask about cnt addresses (may be 0: only RssAnon), sorted. 0; -EAGAIN: too many are open;
 * -errno: the worker has ended or is stuck: it is started again.
 */
int page_check_ask(struct page_check *c, pid_t tgid, uint64_t start_ns, uint64_t tag,
		   const uint64_t *addrs, size_t cnt);
/*
 * Take the answers that are there, but none from after known_ns (CLOCK_MONOTONIC): so far the caller
 * knows which pages were moved. A page that was moved meanwhile is gone from where it was asked for.
 */
void page_check_poll(struct page_check *c, uint64_t known_ns);
/* Wait for the answers to all open questions, for so many milliseconds at most. */
void page_check_settle(struct page_check *c, int timeout_ms);
uint32_t page_check_open(const struct page_check *c);	/* questions without an answer */
void page_check_counts(const struct page_check *c, struct page_check_counts *out);

#endif
