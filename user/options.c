// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * options.c - our commands and their options, as tables. See options.h.
 *
 * cli.c walks the tables; the setters here turn text into struct options and
 * say in one line what is wrong with it. What the options do is not known here.
 */
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "util.h"

#define RATE_MAX_HZ 50000
#define DURATION_MAX_S (366.0 * 86400)
#define PID_MAX 4194304		/* PID_MAX_LIMIT, include/linux/threads.h */
#define REPORT_LIMIT 20

struct choice {
	const char *name;	/* NULL ends the table */
	int value;
};

static const struct choice compressions[] = { { "zstd", false }, { "none", true }, { 0 } };
static const struct choice layouts[] = {
	{ "release", TACH_RELEASE }, { "draft1", TACH_DRAFT1 }, { "draft2", TACH_DRAFT2 }, { 0 }
};
static const struct choice bys[] = {
	{ "function", REPORT_BY_FUNCTION }, { "line", REPORT_BY_LINE },
	{ "process", REPORT_BY_PROCESS }, { "thread", REPORT_BY_THREAD }, { 0 }
};
/* Samples are counted where they are taken: that order is self's. */
static const struct choice sorts[] = {
	{ "self", REPORT_SORT_SELF }, { "total", REPORT_SORT_TOTAL },
	{ "samples", REPORT_SORT_SELF }, { "name", REPORT_SORT_NAME },
	{ "file", REPORT_SORT_FILE }, { 0 }
};

/* What of a file counts (readers/reader.h), and the rows of mem. */
static const struct choice values[] = {
	{ "live", VALUE_LIVE }, { "allocated", VALUE_ALLOCATED }, { "peak", VALUE_PEAK },
	{ "samples", VALUE_SAMPLES }, { 0 }
};
static const struct choice mem_bys[] = {
	{ "stack", MEM_BY_STACK }, { "file", MEM_BY_FILE }, { "function", MEM_BY_FUNCTION }, { 0 }
};
static const struct choice mem_sorts[] = {
	{ "live", MEM_SORT_LIVE }, { "allocated", MEM_SORT_ALLOCATED }, { "peak", MEM_SORT_PEAK },
	{ "count", MEM_SORT_COUNT }, { 0 }
};

/* A non-negative decimal number; *end: the first character behind it. -EINVAL */
static int parse_number(const char *text, double *value, const char **end)
{
	size_t len = strspn(text, "0123456789.");
	char digits[32], *stop;

	/* strtod() alone would take "inf", "0x1p3" and "1e3". */
	if (!len || len >= sizeof(digits))
		return -EINVAL;
	memcpy(digits, text, len);
	digits[len] = '\0';
	*value = strtod(digits, &stop);
	*end = text + len;
	return *stop ? -EINVAL : 0;
}

struct unit {
	const char *name;
	double factor;
};

/* A number and perhaps one of units (terminated by a NULL name). -EINVAL */
static int parse_quantity(const char *text, const struct unit *units, double *value)
{
	const char *end;

	if (parse_number(text, value, &end))
		return -EINVAL;
	for (; units->name; units++) {
		if (!strcasecmp(end, units->name)) {
			*value *= units->factor;
			return 0;
		}
	}
	return -EINVAL;
}

int options_rate(const char *text, uint32_t *hz)
{
	static const struct unit units[] = {
		{ "", 1 }, { "hz", 1 }, { "k", 1000 }, { "khz", 1000 }, { 0 }
	};
	double value;

	if (parse_quantity(text, units, &value) || value < 1 || value > RATE_MAX_HZ ||
	    value != (uint32_t)value)
		return -EINVAL;
	*hz = (uint32_t)value;
	return 0;
}

int options_duration(const char *text, double *seconds)
{
	static const struct unit units[] = { { "", 1 }, { "s", 1 }, { "m", 60 }, { "h", 3600 },
					     { 0 } };
	double value;

	if (parse_quantity(text, units, &value) || value <= 0 || value > DURATION_MAX_S)
		return -EINVAL;
	*seconds = value;
	return 0;
}

