// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* burst.c - see burst.h. */
#include "agent/burst.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "target/proc_filter_eval.h"

int burst_begin(struct burst *b, struct ctl_request *r, uint64_t now_ns)
{
	burst_end(b);
	b->asked = *r;
	*r = (struct ctl_request){ .what = r->what };
	if (b->asked.filter.cnt) {
		b->eval = proc_filter_eval_new(&b->asked.filter);
		if (!b->eval) {
			int err = -errno;

			ctl_request_free(&b->asked);
			return err;
		}
	}
	b->active = true;
	b->begun++;
	b->until_ns = now_ns + b->asked.for_ns;
	return 0;
}

void burst_end(struct burst *b)
{
	if (!b->active)
		return;
	b->active = false;
	proc_filter_eval_free(b->eval);
	b->eval = NULL;
	ctl_request_free(&b->asked);
}

bool burst_expired(struct burst *b, uint64_t now_ns)
{
	if (!b->active || now_ns < b->until_ns)
		return false;
	burst_end(b);
	return true;
}

bool burst_is_of_all(const struct burst *b)
{
	return !b->asked.filter.cnt && !b->asked.pid_cnt;
}

bool burst_chooses(struct burst *b, pid_t tgid)
{
	size_t i;

	if (!b->active)
		return false;
	for (i = 0; i < b->asked.pid_cnt && b->asked.pids[i] != tgid; i++)
		;
	if (b->asked.pid_cnt && i == b->asked.pid_cnt)
		return false;
	return !b->eval || !proc_filter_eval_judge(b->eval, tgid);
}

int burst_text(const struct burst *b, struct buf *out)
{
	const struct ctl_request *r = &b->asked;
	size_t i, before = out->len;
	char pid[32];
	int err = 0, n;

	if (burst_is_of_all(b))
		return buf_add(out, "all processes", 13);
	for (i = 0; !err && i < r->filter.cnt; i++) {
		const char *kind = proc_filter_kind_name(r->filter.rules[i].kind);
		const char *text = r->filter.rules[i].text;

		err = out->len == before ? buf_add(out, "--", 2) : buf_add(out, " --", 3);
		if (!err)
			err = buf_add(out, kind, strlen(kind));
		if (!err)
			err = buf_add(out, " ", 1);
		if (!err)
			err = buf_add(out, text, strlen(text));
	}
	for (i = 0; !err && i < r->pid_cnt; i++) {
		n = snprintf(pid, sizeof(pid), "%s--pid %d", out->len == before ? "" : " ",
			     r->pids[i]);
		err = buf_add(out, pid, n);
	}
	return err;
}
