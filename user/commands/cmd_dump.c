// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* cmd_dump.c - `tachbpf dump`: the current stack of every thread of selected processes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/output.h"
#include "base/text.h"
#include "base/util.h"
#include "commands/command_process.h"
#include "commands/commands.h"
#include "commands/dump_show.h"
#include "commands/options.h"
#include "doctor/precheck.h"
#include "host/identity.h"
#include "look/look.h"
#include "look/look_worker.h"
#include "target/inspector.h"
#include "worker/worker.h"

struct dump {
	bool as_json;
	bool locals;		/* --locals */
	uint32_t blocked_ms;	/* --blocked; 0: all threads */
	size_t shown;
	struct json json;
};

static void print_process(struct dump *d, const struct look_process *p)
{
	if (d->as_json)
		dump_json(&d->json, p, d->locals);
	else
		dump_text(p, !d->shown, d->locals);
	d->shown++;
}

/* Prints the threads that are blocked, if there are any. */
static int print_blocked(struct dump *d, const struct look_process *p)
{
	struct look_thread *kept = calloc(p->cnt + 1, sizeof(*kept));
	struct look_process blocked = *p;

	if (!kept)
		return -ENOMEM;
	dump_keep_blocked(&blocked, d->blocked_ms, kept);
	blocked.unseen = 0;
	if (blocked.cnt)
		print_process(d, &blocked);
	free(kept);
	return 0;
}

static int show_process(void *ctx, const struct look_process *p)
{
	struct dump *d = ctx;

	if (d->blocked_ms)
		return print_blocked(d, p);
	print_process(d, p);
	return 0;
}

static int exit_status(const struct dump_options *opts, const struct look_counts *counts)
{
	if (counts->failed)
		return EXIT_FAILURE;
	if (counts->shown)
		return EXIT_SUCCESS;
	log_error("%s", opts->select.all ? "no Python process was found" :
		  "the processes have exited, or none of them runs Python code");
	return EXIT_NO_PYTHON;
}

static int dump_processes(const struct dump_options *opts, struct identities *ids,
			  struct look_counts *counts)
{
	const struct select_options *select = &opts->select;
	struct proc_filter conditions = select->proc_filter;
	struct dump d = { .as_json = opts->json, .locals = opts->locals,
			  .blocked_ms = (uint32_t)(1e3 * opts->blocked_s) };
	struct look_args args = {
		.all = select->all, .pids = select->pids, .pid_cnt = select->pid_cnt,
		.identities = ids,
		.native = opts->native & NATIVE_ON, .native_full = opts->native & NATIVE_FULL,
		.native_lines = opts->native & NATIVE_LINES, .watch_ms = d.blocked_ms,
		.locals = d.locals, .tasks = !d.blocked_ms, .show = show_process, .ctx = &d,
		.proc_filter = conditions.cnt || conditions.min_age_s > 0 ? &conditions : NULL,
	};
	int err;

	if (opts->kernel)
		look_worker_with_kernel();
	args.workers = !command_workers_start((opts->kernel ? COMMAND_LOOK_KERNEL : COMMAND_LOOK) |
					      COMMAND_CENSUS |
					      (opts->native ? CAPTURE_NATIVE : 0));
	if (d.as_json)
		dump_json_begin(&d.json);
	err = look_run(&args, counts);
	if (!err && counts->shown && !d.shown && !d.as_json)
		printf("No thread was blocked for %g s, in %zu %s.\n", opts->blocked_s,
		       counts->shown, text_plural(counts->shown, "process", "processes"));
	if (d.as_json)
		dump_json_end(&d.json, counts->failed);
	return err;
}

int dump_run(const struct dump_options *opts)
{
	struct identities *ids = identities_new(inspector_names);
	struct look_counts counts = { 0 };
	int err = ids ? precheck_record(opts->ignore_kernel_bugs) : -ENOMEM;

	if (!err)
		err = dump_processes(opts, ids, &counts);
	if (!err)
		err = output_flush_stdout();
	identities_free(ids);
	keeper_end();
	return err ? EXIT_FAILURE : exit_status(opts, &counts);
}