static int bad_value(const struct cli_option *opt, const char *value, const char *remedy)
{
	char shown[CLI_TEXT_MAX];

	log_error("bad --%s '%s': %s", opt->name,
		  escape_text(value, strlen(value), shown, sizeof(shown)), remedy);
	return -EINVAL;
}

static int set_flag(void *target, const struct cli_option *opt, const char *value)
{
	*(bool *)((char *)target + opt->off) = true;
	return 0;
}

static int set_text(void *target, const struct cli_option *opt, const char *value)
{
	if (!*value)
		return bad_value(opt, value, "it is empty");
	*(const char **)((char *)target + opt->off) = value;
	return 0;
}

/* The enum at opt->off (int-sized, asserted where it is used) by its name in opt->data. */
static int set_choice(void *target, const struct cli_option *opt, const char *value)
{
	const struct choice *c;
	char remedy[256] = "one of";

	for (c = opt->data; c->name; c++) {
		if (!strcmp(value, c->name)) {
			memcpy((char *)target + opt->off, &c->value, sizeof(c->value));
			return 0;
		}
	}
	for (c = opt->data; c->name; c++) {
		size_t len = strlen(remedy);

		snprintf(remedy + len, sizeof(remedy) - len, " %s", c->name);
	}
	return bad_value(opt, value, remedy);
}
_Static_assert(sizeof(enum tach_layout) == sizeof(int) && sizeof(enum report_by) == sizeof(int) &&
	       sizeof(enum report_sort) == sizeof(int), "set_choice() writes an int");
_Static_assert(sizeof(enum reader_value) == sizeof(int) && sizeof(enum mem_by) == sizeof(int) &&
	       sizeof(enum mem_sort) == sizeof(int), "likewise");

static int set_compression(void *target, const struct cli_option *opt, const char *value)
{
	struct options *o = target;
	int none, err = set_choice(&none, opt, value);

	if (!err)
		o->record.no_compression = none;
	return err;
}

static int set_rate(void *target, const struct cli_option *opt, const char *value)
{
	struct options *o = target;

	if (options_rate(value, &o->record.rate_hz))
		return bad_value(opt, value, "give 1 to 50000 Hz, such as 99, 999 or 10khz");
	return 0;
}

static int set_duration(void *target, const struct cli_option *opt, const char *value)
{
	struct options *o = target;

	if (options_duration(value, &o->record.duration_s))
		return bad_value(opt, value, "give more than 0 and at most 366 days, such as "
					     "30, 0.5, 30s, 5m or 1h");
	return 0;
}

static int add_pid(struct record_options *r, pid_t pid)
{
	pid_t *pids;
	size_t i;

	for (i = 0; i < r->pid_cnt; i++)
		if (r->pids[i] == pid)
			return 0;
	pids = reallocarray(r->pids, r->pid_cnt + 1, sizeof(*pids));
	if (!pids) {
		log_error("out of memory");
		return -ENOMEM;
	}
	r->pids = pids;
	r->pids[r->pid_cnt++] = pid;
	return 0;
}

static int set_pids(void *target, const struct cli_option *opt, const char *value)
{
	struct options *o = target;
	const char *p = value;
	char *end;
	long pid;
	int err;

	for (;; p = end + 1) {
		errno = 0;
		pid = strtol(p, &end, 10);
		if (!isdigit((unsigned char)*p) || errno || pid < 1 || pid > PID_MAX ||
		    (*end && *end != ','))
			return bad_value(opt, value, "give process ids, such as 1234 or 1234,5678");
		err = add_pid(&o->record, (pid_t)pid);
		if (err || !*end)
			return err;
	}
}

static int set_limit(void *target, const struct cli_option *opt, const char *value)
{
	struct options *o = target;
	unsigned long limit;
	char *end;

	errno = 0;
	limit = strtoul(value, &end, 10);
	if (!isdigit((unsigned char)*value) || *end || errno || limit > UINT32_MAX)
		return bad_value(opt, value, "give a number of rows, 0 for all");
	o->files.limit = (uint32_t)limit;
	return 0;
}

