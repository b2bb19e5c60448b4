// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * pythons.c - see pythons.h.
 */
#include "target/pythons.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "base/util.h"
#include "memory/reader.h"
#include "target/inspector.h"
#include "target/proc_filter_eval.h"

/*
 * Memory that cannot be read in time is read again after 50 ms. For processes that never deliver a
 * page, the total wait is limited to TRIES_AGAIN of these: three seconds.
 */
#define AGAIN_US 50000
#define TRIES_AGAIN 60

struct search {
	struct discovery *discovery;
	unsigned int tries_left;
	struct identities *ids;
	struct proc_filter_eval *filter_eval;
	struct pythons_counts *counts;
	int (*each)(void *ctx, const struct python *p);
	void *ctx;
};

static const struct {
	uint32_t bit;
	const char *word;
} words[] = {
	{ PYTHON_STATIC, "static" }, { PYTHON_SHARED, "shared" }, { PYTHON_DEBUG, "debug" },
	{ PYTHON_FREE_THREADED, "free-threaded" }, { PYTHON_TRACE_REFS, "trace-refs" },
	{ PYTHON_MUSL, "musl" },
};

const char *python_build_word(size_t i, uint32_t *bit)
{
	if (i >= ARRAY_SIZE(words))
		return NULL;
	*bit = words[i].bit;
	return words[i].word;
}

static uint32_t build_of(const struct cpython_image *img)
{
	return (img->program ? PYTHON_STATIC : PYTHON_SHARED) |
	       (img->debug ? PYTHON_DEBUG : 0) | (img->free_threaded ? PYTHON_FREE_THREADED : 0) |
	       (img->trace_refs ? PYTHON_TRACE_REFS : 0) | (img->needs_musl ? PYTHON_MUSL : 0);
}

/* CPU use since the process started, as ps(1) computes it, in % of one CPU. */
static double cpu_pct(const struct proc_stat *st)
{
	double hz = (double)sysconf(_SC_CLK_TCK), age;

	age = (double)clock_ns(CLOCK_BOOTTIME) / 1e9 - (double)st->start_ticks / hz;
	/* Meaningless for younger processes: times are measured in clock ticks. */
	return age > 1 / hz ? 100 * (double)st->cpu_ticks / hz / age : 0;
}

/*
 * Set p's version, build, profilable, why and remark from err, the result of
 * discovery_inspect() (0, -ENOTSUP or -EAGAIN), and what that found.
 */
static void python_describe(struct python *p, int err, const struct discovered *found)
{
	const char *why = "", *remark = "";

	if (err) {
		why = found->why;
	} else {
		snprintf(p->version, sizeof(p->version), "%s", found->image->version);
		p->build = build_of(found->image);
		if (found->ready == READY_NO)
			why = "its interpreter is not initialised (yet)";
		else if (found->ready == READY_BUSY)
			remark = "busy: its memory could not be read in time";
		else if (found->ready == READY_UNKNOWN)
			remark = "unknown whether its interpreter is initialised: no permission to "
				 "read its memory";
		else
			remark = found->also;
	}
	p->profilable = !*why;
	snprintf(p->why, sizeof(p->why), "%s", why);
	snprintf(p->remark, sizeof(p->remark), "%s", remark);
}

static void describe_python(struct search *s, const struct proc_info *who, struct python *p)
{
	struct proc_status status;

	memset(p, 0, sizeof(*p));
	p->tgid = who->tgid;
	snprintf(p->comm, sizeof(p->comm), "%s", who->stat.comm);
	proc_cmdline(who->task, p->command, sizeof(p->command));
	identity_of_process(s->ids, who, &p->identity);
	p->threads = proc_status(who->tgid, &status) ? 0 : status.threads;
	p->cpu_pct = cpu_pct(&who->stat);
	held_by_words(who->tgid, p->held);
}

/* discovery_inspect() and found->ready, repeated while the memory could not be read in time. */
static int inspect_process(struct search *s, const struct proc_info *who, struct discovered *found)
{
	uint64_t files;
	int err;

	for (;; s->tries_left--) {
		files = 0;
		err = discovery_inspect(s->discovery, who, &files, 0, found);
		if (!err && found->ready == READY_UNASKED)
			found->ready = discovery_ready(who->task, &found->proc);
		if (err || found->ready != READY_BUSY || !s->tries_left)
			return err;
		usleep(AGAIN_US);
	}
}

