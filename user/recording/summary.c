// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * summary.c - the summary of a recording, for people: what was recorded; and one count per line
 * with its share, of all that was counted or of what matters.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arith.h"
#include "base/text.h"
#include "base/util.h"
#include "recording/totals.h"

#define NAME_COLUMNS SUMMARY_NAME_COLUMNS
#define COUNT_COLUMNS SUMMARY_COUNT_COLUMNS
#define LOSERS 5	/* processes shown with their losses */
#define OUTSIDE_PCT 1	/* less CPU time outside Python is not shown */
#define NOTABLE_PCT 1	/* less is shown only with -v */
#define SHOWN_PATHS 4	/* a program that executes others has many files */

/* A process, or processes that share a file, with losses. */
struct loser {
	pid_t tgid;		/* 0: several */
	char comm[PROC_COMM_MAX];
	uint64_t lost[LOSS_CNT], total;
	uint32_t worst_tid;	/* the thread that lost most; 0: unknown */
	uint64_t worst;
};

struct losers {
	struct loser list[LOSERS];	/* largest losses first */
	size_t cnt;			/* number of all */
};

static void find_worst_thread(struct loser *one, const struct losses_of_threads *threads)
{
	uint64_t sum;
	uint32_t n;
	int i;

	for (n = 0; threads && n < threads->cnt; n++) {
		for (sum = 0, i = 0; i < LOSS_CNT; i++)
			sum += threads->list[n].lost[i];
		if (sum > one->worst) {
			one->worst = sum;
			one->worst_tid = threads->list[n].tid;
		}
	}
}

static void add_loser(void *ctx, const struct row *row)
{
	struct losers *l = ctx;
	struct loser one = { .tgid = row->merged_cnt ? 0 : row->tgid };
	size_t at;
	int i;

	for (i = 0; i < LOSS_CNT; i++) {
		one.lost[i] = row_lost(&row->stats, i, row_has_no_file(row));
		one.total += one.lost[i];
	}
	if (!one.total)
		return;
	memcpy(one.comm, row->comm, sizeof(one.comm));
	find_worst_thread(&one, row->losses);
	at = l->cnt < LOSERS ? l->cnt : LOSERS;
	l->cnt++;
	for (; at && one.total > l->list[at - 1].total; at--)
		if (at < LOSERS)
			l->list[at] = l->list[at - 1];
	if (at < LOSERS)
		l->list[at] = one;
}

static void print_loser(const struct loser *one, FILE *out)
{
	char comm[4 * PROC_COMM_MAX];
	int i;

	escape_text(one->comm, strlen(one->comm), comm, sizeof(comm));
	fprintf(out, "    %*llu  of ", COUNT_COLUMNS, (unsigned long long)one->total);
	if (one->tgid)
		fprintf(out, "process %d (%s)", one->tgid, comm);
	else
		fprintf(out, "short-lived processes (%s)", comm);
	if (one->worst_tid)
		fprintf(out, ", most in thread %u: %llu", one->worst_tid,
			(unsigned long long)one->worst);
	fprintf(out, "\n");
	for (i = 0; i < LOSS_CNT; i++)
		if (one->lost[i])
			fprintf(out, "      %*llu  %s\n", COUNT_COLUMNS,
				(unsigned long long)one->lost[i], loss_names[i].text);
}

/* Prints which processes have the losses, as far as known. */
static void print_losers(const struct recording *r, const struct totals *t, FILE *out)
{
	struct losers losers = { .cnt = 0 };
	uint64_t unnamed = t->lost_total;
	size_t i;

	recording_each_row(r, add_loser, &losers);
	for (i = 0; i < LOSS_CNT; i++)
		unnamed -= t->named[i];
	for (i = 0; i < losers.cnt && i < LOSERS; i++)
		print_loser(&losers.list[i], out);
	if (losers.cnt > LOSERS)
		fprintf(out, "    %*s  and of %zu more, listed by `tachbpf info`\n", COUNT_COLUMNS,
			"", losers.cnt - LOSERS);
	if (losers.cnt && unnamed)
		fprintf(out, "    %*llu  of unknown processes\n", COUNT_COLUMNS,
			(unsigned long long)unnamed);
}