/* TACH files come from recording; rewriting them is not a conversion to another format. */
static bool can_replay(const struct sink_ops *ops)
{
	return ops != &sink_tach;
}

static int set_format(void *target, const struct cli_option *opt, const char *value)
{
	struct options *o = target;

	if (!strcmp(value, "help")) {
		o->show = SHOW_FORMATS;
		return 0;
	}
	o->files.format = sink_find(value);
	if (!o->files.format || !can_replay(o->files.format))
		return bad_value(opt, value, "see: tachbpf replay --format help");
	return 0;
}

static int set_input_format(void *target, const struct cli_option *opt, const char *value)
{
	struct options *o = target;

	if (!strcmp(value, "help")) {
		o->show = SHOW_INPUTS;
		return 0;
	}
	if (!reader_find(value))
		return bad_value(opt, value, "see: tachbpf info --input-format help");
	o->files.reader.format = value;
	return 0;
}

static int set_quiet(void *target, const struct cli_option *opt, const char *value)
{
	((struct options *)target)->verbose = LOG_QUIET;
	return 0;
}

static int set_verbose(void *target, const struct cli_option *opt, const char *value)
{
	struct options *o = target;

	o->verbose = o->verbose < LOG_VERBOSE ? LOG_VERBOSE : LOG_DEBUG;
	return 0;
}

static int set_show(void *target, const struct cli_option *opt, const char *value)
{
	((struct options *)target)->show = *(const enum options_show *)opt->data;
	return 0;
}

/* --- replay's options that some formats can do: checked when all are known ---------------- */
static const struct choice groups[] = {
	{ "process", GROUP_PROCESS }, { "thread", GROUP_THREAD }, { 0 }
};
static const struct choice lines_apart[] = { { "", LINES_APART }, { 0 } };
static const struct choice lines_merged[] = { { "", LINES_MERGED }, { 0 } };

/* A flag that stands for a value: the only one in opt->data. */
static int set_value(void *target, const struct cli_option *opt, const char *value)
{
	const struct choice *c = opt->data;

	memcpy((char *)target + opt->off, &c->value, sizeof(c->value));
	return 0;
}
_Static_assert(sizeof(enum sink_lines) == sizeof(int) && sizeof(enum sink_group) == sizeof(int),
	       "set_choice() and set_value() write an int");

static int check_export(const struct file_options *f)
{
	const struct sink_ops *ops = f->format;
	const char *bad = NULL;

	if (f->group != GROUP_DEFAULT && !(ops->takes & SINK_TAKES_GROUP))
		bad = "--by";
	if (f->lines != LINES_DEFAULT && !(ops->takes & SINK_TAKES_LINES))
		bad = f->lines == LINES_APART ? "--lines" : "--no-lines";
	if (!bad)
		return 0;
	log_error("%s does not go with --format %s: leave it out, or choose another format", bad,
		  ops->name);
	return -EINVAL;
}
/* ------------------------------------------------------------------------------------------- */

static const enum options_show show_help = SHOW_HELP, show_version = SHOW_VERSION;

#define RECORD(field) offsetof(struct options, record.field)
#define FILES(field) offsetof(struct options, files.field)
#define GENERAL_OPTIONS                                                                            \
	{ 'q', "quiet", NULL, "General", "errors and results only", set_quiet, 0, NULL },          \
	{ 'v', "verbose", NULL, "General", "say more; twice: everything", set_verbose, 0, NULL },  \
	{ 'h', "help", NULL, "General", "this text", set_show, 0, &show_help },                    \
	{ 0, "version", NULL, "General", "the version", set_show, 0, &show_version }
#define INPUT_OPTIONS                                                                              \
	{ 0, "input-format", "FORMAT", "Input", "not what the file looks like; help lists all",    \
	  set_input_format, 0, NULL },                                                             \
	{ 0, "value", "VALUE", "Input",                                                            \
	  "of memory: live (default), allocated, peak\nof time: samples", set_choice,              \
	  FILES(reader.value), values }