/* Returns true if this result of discovery_inspect() says nothing about the process. */
static bool says_nothing(int err)
{
	return err && err != -ENOENT && err != -EALREADY && err != -ENOTSUP && err != -EAGAIN &&
	       err != -ESRCH;
}

static void count_unreadable(struct search *s, const struct proc_info *who, int err,
			     const struct discovered *found)
{
	char comm[4 * PROC_COMM_MAX];

	s->counts->unreadable++;
	log_debug("%d %s could not be inspected: %s", who->tgid,
		  escape_text(who->stat.comm, strlen(who->stat.comm), comm, sizeof(comm)),
		  *found->why ? found->why : strerror(-err));
}

/* Calls each(). err: of discovery_inspect(): 0, -ENOTSUP or -EAGAIN. */
static int show_python(struct search *s, const struct proc_info *who, int err,
		       const struct discovered *found)
{
	struct python p;

	describe_python(s, who, &p);
	python_describe(&p, err, found);
	p.found = err ? NULL : found;
	return s->each(s->ctx, &p);
}

static int list_if_python(void *ctx, pid_t tgid)
{
	struct search *s = ctx;
	struct discovered found;
	struct proc_info who;
	int err;

	if (proc_info_read(tgid, &who) || who.stat.kernel_thread || inspector_is_worker(&who))
		return 0;
	if (s->filter_eval && (proc_filter_eval_wait_ns(s->filter_eval, tgid, 0) ||
			       proc_filter_eval_judge(s->filter_eval, tgid)))
		return 0;
	s->counts->processes++;
	err = inspect_process(s, &who, &found);
	if (says_nothing(err))
		count_unreadable(s, &who, err, &found);
	if (err && err != -ENOTSUP && err != -EAGAIN)
		return 0;
	s->counts->pythons++;
	return show_python(s, &who, err, &found);
}

int pythons_each(struct identities *ids, struct proc_filter_eval *filter_eval,
		 struct pythons_counts *counts,
		 int (*each)(void *ctx, const struct python *p), void *ctx)
{
	struct search s = { discovery_new(), TRIES_AGAIN, ids, filter_eval, counts, each, ctx };
	int err;

	memset(counts, 0, sizeof(*counts));
	err = s.discovery ? proc_each(list_if_python, &s) : -ENOMEM;
	discovery_free(s.discovery);
	reader_end();
	inspector_end();
	return err;
}

/* The first Python process that a process has started. */
struct below {
	struct search *s;
	pid_t ancestor, found;
};

static int find_below(void *ctx, pid_t tgid)
{
	struct below *b = ctx;
	struct discovered found;
	struct proc_info who;
	int err;

	if (tgid == b->ancestor || !proc_descends_from(tgid, b->ancestor) ||
	    proc_info_read(tgid, &who))
		return 0;
	err = inspect_process(b->s, &who, &found);
	if (err && err != -EAGAIN && err != -ENOTSUP)
		return 0;
	b->found = tgid;
	return 1;
}

int pythons_find(struct identities *ids, pid_t tgid, pid_t *below, char why[DISCOVERY_WHY_MAX],
		 int (*each)(void *ctx, const struct python *p), void *ctx)
{
	struct search s = { discovery_new(), TRIES_AGAIN, ids, .each = each, .ctx = ctx };
	struct below b = { &s, tgid, 0 };
	struct discovered found = { .why = "" };
	struct proc_info who;
	int err = s.discovery ? proc_info_read(tgid, &who) : -ENOMEM;

	*why = '\0';
	if (!err && who.stat.kernel_thread)
		err = -ENOENT;
	else if (!err)
		err = inspect_process(&s, &who, &found);
	if (err == -ENOENT)
		proc_each(find_below, &b);
	snprintf(why, DISCOVERY_WHY_MAX, "%s", found.why);
	*below = b.found;
	if (!err || err == -ENOTSUP || err == -EAGAIN)
		err = show_python(&s, &who, err, &found);
	discovery_free(s.discovery);
	reader_end();
	inspector_end();
	return err;
}
