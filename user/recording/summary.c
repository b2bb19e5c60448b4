// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * summary.c - prints a recording's figures as text.
 */
#include <stdio.h>

#include "base/arith.h"
#include "recording/totals.h"

/*
 * Lost samples are not in a file. Missed ticks are listed separately: the clock did not tick,
 * because the virtual CPU did not run.
 */
static void print_losses(const struct capture_counts *c, const struct totals *t, FILE *out)
{
	int i;

	fprintf(out, "  lost        %llu\n", (unsigned long long)t->lost_total);
	for (i = 0; i < LOSS_CNT; i++)
		if (t->lost[i])
			fprintf(out, "    %10llu  %s\n", (unsigned long long)t->lost[i],
				loss_names[i].text);
	if (c->bpf[CNT_MISSED])
		fprintf(out, "  missed      %llu ticks (%.3f %%)\n",
			(unsigned long long)c->bpf[CNT_MISSED],
			percent(c->bpf[CNT_MISSED],
				c->bpf[CNT_MISSED] + c->bpf[CNT_SAMPLE]));
}

void recording_print(const struct recording *r, const struct capture_counts *c, FILE *out)
{
	struct totals t;

	totals_sum(r, c, &t);
	fprintf(out, "%s: %zu file%s, %zu process%s, %.1f s at %u Hz\n", r->path, r->file_cnt,
		r->file_cnt == 1 ? "" : "s", recording_row_cnt(r),
		recording_row_cnt(r) == 1 ? "" : "es", t.elapsed_s, r->args.rate_hz);
	fprintf(out, "  samples     %llu\n", (unsigned long long)t.samples);
	print_losses(c, &t, out);
	fprintf(out, "  truncated   %llu stacks (%.3f %%)\n", (unsigned long long)t.truncated,
		percent(t.truncated, t.samples));
	fprintf(out, "  unreadable  %llu stacks (%.3f %%)\n", (unsigned long long)t.unreadable,
		percent(t.unreadable, t.samples));
	fprintf(out, "  unresolved  %llu frames (%.3f %%)\n", (unsigned long long)t.unresolved,
		percent(t.unresolved, t.frames));
	if (c->bpf[CNT_SENT_EVICTED] && t.repeated > c->bpf[CNT_CODE] / 10)
		fprintf(out, "  code cache  %llu of %llu records repeated: give a larger "
			"--sent-codes\n", (unsigned long long)t.repeated,
			(unsigned long long)c->bpf[CNT_CODE]);
	if (c->unidentified)
		fprintf(out, "  unidentified %llu ticks in processes, Python or not, that had "
			"ended before they were inspected\n",
			(unsigned long long)c->unidentified);
	if (r->refusal_cnt)
		fprintf(out, "  refused     %zu Pythons that cannot be profiled\n",
			r->refusal_cnt + r->refusals_more);
	if (c->cost.cnt)
		fprintf(out, "  sample time %.2f us on average, 99.9 %% below %.2f us, the longest "
			"%.2f us\n", c->cost.mean_ns / 1e3, c->cost.p999_ns / 1e3,
			c->cost.max_ns / 1e3);
	if (c->cost.stalls)
		fprintf(out, "              not included: the machine stood still %llu times, "
			"%.1f ms in all\n", (unsigned long long)c->cost.stalls,
			c->cost.stalled_ns / 1e6);
	fprintf(out, "  profiler    %.2f %% of one CPU\n",
		t.elapsed_s > 0 ? 100 * t.cpu_s / t.elapsed_s : 0);
}
