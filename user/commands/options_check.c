// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* options_check.c - which options of a command go together. See options.h. */
#include "commands/options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/output.h"
#include "base/text.h"
#include "base/util.h"
#include "bpf/abi.h"
#include "commands/options_tables.h"
#include "commands/output_name.h"
#include "formats/formats.h"
#include "recording/session_json.h"
#include "recording/sources_file.h"

#define INTERVALS 6		/* of mem --leaks: chance alone has 1 of 64 grow in each */

static int refuse(const char *why)
{
	log_error("%s", why);
	return -EINVAL;
}

static bool ends_in(const char *text, const char *end)
{
	size_t len = text ? strlen(text) : 0, n = strlen(end);

	return len > n && !strcmp(text + len - n, end);
}

/* ---- record ---- */

static void set_native(struct record_options *r)
{
	r->capture.native = r->native & NATIVE_ON;
	r->capture.native_full = r->native & NATIVE_FULL;
	r->capture.native_lines = r->native & NATIVE_LINES;
}

/* What -o is: a directory, one file, or a file for the command and a directory for its children. */
static void choose_place(struct record_options *r)
{
	const char *output = r->recording.output;
	const char *ending = r->mode == RECORD_MEM ? ".mlyze" : ".tach";

	if (r->export.format)
		return;
	if (r->select.pid_cnt == 1 && r->select.proc_filter.children != CHILDREN_YES)
		r->recording.place = PLACE_FILE;
	else if (r->command && ends_in(output, ending))
		r->recording.place = PLACE_COMMAND;
}

/* --html must not be a file, nor the directory, that the recording itself makes. */
static int check_html(const struct record_options *r)
{
	static const char *const suffixes[] = { "", SESSION_BESIDE_SUFFIX,
						SOURCES_BESIDE_SUFFIX, PLACE_DIR_SUFFIX };
	const char *output = r->recording.output;
	char path[PATH_MAX], html[CLI_TEXT_MAX], shown[CLI_TEXT_MAX];
	size_t i, cnt = r->recording.place == PLACE_COMMAND ? 4 :
			r->recording.place == PLACE_FILE ? 3 : 1;

	for (i = 0; r->html && output && i < cnt; i++) {
		if (snprintf(path, sizeof(path), "%s%s", output, suffixes[i]) >= PATH_MAX ||
		    !output_same_file(path, r->html))
			continue;
		escape_text(r->html, strlen(r->html), html, sizeof(html));
		escape_text(output, strlen(output), shown, sizeof(shown));
		if (i)
			log_error("--html '%s' is a name that the recording -o '%s' needs: choose "
				  "another name for the page", html, shown);
		else
			log_error("--html '%s' and -o '%s' are the same file: choose another name "
				  "for the page", html, shown);
		return -EINVAL;
	}
	return 0;
}

/* Options of --mode mem in another mode. */
static const char *other_mode(const struct record_options *r)
{
	const struct capture_args *args = &r->capture;

	if (args->every_bytes)
		return "--every requires --mode mem";
	if (args->interval_s > 0)
		return "--interval requires --mode mem; for a sampling rate use -r: -r 999, -r "
		       "10khz";
	if (args->allocations)
		return "--allocations requires --mode mem";
	return NULL;
}

/* Options of time, with --mode mem. */
static const char *of_time(const struct record_options *r)
{
	if (r->capture.min_wait_ns)
		return "--min-wait cannot be used with --mode mem, which records no waits";
	if (r->kernel)
		return "--kernel cannot be used with --mode mem: use --native for the code that "
		       "touches memory";
	if (r->capture.opcodes)
		return "--opcodes cannot be used with --mode mem, which records no instructions";
	if (!r->capture.native_threads)
		return "--no-native-threads cannot be used with --mode mem, which always records "
		       "all threads";
	if (r->capture.cpu_list)
		return "-C cannot be used with --mode mem: what is held is only known if all CPUs "
		       "are recorded";
	if (r->recording.layout != LAYOUT_RELEASE)
		return "--layout is for TACH files: --mode mem writes .mlyze files";
	if (!r->recording.compress)
		return "--compression is for TACH files: --mode mem writes .mlyze files";
	if (ends_in(r->recording.output, ".tach"))
		return "-o FILE.tach cannot be used with --mode mem, which writes .mlyze files";
	return NULL;
}

