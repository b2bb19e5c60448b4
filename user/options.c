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
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/abi.h"
#include "cli.h"
#include "util.h"

#define RATE_MAX_HZ 50000
#define DURATION_MAX_S (366.0 * 86400)
#define PID_MAX 4194304		/* PID_MAX_LIMIT, include/linux/threads.h */
#define REPORT_LIMIT 20
#define SPLIT_EVERY_US 10000000

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

static const struct choice splits[] = {
	{ "process", SPLIT_BY_PROCESS }, { "thread", SPLIT_BY_THREAD }, { "time", SPLIT_BY_TIME },
	{ 0 }
};
static const struct choice diff_sorts[] = {
	{ "delta", DIFF_SORT_DELTA }, { "total", DIFF_SORT_TOTAL_DELTA }, { "a", DIFF_SORT_A },
	{ "b", DIFF_SORT_B }, { "name", DIFF_SORT_NAME }, { "file", DIFF_SORT_FILE }, { 0 }
};
static const struct choice statuses[] = {
	{ "gil", STATUS_HAS_GIL }, { "on-cpu", STATUS_ON_CPU }, { "unknown", STATUS_UNKNOWN },
	{ "gil-requested", STATUS_GIL_REQUESTED }, { "exception", STATUS_HAS_EXCEPTION },
	{ "main", STATUS_MAIN_THREAD }, { 0 }
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
	       sizeof(enum report_sort) == sizeof(int) &&
	       sizeof(enum split_by) == sizeof(int) && sizeof(enum diff_sort) == sizeof(int),
	       "set_choice() writes an int");

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

/* ---- which samples: filter.h's options, the same for every command that has them ---- */

static void *append(void *list, size_t cnt, size_t elem_bytes)
{
	void *bigger = reallocarray(list, cnt + 1, elem_bytes);

	if (!bigger)
		log_error("out of memory");
	return bigger;
}

static int set_thread(void *target, const struct cli_option *opt, const char *value)
{
	struct filter_options *f = &((struct options *)target)->files.filter;
	unsigned long long id;
	uint64_t *ids;
	char *end;

	errno = 0;
	id = strtoull(value, &end, 10);
	if (!isdigit((unsigned char)*value) || *end || errno)
		return bad_value(opt, value, "give a thread's number, as report --by thread shows it");
	ids = append(f->threads, f->thread_cnt, sizeof(*ids));
	if (!ids)
		return -ENOMEM;
	f->threads = ids;
	f->threads[f->thread_cnt++] = id;
	return 0;
}

static int set_process(void *target, const struct cli_option *opt, const char *value)
{
	struct filter_options *f = &((struct options *)target)->files.filter;
	const char **names;

	if (!*value)
		return bad_value(opt, value, "give a process id, or a name such as 'gunicorn*'");
	names = append(f->processes, f->process_cnt, sizeof(*names));
	if (!names)
		return -ENOMEM;
	f->processes = names;
	f->processes[f->process_cnt++] = value;
	return 0;
}

/* "gil", "!gil", "no-gil": the bit, and whether it must not be set. false: no such word. */
static bool status_word(const char *word, size_t len, uint8_t *bit, bool *not)
{
	const struct choice *c;

	*not = (len && *word == '!') || (len > 3 && !strncmp(word, "no-", 3));
	if (*not) {
		size_t skip = *word == '!' ? 1 : 3;

		word += skip;
		len -= skip;
	}
	for (c = statuses; c->name; c++) {
		if (strlen(c->name) == len && !memcmp(c->name, word, len)) {
			*bit = (uint8_t)c->value;
			return true;
		}
	}
	return false;
}

static int set_status(void *target, const struct cli_option *opt, const char *value)
{
	struct filter_options *f = &((struct options *)target)->files.filter;
	const char *p = value;
	uint8_t bit;
	size_t len;
	bool not;

	for (;; p += len + 1) {
		len = strcspn(p, ",");
		if (!status_word(p, len, &bit, &not))
			return bad_value(opt, value, "give gil, on-cpu, unknown, gil-requested, "
					 "exception or main, separated by commas, each perhaps "
					 "with ! or no- before it");
		if (not)
			f->status_clear |= bit;
		else
			f->status_set |= bit;
		if (!p[len])
			break;
	}
	if (f->status_set & f->status_clear)
		return bad_value(opt, value, "no sample both has and has not one of these");
	return 0;
}