/*
 * Returns true if all samples are ticks: the CPU time is samples, losses and print_no_samples()'s.
 */
static bool is_clock(const struct recording *r)
{
	return r->args.mode->ticks && !r->args.mode->waits;
}

static void print_samples(const struct recording *r, const struct totals *t,
			  const struct tick_sums *ticks, FILE *out)
{
	char text[64];

	snprintf(text, sizeof(text), "ticks: %.3f s of Python processes",
		 (double)ticks->all / r->args.rate_hz);
	if (r->args.mode->ticks)
		summary_remark(out, "CPU time", ticks->all, text);
	if (is_clock(r))
		summary_share(out, "samples", ticks->samples, ticks->all, "the CPU time");
	else
		summary_count(out, "samples", t->samples);
}

/* Prints what was due and is not in a file. */
static void print_losses(const struct recording *r, const struct totals *t,
			 const struct tick_sums *ticks, FILE *out)
{
	uint64_t taken = r->args.mode->memory ? t->memory.allocs : t->samples;
	uint64_t others = t->lost_total - t->lost_samples;
	int i, samples;

	if (is_clock(r))
		summary_share(out, "lost", t->lost_samples, ticks->all, "the CPU time");
	else
		summary_share(out, "lost", t->lost_samples, taken + t->lost_samples,
			      "what was sampled");
	for (samples = 1; samples >= 0; samples--) {
		if (!samples && others)
			summary_remark(out, "also lost", others, "records other than samples");
		for (i = 0; i < LOSS_CNT; i++)
			if (t->lost[i] && loss_names[i].is_sample == samples)
				summary_cause(out, t->lost[i], loss_names[i].text);
	}
	print_losers(r, t, out);
}

/*
 * Prints CPU time without samples that is not a loss, and possible CPU time of Python processes.
 * Ticks that never occurred are separate: the machine did not run the clock (a virtual CPU that was
 * not scheduled).
 */
static void print_no_samples(const struct recording *r, const struct capture_counts *c,
			     const struct totals *t, const struct tick_sums *ticks, FILE *out)
{
	uint64_t other = r->command_tgid ? tick_sums_other(c, t) : 0;

	summary_share_any(out, "start of Python", ticks->start, ticks->all,
			  "the CPU time: exec and linker");
	summary_share_any(out, "end of Python", ticks->end, ticks->all,
			  "the CPU time: after the exit");
	summary_share_any(out, "without a stack", ticks->no_stack, ticks->all,
			  "the CPU time: outside Python, not in the files");
	summary_share_any(out, "left out", ticks->left_out, ticks->all,
			  "the CPU time, by the mode");
	summary_share_any(out, "missed ticks", ticks->missed, ticks->all, "the CPU time");
	summary_share_any(out, "unidentified ticks", c->unidentified, ticks->all + c->unidentified,
			  "the CPU time, if it was Python");
	summary_remark_any(out, "ticks of new CPUs", c->no_event,
			   "did not occur, whatever ran there");
	summary_remark_any(out, "other programs", other, "ticks of the command, not Python");
}

static void print_stacks(const struct totals *t, FILE *out)
{
	/* These are counted before samples are written. */
	uint64_t samples = t->samples + t->lost[LOSS_WRITE] + t->lost[LOSS_NO_FILE];

	summary_share_any(out, "truncated stacks", t->truncated, samples, "the samples");
	summary_share_any(out, "shortened stacks", t->shortened, samples,
			  "the samples: frames in their middle are left out");
	summary_share_any(out, "unreadable stacks", t->unreadable, samples, "the samples");
	summary_share_any(out, "switching stacks", t->switching, samples, "the samples");
	summary_share_any(out, "unresolved frames", t->unresolved, t->frames, "the frames");
}