/* --allocations is of one process. */
static const char *of_one_process(const struct record_options *r)
{
	if (!r->capture.allocations)
		return r->capture.costly ? "--accept-cost requires --allocations" :
					   NULL;
	if (r->select.all || r->select.pid_cnt > 1)
		return "--allocations traces the allocator of a single process: use one -p PID, or "
		       "-- COMMAND";
	if (r->select.proc_filter.children == CHILDREN_YES)
		return "--allocations cannot be used with --children: it traces a single process";
	if (r->capture.every_bytes)
		return "--every cannot be used with --allocations, which does not sample: use "
		       "--allocations=MIN_BYTES to record only larger blocks";
	return NULL;
}

static void set_memory_defaults(struct record_options *r)
{
	struct capture_args *args = &r->capture;

	if (!args->every_bytes)
		args->every_bytes = MEMORY_EVERY_BYTES;
	if (args->interval_s <= 0)
		args->interval_s = MEMORY_INTERVAL_S;
	args->contents = !args->allocations;
	args->census = true;
	if (args->allocations)
		r->select.proc_filter.children = CHILDREN_NO;
}

static const char *check_memory(const struct record_options *r)
{
	const char *bad = r->mode == RECORD_MEM ? of_time(r) : other_mode(r);

	return bad ? bad : of_one_process(r);
}

/* What an event does not go with. NULL: all goes together. */
static const char *event_conflict(const struct record_options *r)
{
	if (r->mode != RECORD_CPU)
		return r->mode == RECORD_MEM ?
			       "-e cannot be used with -m mem: record them one after the other, or "
			       "use -e page-faults alone" :
			       "-e cannot be used with -m, which samples time: leave one of them "
			       "out";
	if (r->capture.min_wait_ns)
		return "--min-wait cannot be used with -e, which records events, not waits";
	if (r->rate_hz && r->event.kind != EVENT_HARDWARE)
		return "-r cannot be used with this event, which is recorded each time: leave it "
		       "out, or use -c N to record one event in N";
	if (r->rate_hz && r->capture.event_every)
		return "-r (events per second) cannot be used with -c (one event in N): leave one "
		       "of them out";
	if (r->capture.cpu_list && !event_is_counted(&r->event))
		return "-C cannot be used with a tracepoint or probe, which is "
		       "recorded on all CPUs";
	return NULL;
}

static const char *check_event(const struct record_options *r)
{
	if (r->event.kind != EVENT_NONE)
		return event_conflict(r);
	if (r->capture.event_every)
		return "-c requires -e EVENT (use -r for the sampling rate)";
	return NULL;
}

static void set_event_defaults(struct record_options *r)
{
	r->capture.event = SAMPLER_CLOCK;	/* ticks only find processes */
	if (r->event.kind != EVENT_HARDWARE && !r->capture.event_every)
		r->capture.event_every = 1;
}

const struct record_mode_def *options_mode(const struct record_options *r)
{
	return r->event.kind == EVENT_NONE ? &record_modes[r->mode] : &record_mode_event;
}