#define SELECTION "What to record (one of these, or -- COMMAND)"

static const struct cli_option record_table[] = {
	{ 'a', "all", NULL, SELECTION, "every Python process on this host", set_flag, RECORD(all),
	  NULL },
	{ 'p', "pid", "PID[,PID...]", SELECTION, "these processes; may be repeated", set_pids, 0,
	  NULL },
	{ 'r', "rate", "RATE", "How to record",
	  "samples per second and CPU: 99, 999, 10khz\n(default: 99 with -a, 999 otherwise)",
	  set_rate, 0, NULL },
	{ 'C', "cpu", "LIST", "How to record", "sample these CPUs only: 0-3,7 (default: all)",
	  set_text, RECORD(cpu_list), NULL },
	{ 'd', "duration", "TIME", "How to record", "stop after 30, 0.5, 30s, 5m, 1h",
	  set_duration, 0, NULL },
	{ 0, "opcodes", NULL, "How to record", "keep the bytecode instruction of each frame",
	  set_flag, RECORD(opcodes), NULL },
	{ 0, "no-gc", NULL, "How to record", "no <GC> frames", set_flag, RECORD(no_gc), NULL },
	{ 0, "ignore-kernel-bugs", NULL, "How to record",
	  "record on a kernel that this can freeze", set_flag, RECORD(ignore_kernel_bugs), NULL },
	{ 'o', "output", "PATH", "Output",
	  "directory, or file when one process is asked for\n(default: tachbpf-HOST-TIME)",
	  set_text, RECORD(output), NULL },
	{ 0, "compression", "METHOD", "Output", "zstd (default) or none", set_compression, 0,
	  compressions },
	{ 0, "layout", "LAYOUT", "Output", "release (default), draft1 or draft2", set_choice,
	  RECORD(layout), layouts },
	{ 0, "json", NULL, "Output", "the summary as JSON on standard output", set_flag,
	  RECORD(json), NULL },
	GENERAL_OPTIONS,
};

static const struct cli_option info_table[] = {
	INPUT_OPTIONS,
	{ 0, "json", NULL, "Output", "as JSON", set_flag, FILES(json), NULL },
	GENERAL_OPTIONS,
};

static const struct cli_option report_table[] = {
	INPUT_OPTIONS,
	{ 0, "by", "KEY", "Rows", "function (default), line, process or thread", set_choice,
	  FILES(by), bys },
	{ 0, "sort", "KEY", "Rows", "self (default), total, samples, name or file", set_choice,
	  FILES(sort), sorts },
	{ 0, "limit", "N", "Rows", "this many rows, 0 for all (default: 20)", set_limit, 0, NULL },
	{ 0, "json", NULL, "Output", "as JSON", set_flag, FILES(json), NULL },
	GENERAL_OPTIONS,
};

static const struct cli_option replay_table[] = {
	INPUT_OPTIONS,
	{ 0, "format", "FORMAT", "Output", "default: collapsed; help lists all", set_format, 0,
	  NULL },
	{ 'o', "output", "FILE", "Output", "write here (default: standard output)", set_text,
	  FILES(output), NULL },
	{ 0, "by", "GROUP", "Output", "process or thread (default: as the format's users expect)",
	  set_choice, FILES(group), groups },
	{ 0, "lines", NULL, "Output", "tell the lines of a function apart", set_value,
	  FILES(lines), lines_apart },
	{ 0, "no-lines", NULL, "Output", "do not; without either: as the format's users expect",
	  set_value, FILES(lines), lines_merged },
	{ 0, "no-source", NULL, "Output", "heatmap: read no source files", set_flag,
	  FILES(no_source), NULL },
	GENERAL_OPTIONS,
};

