// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* top_write.c - key w of `tachbpf top`: what was seen since the start as a flame graph. See top_state.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/output.h"
#include "base/util.h"
#include "commands/top_state.h"
#include "cpython/image.h"
#include "formats/sinks.h"
#include "live/live_counts.h"
#include "model/stack_tree.h"
#include "resolve/process.h"

/* Events of the distinct stacks, innermost frame first. 0 or -errno. */
static int write_shares(struct sink *sink, const struct stack_tree_view *v)
{
	uint32_t frames[EVENT_MAX_FRAMES], node, i;
	int err = 0;

	for (i = 0; !err && i < v->share_cnt; i++) {
		const struct stack_share *s = &v->shares[i];
		struct event ev = {
			.thread_id = v->threads[s->thread].thread_id, .frames = frames,
			.interp_id = v->threads[s->thread].interp_id, .weight = s->weight,
			.status = s->status,
		};

		for (node = s->node; node && ev.nframes < EVENT_MAX_FRAMES;
		     node = v->nodes[node].parent)
			frames[ev.nframes++] = v->nodes[node].frame;
		err = sink->ops->event(sink, &ev);
	}
	return err;
}

static int write_process(struct sink *sink, const struct top_ui *ui, const struct process *p,
			 uint64_t span_ns)
{
	static const enum profile_mode modes[RECORD_MODE_CNT] = {
		[RECORD_CPU] = MODE_CPU, [RECORD_WALL] = MODE_WALL, [RECORD_GIL] = MODE_GIL,
	};
	const struct profile_stats stats = { .known = true, .duration_s = span_ns / 1e9 };
	struct profile_meta meta = {
		.unit = UNIT_NANOSECONDS, .mode = modes[ui->choice->mode], .interval_us = 1,
		.tgid = (uint32_t)process_tgid(p), .comm = process_comm(p),
		.thread_names = process_thread_names(p), .start_us = ui->session->start_ns / 1000,
	};
	const struct stack_tree *stacks;
	struct stack_tree_view v;
	uint64_t beyond;
	int err;

	stacks = live_stacks(ui->session->live, process_tgid(p), &beyond);
	if (!stacks)
		return 0;
	v = stack_tree_view(stacks);
	err = sink->ops->begin(sink, &meta, v.tables);
	if (!err)
		err = write_shares(sink, &v);
	return err ? err : sink->ops->end(sink, &stats);
}

static int write_all_processes(struct top_ui *ui, struct sink *sink)
{
	struct live_process *list;
	size_t cnt, i;
	int err = 0;

	list = live_list(ui->session->live, &cnt);
	if (!list)
		return -ENOMEM;
	for (i = 0; !err && i < cnt; i++)
		if (!ui->choice->entered || process_tgid(list[i].process) == ui->choice->entered)
			err = write_process(sink, ui, list[i].process,
					    now_ns() - ui->session->start_ns);
	free(list);
	return err;
}

static int write_to(struct top_ui *ui, int fd, const char *title)
{
	const struct sink_ops *ops = sink_find("flamegraph");
	const struct sink_args args = { .fd = fd, .many = !ui->choice->entered, .title = title };
	struct sink *sink = sink_new(ops, &args);
	int err = sink ? write_all_processes(ui, sink) : -errno, close_err;

	if (!sink)
		return err;
	close_err = sink->ops->close(sink);
	return err ? err : close_err;
}

void top_write(struct top_ui *ui)
{
	char path[64], when[32] = "";
	time_t now = time(NULL);
	struct output_file f;
	struct tm tm;
	int err;

	if (localtime_r(&now, &tm))
		strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &tm);
	if (ui->choice->entered)
		snprintf(path, sizeof(path), "tachbpf-top-%d-%s.html", ui->choice->entered, when);
	else
		snprintf(path, sizeof(path), "tachbpf-top-%s.html", when);
	err = output_open(&f, path);
	if (!err) {
		err = write_to(ui, f.fd, path);
		if (err)
			output_abort(&f);
		else
			err = output_commit(&f);
	}
	if (err)
		snprintf(ui->message, sizeof(ui->message), "%s was not written: %s", path,
			 strerror(-err));
	else
		snprintf(ui->message, sizeof(ui->message), "written: %s", path);
}