/* Why a condition cannot be judged by the samples of this recording; NULL: it can. */
static const char *why_unknown(const struct record_options *r, enum when_metric metric)
{
	const struct record_mode_def *mode = options_mode(r);
	bool of_samples = metric == WHEN_CPU || metric == WHEN_GIL || metric == WHEN_GC;

	if (!of_samples)
		return NULL;
	if (!mode->ticks)
		return "needs samples on a CPU, and this mode has none";
	if (mode->need_status && !(mode->need_status & STATUS_HAS_GIL))
		return "needs all samples, and this mode records only some";
	if (mode->need_status && metric != WHEN_GIL)
		return "needs all samples, and this mode records only those that hold or "
		       "want the GIL";
	if (metric == WHEN_CPU && !r->capture.native_threads)
		return "is all CPU time: leave out --no-native-threads";
	if (metric == WHEN_GC && !r->capture.gc)
		return "needs <GC> frames: leave out --no-gc";
	if (r->capture.cpu_list)
		return "needs the samples of all CPUs: leave out -C";
	return NULL;
}

static int check_conditions(const struct record_options *r)
{
	char shown[CLI_TEXT_MAX];
	const char *why;
	size_t i;

	for (i = 0; i < r->flight.when.cnt; i++) {
		const struct when *w = &r->flight.when.list[i];

		why = why_unknown(r, w->metric);
		if (!why)
			continue;
		log_error("--when '%s': %s %s",
			  escape_text(w->text, strlen(w->text), shown, sizeof(shown)),
			  when_metric_name(w->metric), why);
		return -EINVAL;
	}
	return 0;
}

static const char *check_flight(const struct record_options *r)
{
	const struct flight_options *f = &r->flight;

	if (f->triggers && !options_has_trigger(f))
		return "--triggers requires --when or --signal";
	if (!options_is_flight(f))
		return NULL;
	if (r->mode == RECORD_MEM)
		return "--keep, --when and --signal cannot be used with --mode mem: what a process "
		       "holds is only known if its memory is recorded from the beginning";
	if (r->html || r->open)
		return "--html cannot be used with --keep, --when and --signal, which may write "
		       "several recordings: use `tachbpf convert -o FILE.html` or `tachbpf open` "
		       "later";
	return NULL;
}

static void set_flight_defaults(struct record_options *r)
{
	r->recording.place = PLACE_DIR;
	if (!r->flight.triggers && !(r->flight.keep_s > 0))
		r->flight.triggers = 1;
}

/* Returns true if -o is a file that a browser shows. */
static bool is_page(const char *output)
{
	return ends_in(output, ".html") || ends_in(output, ".svg");
}

/* Options that need another one. */
static const char *missing(const struct record_options *r)
{
	if (r->open && !r->html && !is_page(r->recording.output))
		return "--open requires --html FILE, or -o FILE.html";
	if (r->kill && !r->command)
		return "--kill requires -- COMMAND";
	if (r->control && r->command)
		return "--control cannot be used with -- COMMAND, which has standard input and "
		       "output itself: use -p PID";
	if (r->capture.task_names && !r->capture.async)
		return "--task-names requires --async";
	if (r->capture.debug_urls && !r->capture.native)
		return "--debuginfod requires --native";
	return NULL;
}

/* --debuginfod alone: the servers of the library's own variable. */
static const char *find_servers(struct capture_args *args)
{
	if (!args->debug_urls || *args->debug_urls)
		return NULL;
	args->debug_urls = getenv("DEBUGINFOD_URLS");
	return args->debug_urls && *args->debug_urls ? NULL :
	       "--debuginfod needs a server: --debuginfod=URL, or the variable DEBUGINFOD_URLS "
	       "(which sudo removes)";
}

/* Of options that go together: the defaults that depend on several. */
static void set_record_defaults(struct record_options *r)
{
	if (r->mode == RECORD_MEM)
		set_memory_defaults(r);
	if (r->event.kind != EVENT_NONE)
		set_event_defaults(r);
	if (options_is_flight(&r->flight))
		set_flight_defaults(r);
}