/*
 * Prints samples without a Python stack; for events, also those without a sample for that reason.
 */
static void print_outside(const struct capture_counts *c, const struct tick_sums *ticks, FILE *out)
{
	uint64_t sent = c->bpf[CNT_NO_STACK];

	if (c->bpf[CNT_EVENT] && !sent)
		sent = c->bpf[CNT_NATIVE_THREAD] + c->bpf[CNT_NO_FRAMES];
	if (c->bpf[CNT_EVENT] && percent(sent, c->bpf[CNT_SAMPLE] + sent) >= OUTSIDE_PCT)
		summary_share(out, "without a stack", sent, c->bpf[CNT_SAMPLE] + sent,
			      "the events were outside Python");
	else if (!c->bpf[CNT_EVENT] && percent(sent, ticks->all) >= OUTSIDE_PCT)
		summary_share(out, "without a stack", sent, ticks->all,
			      "the CPU time was outside Python");
}

static void print_lost_processes(const struct recording *r, FILE *out)
{
	char remark[256];

	snprintf(remark, sizeof(remark), "whose profiles could not be written: %s%s",
		 strerror(-r->lost_err), recording_lost_remedy(r->lost_err));
	summary_remark(out, "lost processes", r->lost_cnt, remark);
}

static void print_remarks(const struct recording *r, const struct capture_counts *c,
			  const struct totals *t, FILE *out)
{
	summary_remark_any(out, "files that hang", c->files_stuck,
			   "processes with a file that did not respond");
	summary_remark_any(out, "own processes", c->workers_lost,
			   "of tachbpf were killed and replaced: some names may be missing");
	if (r->lost_cnt)
		print_lost_processes(r, out);
	if (r->remarks.cnt)
		summary_remark(out, "unsupported", r->remarks.cnt + r->remarks.more,
			       "Python processes that cannot be profiled");
}

/* --self-time */
static void print_cost(const struct sample_cost *cost, FILE *out)
{
	if (cost->cnt)
		fprintf(out, "  %-*s %*.2f us mean, 99.9 %% below %.2f, at most %.2f\n",
			NAME_COLUMNS, "time of a sample", COUNT_COLUMNS, cost->mean_ns / 1e3,
			cost->p999_ns / 1e3, cost->max_ns / 1e3);
	if (cost->stalls)
		fprintf(out, "  %-*s %*llu  times, %.1f ms: not in the time of samples\n",
			NAME_COLUMNS, "machine stalled", COUNT_COLUMNS,
			(unsigned long long)cost->stalls, cost->stalled_ns / 1e6);
}

/*
 * Prints the recording's files and its directory that exist; if none, or if another file is made of
 * them, the path that the user gave.
 */
static void print_place(const struct recording *r, FILE *out)
{
	const char *given = r->args.shown ? r->args.shown : r->path;
	struct recording_paths paths = { 0 };
	struct stat st;
	size_t i, shown = 0;
	char *text;

	if (!r->args.shown)
		recording_paths(r, &paths);	/* without memory: as many as possible */
	for (i = 0; i < paths.cnt && shown < SHOWN_PATHS; i++) {
		text = stat(paths.paths[i], &st) ? NULL :
		       text_escape(paths.paths[i], strlen(paths.paths[i]));
		if (text)
			fprintf(out, "%s%s", shown++ ? ", " : "", text);
		free(text);
	}
	recording_paths_free(&paths);
	text = shown ? NULL : text_escape(given, strlen(given));
	if (text)
		fprintf(out, "%s", text);
	else if (i < paths.cnt)
		fprintf(out, ", ...");
	free(text);
}