static const struct cli_option mem_table[] = {
	{ 0, "by", "KEY", "Rows", "stack (default), file or function", set_choice, FILES(mem_by),
	  mem_bys },
	{ 0, "sort", "KEY", "Rows", "live (default), allocated, peak or count", set_choice,
	  FILES(mem_sort), mem_sorts },
	{ 0, "limit", "N", "Rows", "this many rows, 0 for all (default: 20)", set_limit, 0, NULL },
	{ 0, "validate", NULL, "Output", "only check the files against the format's rules",
	  set_flag, FILES(validate), NULL },
	{ 0, "json", NULL, "Output", "as JSON", set_flag, FILES(json), NULL },
	GENERAL_OPTIONS,
};

static int record_word(void *target, char *word)
{
	char shown[CLI_TEXT_MAX];

	escape_text(word, strlen(word), shown, sizeof(shown));
	log_error("unknown command '%s'; to start and record a program: tachbpf -- %s ...", shown,
		  shown);
	return -EINVAL;
}

static int record_rest(void *target, char **words)
{
	struct options *o = target;

	if (!*words || !**words) {
		log_error("no command after --: write, say, tachbpf -- python3 app.py");
		return -EINVAL;
	}
	o->record.command = words;
	return 0;
}

static int files_word(void *target, char *word)
{
	struct file_options *f = &((struct options *)target)->files;
	char **paths;

	if (!*word) {
		log_error("empty file name: give a .tach file or a recording's directory");
		return -EINVAL;
	}
	paths = reallocarray(f->paths, f->path_cnt + 1, sizeof(*paths));
	if (!paths) {
		log_error("out of memory");
		return -ENOMEM;
	}
	f->paths = paths;
	f->paths[f->path_cnt++] = word;
	return 0;
}

static const char *const record_synopsis[] = {
	"tachbpf [record] -a [OPTIONS]",
	"tachbpf [record] -p PID[,PID...] [OPTIONS]",
	"tachbpf [record] [OPTIONS] -- COMMAND [ARGUMENT...]",
	NULL
};
static const char *const record_examples[] = {
	"sudo tachbpf -a -d 30",
	"every Python process on this host, for 30 seconds",
	"sudo tachbpf -r 999 -o app.tach -- python3 app.py",
	"a program from its start to its end, 999 times a second",
	NULL
};
static const char *const info_synopsis[] = { "tachbpf info [OPTIONS] FILE|DIR...", NULL };
static const char *const info_examples[] = {
	"tachbpf info 1234-app.tach",
	"what the file says about itself, its threads, what was lost",
	NULL
};
static const char *const report_synopsis[] = { "tachbpf report [OPTIONS] FILE|DIR...", NULL };
static const char *const report_examples[] = {
	"tachbpf report tachbpf-host-20260101T120000Z",
	"the functions in which all recorded processes spent their time",
	"tachbpf report --by line --sort total --limit 0 1234-app.tach",
	"every line of one process, the most inclusive first",
	NULL
};
static const char *const replay_synopsis[] = {
	"tachbpf replay [OPTIONS] FILE|DIR...", NULL
};
static const char *const replay_examples[] = {
	"tachbpf replay --format collapsed -o app.folded 1234-app.tach",
	"one line for each distinct stack, as flame graph tools read it",
	"tachbpf replay --format speedscope -o app.speedscope.json 1234-app.tach",
	"every thread over time, for speedscope.app",
	NULL
};

static const char *const mem_synopsis[] = { "tachbpf mem [OPTIONS] FILE...", NULL };
static const char *const mem_examples[] = {
	"tachbpf mem --sort peak --by function app.mlyze",
	"the functions whose memory made the peak",
	"tachbpf mem --validate app.mlyze",
	"whether the file keeps all rules of its format",
	NULL
};