static int check_record(struct options *o)
{
	static const char *(*const parts[])(const struct record_options *r) = {
		missing, check_memory, check_event, check_flight,
	};
	struct record_options *r = &o->record;
	const char *bad = NULL;
	size_t i;

	options_use_conditions(&r->select, r->select.pid_cnt || r->command);
	set_native(r);
	if (r->select.all && (r->select.pid_cnt || r->command))
		return refuse("-a (every Python process on this host) cannot be used with -p or "
			      "-- COMMAND: leave one of them out");
	if (r->select.pid_cnt && r->command)
		return refuse("-p and -- COMMAND are mutually exclusive: use only one of them");
	if (!r->select.all && !r->select.pid_cnt && !r->command)
		return refuse("nothing selected: use -a, -p PID, -- COMMAND, or a filter such as "
			      "--container NAME; see: tachbpf --help");
	for (i = 0; !bad && i < ARRAY_SIZE(parts); i++)
		bad = parts[i](r);
	bad = bad ? bad : find_servers(&r->capture);
	if (bad)
		return refuse(bad);
	if (output_name_record(r))
		return -EINVAL;
	choose_place(r);
	set_record_defaults(r);
	return check_conditions(r) || check_html(r) ? -EINVAL : 0;
}

/* ---- the other commands ---- */

static int check_export(const struct export_options *e)
{
	const char *bad = NULL;

	if (e->group != GROUP_DEFAULT && !(e->format->takes & SINK_TAKES_GROUP))
		bad = "--by";
	if (e->lines != LINES_DEFAULT && !(e->format->takes & SINK_TAKES_LINES))
		bad = e->lines == LINES_APART ? "--lines" : "--no-lines";
	if (!bad)
		return 0;
	log_error("%s cannot be used with --format %s: leave it out, or choose another format", bad,
		  e->format->name);
	return -EINVAL;
}

/* Memory that is live is what is live when the time that was selected ends. */
static void set_until(struct input_options *input)
{
	const struct sample_filter_time *to = &input->filter.to;

	input->reader.until_given = to->given;
	input->reader.until_absolute = to->absolute;
	input->reader.until_us = to->us;
}

/* For every command that reads files: there must be one. */
static int check_input(struct options *o)
{
	set_until(&o->input);
	if (o->input.path_cnt)
		return 0;
	log_error("no input file: expected .tach files or a recording's directory; see: "
		  "tachbpf %s --help",
		  options_commands[o->command].name);
	return -EINVAL;
}

static int check_output(struct options *o, const char *output)
{
	int err = check_input(o);

	if (err || output)
		return err;
	log_error("no output: use -o; see: tachbpf %s --help",
		  options_commands[o->command].name);
	return -EINVAL;
}

static int check_report(struct options *o)
{
	const struct report_options *r = &o->report;
	bool by_code = r->by == REPORT_BY_FUNCTION || r->by == REPORT_BY_LINE;
	const char *bad = NULL;
	int err = check_input(o);

	if (err)
		return err;
	if (r->by == REPORT_BY_GIL && r->sort != REPORT_SORT_SELF)
		bad = "--sort cannot be used with --by gil, which is sorted by waits";
	else if (r->detail && !by_code)
		bad = "--detail can only be used with --by function or --by line";
	else if (r->native && !by_code)
		bad = "--native can only be used with --by function or --by line";
	else if ((r->annotate || r->mine) && !by_code)
		bad = "--annotate and --mine can only be used with --by function or --by line";
	else if ((r->annotate || r->mine) && (r->native || r->detail))
		bad = "--annotate and --mine cannot be used with --native or --detail";
	else if (r->annotate && r->sort != REPORT_SORT_SELF && r->sort != REPORT_SORT_TOTAL)
		bad = "--annotate can only be used with --sort self or --sort total";
	return bad ? refuse(bad) : 0;
}

static int check_open(struct options *o)
{
	int err = check_input(o);

	return err ? err : check_export(&o->convert.export);
}