static int set_moment(void *target, const struct cli_option *opt, const char *value)
{
	static const struct unit units[] = { { "", 1 }, { "s", 1 }, { "ms", 1e-3 }, { "m", 60 },
					     { "h", 3600 }, { 0 } };
	struct filter_time *t = (void *)((char *)target + opt->off);
	double seconds;

	t->absolute = *value == '@';
	/* Doubles are exact to the microsecond up to 2^53 of them, 285 years. */
	if (parse_quantity(value + t->absolute, units, &seconds) || seconds * 1e6 > 0x1p53)
		return bad_value(opt, value, "give seconds since the profile's start, such as 1.5, "
				 "500ms or 2m, or with @ the clock's own");
	t->us = (uint64_t)(seconds * 1e6 + 0.5);
	t->given = true;
	return 0;
}

static int set_regex(void *target, const struct cli_option *opt, const char *value)
{
	regex_t **re = (void *)((char *)target + opt->off);
	char why[CLI_TEXT_MAX];
	int err;

	if (*re)
		return bad_value(opt, value, "it can be given once: join expressions with |");
	*re = calloc(1, sizeof(**re));
	if (!*re) {
		log_error("out of memory");
		return -ENOMEM;
	}
	err = regcomp(*re, value, REG_EXTENDED);
	if (!err)
		return 0;
	regerror(err, *re, why, sizeof(why));
	free(*re);
	*re = NULL;
	return bad_value(opt, value, why);
}

static int set_every(void *target, const struct cli_option *opt, const char *value)
{
	struct options *o = target;
	double seconds;

	if (options_duration(value, &seconds) || seconds < 1e-3)
		return bad_value(opt, value, "give at least 0.001 s, such as 0.5, 10s, 5m or 1h");
	o->files.every_us = (uint64_t)(seconds * 1e6 + 0.5);
	return 0;
}

static int set_file_compression(void *target, const struct cli_option *opt, const char *value)
{
	struct options *o = target;
	int none, err = set_choice(&none, opt, value);

	if (!err)
		o->files.no_compression = none;
	return err;
}

/* ---- */

/* TACH files come from recording; rewriting them is convert's, not replay's. */
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
	if (!o->files.format || (o->command == COMMAND_REPLAY && !can_replay(o->files.format)))
		return bad_value(opt, value, o->command == COMMAND_REPLAY ?
				 "see: tachbpf replay --format help" :
				 "see: tachbpf convert --format help");
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

static const enum options_show show_help = SHOW_HELP, show_version = SHOW_VERSION;

#define RECORD(field) offsetof(struct options, record.field)
#define FILES(field) offsetof(struct options, files.field)
#define GENERAL_OPTIONS                                                                            \
	{ 'q', "quiet", NULL, "General", "errors and results only", set_quiet, 0, NULL },          \
	{ 'v', "verbose", NULL, "General", "say more; twice: everything", set_verbose, 0, NULL },  \
	{ 'h', "help", NULL, "General", "this text", set_show, 0, &show_help },                    \
	{ 0, "version", NULL, "General", "the version", set_show, 0, &show_version }
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

#define SAMPLES "Which samples (all conditions must hold)"
#define FILTER_OPTIONS                                                                             \
	{ 0, "thread", "ID", SAMPLES, "of this thread; may be repeated", set_thread, 0, NULL },    \
	{ 0, "process", "PID|NAME", SAMPLES,                                                       \
	  "of this process; NAME may have * and ?; may be repeated", set_process, 0, NULL },       \
	{ 0, "status", "WORD[,WORD...]", SAMPLES,                                                  \
	  "gil, on-cpu, unknown, gil-requested, exception, main;\nwith ! or no- before it: not so", \
	  set_status, 0, NULL },                                                                   \
	{ 0, "from", "TIME", SAMPLES, "from then on: 1.5, 500ms, 2m after the start;\n"            \
	  "@SECONDS: of CLOCK_MONOTONIC", set_moment, FILES(filter.from), NULL },                  \
	{ 0, "to", "TIME", SAMPLES, "until just before then", set_moment, FILES(filter.to), NULL }, \
	{ 0, "focus", "REGEX", SAMPLES, "with a frame whose function or file matches", set_regex,  \
	  FILES(filter.focus), NULL },                                                             \
	{ 0, "ignore", "REGEX", SAMPLES, "without such a frame", set_regex,                        \
	  FILES(filter.ignore), NULL }
#define TACH_OPTIONS                                                                               \
	{ 0, "compression", "METHOD", "Output", "of TACH files: zstd (default) or none",           \
	  set_file_compression, 0, compressions },                                                 \
	{ 0, "layout", "LAYOUT", "Output", "of TACH files: release (default), draft1 or draft2",   \
	  set_choice, FILES(layout), layouts }