static const struct cli_command commands[] = {
	[COMMAND_RECORD] = { "record", "Record Python processes into TACH files (the default).",
			     record_synopsis, record_examples, record_table,
			     ARRAY_SIZE(record_table), record_word, record_rest },
	[COMMAND_INFO] = { "info", "Show what TACH files say about themselves.", info_synopsis,
			   info_examples, info_table, ARRAY_SIZE(info_table), files_word, NULL },
	[COMMAND_REPORT] = { "report", "Show where the time went, as a table.", report_synopsis,
			     report_examples, report_table, ARRAY_SIZE(report_table), files_word,
			     NULL },
	[COMMAND_REPLAY] = { "replay", "Convert TACH files to another format.", replay_synopsis,
			     replay_examples, replay_table, ARRAY_SIZE(replay_table), files_word,
			     NULL },
	[COMMAND_MEM] = { "mem", "Show where memory went, from Memlyze traces.", mem_synopsis,
			  mem_examples, mem_table, ARRAY_SIZE(mem_table), files_word, NULL },
};

static int check_record(struct options *o)
{
	struct record_options *r = &o->record;
	int selected = r->all + (r->pid_cnt > 0) + (r->command != NULL);

	r->verbose = o->verbose;
	if (selected == 1)
		return 0;
	if (selected)
		log_error("-a, -p and -- COMMAND exclude each other: give only one of them");
	else
		log_error("nothing to record: give -a, -p PID or -- COMMAND; see: tachbpf --help");
	return -EINVAL;
}

static int check_files(struct options *o)
{
	if (o->files.path_cnt)
		return o->command == COMMAND_REPLAY ? check_export(&o->files) : 0;
	log_error("no file: give .tach files or a recording's directory; see: tachbpf %s --help",
		  commands[o->command].name);
	return -EINVAL;
}

int options_parse(struct options *o, int argc, char **argv)
{
	size_t i;
	int err;

	memset(o, 0, sizeof(*o));
	o->files.limit = REPORT_LIMIT;
	o->files.format = sink_find("collapsed");
	argv += argc > 0;
	for (i = 0; *argv && i < ARRAY_SIZE(commands); i++) {
		if (!strcmp(*argv, commands[i].name)) {
			o->command = i;
			o->named = true;
			argv++;
			break;
		}
	}
	err = cli_parse(&commands[o->command], argv, o);
	if (err || o->show != SHOW_NOTHING)
		return err;
	return o->command == COMMAND_RECORD ? check_record(o) : check_files(o);
}

void options_free(struct options *o)
{
	free(o->record.pids);
	free(o->files.paths);
	memset(o, 0, sizeof(*o));
}

/* tachbpf --help: all commands, and the options of the one that needs no name. */
static void print_overview(FILE *out)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		const char *const *line;

		for (line = commands[i].synopsis; *line; line++)
			fprintf(out, "%s %s\n", i || line != commands[i].synopsis ? "      " : "Usage:",
				*line);
	}
	fprintf(out, "\nProfiles CPython without touching it.\n\nCommands:\n");
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(out, "  %-10s%s\n", commands[i].name, commands[i].help);
	cli_print_options(&commands[COMMAND_RECORD], out);
	cli_print_examples(&commands[COMMAND_RECORD], out);
	fprintf(out, "\ntachbpf COMMAND --help says more about a command.\n");
}

static void print_formats(FILE *out)
{
	const struct sink_ops *ops;
	size_t i;

	for (i = 0; (ops = sink_at(i)); i++)
		if (can_replay(ops))
			fprintf(out, "%-18s%s\n", ops->name, ops->help);
}

static void print_inputs(FILE *out)
{
	const struct reader_ops *ops;
	size_t i;

	for (i = 0; (ops = reader_at(i)); i++)
		fprintf(out, "%-12s%s\n", ops->name, ops->help);
}

void options_print(const struct options *o, FILE *out)
{
	if (o->show == SHOW_VERSION)
		fprintf(out, "tachbpf %s\n", TACHBPF_VERSION);
	else if (o->show == SHOW_FORMATS)
		print_formats(out);
	else if (o->show == SHOW_INPUTS)
		print_inputs(out);
	else if (o->named)
		cli_print_help(&commands[o->command], out);
	else
		print_overview(out);
}
