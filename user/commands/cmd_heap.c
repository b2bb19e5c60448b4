// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cmd_heap.c - tachbpf heap: a census of the objects of processes; with --since two of them, and
 * what has grown in between; with --why, who keeps the objects of a type.
 *
 * Censuses are taken one after the other by the worker (heap_worker.h); this process has given up
 * its rights.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/output.h"
#include "base/text.h"
#include "base/time.h"
#include "base/util.h"
#include "commands/command_process.h"
#include "commands/commands.h"
#include "commands/heap_processes.h"
#include "commands/heap_show.h"
#include "commands/heap_why.h"
#include "commands/options.h"
#include "doctor/precheck.h"
#include "doctor/worker_calls.h"
#include "heap/heap_worker.h"
#include "host/identity.h"
#include "host/privileges.h"
#include "memory/reader.h"
#include "target/inspector.h"

/* Limits of a census: of a sample, and of one that reads all. */
#define ERROR_ENOUGH 0.005
#define SAMPLE_BYTES (256ull << 20)
#define SAMPLE_NS (1 * NS_PER_S)
#define EXACT_BYTES (64ull << 30)
#define EXACT_NS (60 * NS_PER_S)

#define GROWTH_MAX (2 * HEAP_TYPES_MAX)
#define WAIT_STEP_MS 50

struct run {
	const struct heap_options *opts;
	struct heap_processes processes;
	struct heap_census **before;	/* of each process; NULL: none. NULL: without --since */
	struct heap_census *census;	/* the last one */
	struct heap_growth *growth;	/* GROWTH_MAX of them */
	struct heap_lines lines;
	struct json json;
	size_t shown;
	bool in_lines;			/* one line for each process */
};

static struct heap_limits limits_of(const struct heap_options *opts)
{
	struct heap_limits l = { ERROR_ENOUGH, SAMPLE_BYTES, SAMPLE_NS, 0 };

	if (opts->exact)
		l = (struct heap_limits){ 0, EXACT_BYTES, EXACT_NS, 0 };
	if (getrandom(&l.seed, sizeof(l.seed), GRND_NONBLOCK) != sizeof(l.seed))
		l.seed = now_ns();
	return l;
}

/* Takes a census of process i into run->census. 0, or -errno after logging. */
static int take_census(struct run *run, size_t i)
{
	struct heap_limits limits = limits_of(run->opts);
	const struct heap_process *p = &run->processes.list[i];
	int err = heap_worker_census(&p->target, &limits, run->census);

	if (err)
		heap_process_refuse(&run->processes, p, err, !run->opts->select.all);
	return err;
}

/* ---- two censuses ---- */

/* Copies what is used of a census: few of its rows are. Returns NULL without memory. */
static struct heap_census *keep_census(const struct heap_census *c)
{
	struct heap_census *kept = malloc(sizeof(*kept));

	if (!kept)
		return NULL;
	memcpy(kept, c, offsetof(struct heap_census, rows) + c->row_cnt * sizeof(c->rows[0]));
	kept->large_cnt = 0;
	return kept;
}

static int take_first(struct run *run)
{
	size_t i;

	run->before = calloc(run->processes.cnt + 1, sizeof(*run->before));
	if (!run->before)
		return -ENOMEM;
	for (i = 0; i < run->processes.cnt; i++) {
		if (take_census(run, i))
			continue;
		run->before[i] = keep_census(run->census);
		if (!run->before[i])
			return -ENOMEM;
	}
	return 0;
}

static bool has_first(const struct run *run)
{
	size_t i;

	for (i = 0; i < run->processes.cnt; i++)
		if (run->before[i])
			return true;
	return false;
}

/* Until the time is over, or a signal comes. */
static void wait_since(double seconds)
{
	uint64_t until = now_ns() + (uint64_t)(seconds * 1e9);

	log_info("the second census comes in %g s; Ctrl-C takes it at once", seconds);
	record_signals_catch(false);
	while (!record_signals_seen().own && now_ns() < until)
		poll(NULL, 0, WAIT_STEP_MS);
}

/* ---- what is shown ---- */