static const struct cli_option info_table[] = {
	{ 0, "verify", NULL, "Output", "check every byte instead, say whether files are sound",
	  set_flag, FILES(verify), NULL },
	{ 0, "json", NULL, "Output", "as JSON", set_flag, FILES(json), NULL },
	GENERAL_OPTIONS,
};

static const struct cli_option report_table[] = {
	{ 0, "by", "KEY", "Rows", "function (default), line, process or thread", set_choice,
	  FILES(by), bys },
	{ 0, "sort", "KEY", "Rows", "self (default), total, samples, name or file", set_choice,
	  FILES(sort), sorts },
	{ 0, "limit", "N", "Rows", "this many rows, 0 for all (default: 20)", set_limit, 0, NULL },
	FILTER_OPTIONS,
	{ 0, "json", NULL, "Output", "as JSON", set_flag, FILES(json), NULL },
	GENERAL_OPTIONS,
};

static const struct cli_option replay_table[] = {
	FILTER_OPTIONS,
	{ 0, "format", "FORMAT", "Output", "default: collapsed; help lists all", set_format, 0,
	  NULL },
	{ 'o', "output", "FILE", "Output", "write here (default: standard output)", set_text,
	  FILES(output), NULL },
	GENERAL_OPTIONS,
};

static const struct cli_option convert_table[] = {
	FILTER_OPTIONS,
	{ 'o', "output", "FILE", "Output", "write here; - is standard output (not TACH)", set_text,
	  FILES(output), NULL },
	{ 0, "format", "FORMAT", "Output", "default: what FILE's name says, else tach;\n"
	  "help lists all", set_format, 0, NULL },
	TACH_OPTIONS,
	GENERAL_OPTIONS,
};

static const struct cli_option merge_table[] = {
	FILTER_OPTIONS,
	{ 'o', "output", "FILE", "Output", "write here", set_text, FILES(output), NULL },
	TACH_OPTIONS,
	GENERAL_OPTIONS,
};

static const struct cli_option split_table[] = {
	{ 0, "by", "KEY", "Pieces", "process, thread or time", set_choice, FILES(split_by), splits },
	{ 0, "every", "TIME", "Pieces", "--by time: how long a piece is (default: 10s)", set_every,
	  0, NULL },
	FILTER_OPTIONS,
	{ 'o', "output", "DIR", "Output", "write here; made if absent", set_text, FILES(output),
	  NULL },
	TACH_OPTIONS,
	GENERAL_OPTIONS,
};

static const struct cli_option diff_table[] = {
	{ 0, "sort", "KEY", "Rows", "delta (of self, default), total (its delta), a, b,\n"
	  "name or file", set_choice, FILES(diff_sort), diff_sorts },
	{ 0, "limit", "N", "Rows", "this many rows, 0 for all (default: 20)", set_limit, 0, NULL },
	FILTER_OPTIONS,
	{ 0, "json", NULL, "Output", "as JSON", set_flag, FILES(json), NULL },
	GENERAL_OPTIONS,
};

static const struct cli_option recover_table[] = {
	{ 'o', "output", "FILE", "Output", "write here (default: in the damaged file's place)",
	  set_text, FILES(output), NULL },
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
	"tachbpf replay [--format FORMAT] [-o FILE] FILE|DIR...", NULL
};
static const char *const replay_examples[] = {
	"tachbpf replay --format collapsed -o app.folded 1234-app.tach",
	"one line for each distinct stack, as flame graph tools read it",
	NULL
};