static int check_convert(struct options *o)
{
	struct export_options *e = &o->convert.export;

	if (check_input(o))
		return -EINVAL;
	if (!e->output)
		e->output = "-";
	if (!e->format && !strcmp(e->output, "-"))
		e->format = &sink_collapsed;
	return output_name_convert(e) || check_export(e) ? -EINVAL : 0;
}

static int check_merge(struct options *o)
{
	return check_output(o, o->merge.output);
}

static int check_split(struct options *o)
{
	int err = check_output(o, o->split.output);

	if (err || o->split.by != SPLIT_BY_NOTHING)
		return err;
	return refuse("nothing to split by: use --by process, --by thread or --by time");
}

static int check_diff(struct options *o)
{
	const struct diff_options *d = &o->diff;
	const char *bad = NULL;
	int err = check_input(o);

	if (err)
		return err;
	if (d->input.path_cnt != 2 &&
	    (d->input.path_cnt != 1 || !sample_filter_has_time(&d->input.filter))) {
		log_error("%zu %s to compare: expected two files or recordings' directories or, "
			  "for memory, one with --from and --to",
			  d->input.path_cnt,
			  text_plural(d->input.path_cnt, "profile", "profiles"));
		return -EINVAL;
	}
	if ((d->format == DIFF_FLAMEGRAPH) != !!d->output)
		bad = "--format flamegraph and -o FILE must be used together";
	else if (d->format && d->json)
		bad = "--json cannot be used with --format";
	else if (d->format != DIFF_FLAMEGRAPH)
		return 0;
	else if (d->fail_over >= 0)
		bad = "--fail-over cannot be used with --format flamegraph";
	else if (d->detail)
		bad = "--detail cannot be used with --format flamegraph, which shows all frames";
	else if (d->native)
		bad = "--native cannot be used with --format flamegraph, which shows all frames";
	return bad ? refuse(bad) : 0;
}

static int check_mem(struct options *o)
{
	const struct mem_options *m = &o->mem;
	const char *bad = NULL;
	int err = check_input(o);

	if (err)
		return err;
	if (!m->intervals)
		o->mem.intervals = INTERVALS;
	if (m->html && m->json)
		bad = "--json cannot be used with --html";
	else if (m->html && (m->leaks || m->validate))
		bad = "--html cannot be used with --leaks or --validate";
	return bad ? refuse(bad) : 0;
}

static int check_gil(struct options *o)
{
	int err = check_input(o);

	if (err || !o->gil.html || !o->gil.json)
		return err;
	return refuse("--json cannot be used with --html");
}

static int check_completion(struct options *o)
{
	if (o->completion.shell)
		return 0;
	return refuse("no shell: expected bash, zsh or fish");
}

static int check_recover(struct options *o)
{
	int err = check_input(o);

	if (err || !o->recover.output || o->input.path_cnt == 1)
		return err;
	log_error("-o cannot be used with %zu files: leave it out, or recover the files one at a "
		  "time", o->input.path_cnt);
	return -EINVAL;
}

/* Checks of a command's options together; commands without a check need none. */
static int (*const checks[COMMAND_CNT])(struct options *o) = {
	[COMMAND_RECORD] = check_record,
	[COMMAND_TOP] = options_check_top,
	[COMMAND_DUMP] = options_check_dump,
	[COMMAND_HEAP] = options_check_heap,
	[COMMAND_INFO] = check_input,
	[COMMAND_REPORT] = check_report,
	[COMMAND_OPEN] = check_open,
	[COMMAND_MEM] = check_mem,
	[COMMAND_CONVERT] = check_convert,
	[COMMAND_MERGE] = check_merge,
	[COMMAND_SPLIT] = check_split,
	[COMMAND_DIFF] = check_diff,
	[COMMAND_COMPLETION] = check_completion,
	[COMMAND_GIL] = check_gil,
	[COMMAND_RECOVER] = check_recover,
};

int options_check(struct options *o)
{
	return checks[o->command] ? checks[o->command](o) : 0;
}