static int show_text(struct run *run, const struct heap_shown *p)
{
	const struct heap_options *opts = run->opts;
	struct heap_screen screen = {
		.out = stdout, .width = text_terminal_width(stdout), .limit = opts->limit,
		.sort = opts->sort, .next = true,
	};

	if (run->in_lines)
		return heap_lines_add(&run->lines, p);
	if (run->shown)
		putchar('\n');
	return p->before ? heap_text_growth(&screen, p) : heap_text_census(&screen, p);
}

/* Shows process i with run->census. 0 or -ENOMEM. */
static int show_process(struct run *run, size_t i)
{
	const struct heap_process *process = &run->processes.list[i];
	struct heap_shown p = {
		.pid = process->python.tgid, .program = process->program,
		.python = process->python.version, .census = run->census,
		.before = run->before ? run->before[i] : NULL, .growth = run->growth,
	};
	int err = 0;

	if (p.before)
		p.growth_cnt = heap_census_growth(p.before, p.census, run->growth, GROWTH_MAX);
	if (run->opts->json)
		heap_json_process(&run->json, &p, &process->python);
	else
		err = show_text(run, &p);
	run->shown++;
	return err;
}

static int show_all(struct run *run)
{
	struct heap_screen screen = { .out = stdout, .width = text_terminal_width(stdout),
				      .limit = run->opts->limit, .next = true };
	size_t i;
	int err = 0;

	if (run->opts->json)
		heap_json_begin(&run->json, stdout);
	for (i = 0; !err && i < run->processes.cnt; i++)
		if ((!run->before || run->before[i]) && !take_census(run, i))
			err = show_process(run, i);
	if (run->opts->json)
		heap_json_end(&run->json, stdout, run->processes.failed);
	else if (!err)
		heap_lines_print(&screen, &run->lines);
	return err;
}

static int count_objects(struct run *run)
{
	const struct heap_options *opts = run->opts;
	int err = 0;

	if (opts->why)
		return heap_why_show(opts, &run->processes, &run->shown);
	run->census = malloc(sizeof(*run->census));
	run->growth = malloc(GROWTH_MAX * sizeof(*run->growth));
	if (!run->census || !run->growth)
		return -ENOMEM;
	run->in_lines = opts->select.all && run->processes.cnt > 1;
	if (opts->since_s > 0)
		err = take_first(run);
	if (!err && opts->since_s > 0 && has_first(run))
		wait_since(opts->since_s);
	return err ? err : show_all(run);
}

static void free_run(struct run *run)
{
	size_t i;

	for (i = 0; run->before && i < run->processes.cnt; i++)
		free(run->before[i]);
	free(run->before);
	free(run->census);
	free(run->growth);
	heap_lines_free(&run->lines);
	heap_processes_free(&run->processes);
}

/* Starts the workers, and gives up all rights. */
static void give_up_rights(void)
{
	if (command_workers_start(COMMAND_CENSUS))
		return;
	if (privileges_drop_all())
		log_debug("privileges are kept");
	reader_reads_proc();
}

static int exit_status(const struct run *run)
{
	if (run->processes.failed)
		return EXIT_FAILURE;
	if (run->shown)
		return EXIT_SUCCESS;
	log_error("%s", run->opts->select.proc_filter.cnt ?
		  "no Python process matches the filters" : "no Python process was found");
	return EXIT_NO_PYTHON;
}

int heap_run(const struct heap_options *opts)
{
	struct run run = { .opts = opts };
	struct identities *ids;
	int err;

	if (precheck_proc() || worker_calls_check())
		return EXIT_FAILURE;
	give_up_rights();
	ids = identities_new(inspector_names);
	err = ids ? heap_processes_find(&opts->select, ids, &run.processes) : -ENOMEM;
	if (!err && run.processes.cnt) {
		err = count_objects(&run);
		if (err)
			log_error("cannot look at objects: %s", strerror(-err));
	}
	if (!err)
		err = output_flush_stdout();
	if (!err)
		err = exit_status(&run);
	free_run(&run);
	heap_worker_end();
	identities_free(ids);
	keeper_end();
	return err < 0 ? EXIT_FAILURE : err;
}