/* Prints what was recorded, and how often. */
static void print_how(const struct recording *r, FILE *out)
{
	char name[256];

	if (r->args.mode->events)
		fprintf(out, ", event %s", escape_text(r->args.event, strlen(r->args.event), name,
						       sizeof(name)));
	if (r->args.mode->events && r->args.event_every > 1)
		fprintf(out, ", one of %" PRIu64, r->args.event_every);
	if (!r->args.mode->memory && !(r->args.mode->events && r->args.event_every))
		fprintf(out, " at %u Hz", r->args.rate_hz);
}

void recording_print_head(const struct recording *r, const struct capture_counts *c, FILE *out)
{
	size_t rows = recording_row_cnt(r);
	struct totals t;

	totals_sum(r, c, &t);
	print_place(r, out);
	fprintf(out, ": %zu %s, %zu %s, %.1f s", r->file_cnt,
		text_plural(r->file_cnt, "file", "files"), rows,
		text_plural(rows, "process", "processes"), t.elapsed_s);
	print_how(r, out);
	fprintf(out, "\n");
	if (r->args.mode->memory)
		memory_print_held(&t.memory, out);
}

/* ---- all counts ---- */

static void print_all(const struct recording *r, const struct capture_counts *c,
		      const struct totals *t, const struct tick_sums *ticks, FILE *out)
{
	if (r->args.mode->memory) {
		summary_count(out, "allocations", t->memory.allocs);
		memory_print(&t->memory, out);
	} else {
		print_samples(r, t, ticks, out);
	}
	print_losses(r, t, ticks, out);
	if (r->args.mode->ticks)
		print_no_samples(r, c, t, ticks, out);
	print_stacks(t, out);
	if (!r->args.mode->memory)
		print_outside(c, ticks, out);
	if (r->args.features & FEATURE_NATIVE)
		native_print(&t->native, c, t->frames, out);
	if (r->args.async)
		async_print(&t->async, c->async_others, out);
	print_remarks(r, c, t, out);
	print_cost(&c->cost, out);
	fprintf(out, "  %-*s %*s  %7.3f %% of one CPU\n", NAME_COLUMNS, "tachbpf itself",
		COUNT_COLUMNS, "", t->elapsed_s > 0 ? 100 * t->cpu_s / t->elapsed_s : 0);
}

/* ---- what matters ---- */

#define NOTABLES_MAX (LOSS_CNT + 16)
#define NOTABLES_SHOWN 3	/* more would push the answer off the first screen */

/* Shares from NOTABLE_PCT on, the largest first. */
struct notables {
	struct notable {
		double pct;
		const char *before, *what;	/* static; before: may be "" */
	} list[NOTABLES_MAX];
	size_t cnt;
};

static void insert_notable(struct notables *n, uint64_t cnt, uint64_t all, const char *before,
			   const char *what)
{
	struct notable one = { percent(cnt, all), before, what };
	size_t at = n->cnt;

	if (!cnt || one.pct < NOTABLE_PCT || n->cnt == NOTABLES_MAX)
		return;
	for (; at && n->list[at - 1].pct < one.pct; at--)
		n->list[at] = n->list[at - 1];
	n->list[at] = one;
	n->cnt++;
}

static void add_notable(struct notables *n, uint64_t cnt, uint64_t all, const char *what)
{
	insert_notable(n, cnt, all, "", what);
}

/* What is left out takes a line, so it is never one. */
static void print_notables(const struct notables *n, FILE *out)
{
	size_t shown = n->cnt > NOTABLES_SHOWN ? NOTABLES_SHOWN - 1 : n->cnt, i;

	for (i = 0; i < shown; i++)
		fprintf(out, "  %5.1f %%  %s%s\n", n->list[i].pct, n->list[i].before,
			n->list[i].what);
	if (shown < n->cnt)
		fprintf(out, "  and %zu smaller ones: record with -v to see them\n",
			n->cnt - shown);
}