static const char *const convert_synopsis[] = {
	"tachbpf convert [OPTIONS] FILE|DIR... -o FILE", NULL
};
static const char *const convert_examples[] = {
	"tachbpf convert 1234-app.tach -o app.folded",
	"another format, by the name's ending",
	"tachbpf convert old.tach -o new.tach --layout release --from 10 --to 20",
	"ten seconds of a profile, as CPython 3.15 reads it",
	NULL
};
static const char *const merge_synopsis[] = {
	"tachbpf merge [OPTIONS] FILE|DIR... -o FILE", NULL
};
static const char *const merge_examples[] = {
	"tachbpf merge monday.tach tuesday.tach -o both.tach",
	"profiles of one process as one",
	NULL
};
static const char *const split_synopsis[] = {
	"tachbpf split --by process|thread|time [OPTIONS] FILE|DIR... -o DIR", NULL
};
static const char *const split_examples[] = {
	"tachbpf split --by time --every 10s 1234-app.tach -o pieces",
	"one file for every ten seconds",
	NULL
};
static const char *const diff_synopsis[] = { "tachbpf diff [OPTIONS] A B", NULL };
static const char *const diff_examples[] = {
	"tachbpf diff before.tach after.tach",
	"which functions take more, or less, of the time",
	NULL
};
static const char *const recover_synopsis[] = { "tachbpf recover FILE|DIR... [-o FILE]", NULL };
static const char *const recover_examples[] = {
	"tachbpf recover tachbpf-host-20260101T120000Z",
	"make the files of a recording that was killed readable",
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
	[COMMAND_CONVERT] = { "convert", "Write TACH files anew: in another format, or less of them.",
			      convert_synopsis, convert_examples, convert_table,
			      ARRAY_SIZE(convert_table), files_word, NULL },
	[COMMAND_MERGE] = { "merge", "Join TACH files of one process into one.", merge_synopsis,
			    merge_examples, merge_table, ARRAY_SIZE(merge_table), files_word, NULL },
	[COMMAND_SPLIT] = { "split", "Cut TACH files into one for each process, thread or time.",
			    split_synopsis, split_examples, split_table, ARRAY_SIZE(split_table),
			    files_word, NULL },
	[COMMAND_DIFF] = { "diff", "Compare where the time went in two profiles.", diff_synopsis,
			   diff_examples, diff_table, ARRAY_SIZE(diff_table), files_word, NULL },
	[COMMAND_RECOVER] = { "recover", "Make what a killed recording left, or a damaged file, "
			      "readable.", recover_synopsis, recover_examples, recover_table,
			      ARRAY_SIZE(recover_table), files_word, NULL },
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
	const struct file_options *f = &o->files;
	const char *name = commands[o->command].name;
	bool needs_output = o->command == COMMAND_CONVERT || o->command == COMMAND_MERGE ||
			    o->command == COMMAND_SPLIT;

	if (!f->path_cnt) {
		log_error("no file: give .tach files or a recording's directory; see: tachbpf %s "
			  "--help", name);
		return -EINVAL;
	}
	if (needs_output && !f->output) {
		log_error("no place to write to: give -o; see: tachbpf %s --help", name);
		return -EINVAL;
	}
	if (o->command == COMMAND_DIFF && f->path_cnt != 2) {
		log_error("%zu profiles to compare: give two files or recordings' directories",
			  f->path_cnt);
		return -EINVAL;
	}
	if (o->command == COMMAND_RECOVER && f->output && f->path_cnt != 1) {
		log_error("-o names one file, and %zu are to be recovered: leave -o out, or "
			  "recover them one by one", f->path_cnt);
		return -EINVAL;
	}
	if (o->command == COMMAND_SPLIT && (int)f->split_by < 0) {
		log_error("split by what? give --by process, --by thread or --by time");
		return -EINVAL;
	}
	return 0;
}

int options_parse(struct options *o, int argc, char **argv)
{
	size_t i;
	int err;

	memset(o, 0, sizeof(*o));
	o->files.limit = REPORT_LIMIT;
	o->files.format = sink_find("collapsed");
	o->files.every_us = SPLIT_EVERY_US;
	o->files.split_by = (enum split_by)-1;	/* must be given */
	argv += argc > 0;
	for (i = 0; *argv && i < ARRAY_SIZE(commands); i++) {
		if (!strcmp(*argv, commands[i].name)) {
			o->command = i;
			o->named = true;
			argv++;
			break;
		}
	}
	if (o->command == COMMAND_CONVERT)
		o->files.format = NULL;		/* as -o's name says */
	err = cli_parse(&commands[o->command], argv, o);
	if (err || o->show != SHOW_NOTHING)
		return err;
	return o->command == COMMAND_RECORD ? check_record(o) : check_files(o);
}

void options_free(struct options *o)
{
	free(o->record.pids);
	free(o->files.paths);
	filter_options_free(&o->files.filter);
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

static void print_formats(const struct options *o, FILE *out)
{
	const struct sink_ops *ops;
	size_t i;

	for (i = 0; (ops = sink_at(i)); i++)
		if (o->command != COMMAND_REPLAY || can_replay(ops))
			fprintf(out, "%-12s%s\n", ops->name, ops->help);
}

void options_print(const struct options *o, FILE *out)
{
	if (o->show == SHOW_VERSION)
		fprintf(out, "tachbpf %s\n", TACHBPF_VERSION);
	else if (o->show == SHOW_FORMATS)
		print_formats(o, out);
	else if (o->named)
		cli_print_help(&commands[o->command], out);
	else
		print_overview(out);
}