/* The causes of losses. base: samples, with the lost ones, or the CPU time in ticks. */
static void add_losses(struct notables *n, const struct totals *t, uint64_t base)
{
	int i;

	for (i = 0; i < LOSS_CNT; i++)
		insert_notable(n, t->lost[i], base, "lost ", loss_names[i].text);
}

static void add_ticks(struct notables *n, const struct recording *r, const struct capture_counts *c,
		      const struct totals *t, const struct tick_sums *ticks)
{
	uint64_t other = r->command_tgid ? tick_sums_other(c, t) : 0;

	add_notable(n, ticks->start, ticks->all,
		    "of the CPU time before Python: exec and the dynamic linker");
	add_notable(n, ticks->end, ticks->all, "of the CPU time after the last thread's end");
	if (is_clock(r))
		add_notable(n, ticks->no_stack, ticks->all,
			    "of the CPU time in threads without Python, left out as requested");
	add_notable(n, ticks->missed, ticks->all,
		    "of the CPU time not sampled: the clock did not tick (a busy host)");
	add_notable(n, c->unidentified, ticks->all + c->unidentified,
		    "of the CPU time in processes that ended before they were known");
	add_notable(n, other, ticks->all + other,
		    "of the command's CPU time in programs that are not Python");
}

static void add_stacks(struct notables *n, const struct recording *r,
		       const struct capture_counts *c, const struct totals *t,
		       const struct tick_sums *ticks)
{
	uint64_t samples = t->samples + t->lost[LOSS_WRITE] + t->lost[LOSS_NO_FILE];

	add_notable(n, t->truncated, samples, "of the stacks are deeper than 256 frames");
	add_notable(n, t->shortened, samples,
		    "of the stacks have more than 256 frames: their middle is left out");
	add_notable(n, t->unreadable, samples, "of the stacks could not be read");
	add_notable(n, t->switching, samples, "of the stacks were switched when sampled");
	add_notable(n, t->unresolved, t->frames, "of the frames have no name");
	if (r->args.mode->ticks && !c->bpf[CNT_EVENT])
		add_notable(n, c->bpf[CNT_NO_STACK], ticks->all,
			    "of the CPU time in threads without a Python stack");
	if (r->args.features & FEATURE_NATIVE)
		add_notable(n, native_sums_cut(&t->native), native_sums_stacks(&t->native),
			    "of the native stacks are unwound only in part");
}

static void print_brief(const struct recording *r, const struct capture_counts *c,
			const struct totals *t, const struct tick_sums *ticks, FILE *out)
{
	bool memory = r->args.mode->memory;
	uint64_t taken = memory ? t->memory.allocs : t->samples;
	uint64_t base = is_clock(r) ? ticks->all : taken + t->lost_samples;
	struct notables notables = { .cnt = 0 };

	fprintf(out, "%llu %s, %llu lost; tachbpf itself used %.1f %% of a CPU\n",
		(unsigned long long)taken,
		memory ? text_plural(taken, "allocation", "allocations") :
			 text_plural(taken, "sample", "samples"),
		(unsigned long long)t->lost_total,
		t->elapsed_s > 0 ? 100 * t->cpu_s / t->elapsed_s : 0);
	add_losses(&notables, t, base);
	if (r->args.mode->ticks && !memory)
		add_ticks(&notables, r, c, t, ticks);
	if (!memory)
		add_stacks(&notables, r, c, t, ticks);
	print_notables(&notables, out);
	print_remarks(r, c, t, out);
	print_cost(&c->cost, out);
}

void recording_print_counts(const struct recording *r, const struct capture_counts *c, FILE *out,
			    bool all)
{
	struct tick_sums ticks;
	struct totals t;

	totals_sum(r, c, &t);
	tick_sums(&ticks, c, &t, r->args.mode->waits);
	if (all)
		print_all(r, c, &t, &ticks, out);
	else
		print_brief(r, c, &t, &ticks, out);
}
