// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * options_set.c - see options_set.h. A setter does not know what its option does.
 */
#include "commands/options_set.h"

#include <ctype.h>
#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/memory_series.h"
#include "base/quantity.h"
#include "base/util.h"
#include "formats/formats.h"
#include "formats/readers.h"
#include "formats/sinks.h"
#include "model/profile_names.h"

#define RATE_MAX_HZ 50000
#define DURATION_MAX_S (366.0 * 86400)
#define PID_MAX 4194304		/* PID_MAX_LIMIT, include/linux/threads.h */

int options_rate(const char *text, uint32_t *hz)
{
	static const struct quantity_unit units[] = {
		{ "", 1 }, { "hz", 1 }, { "k", 1000 }, { "khz", 1000 }, { 0 }
	};
	double value;

	if (quantity_parse(text, units, &value) || value < 1 || value > RATE_MAX_HZ ||
	    value != (uint32_t)value)
		return -EINVAL;
	*hz = (uint32_t)value;
	return 0;
}

int options_duration(const char *text, double *seconds)
{
	static const struct quantity_unit units[] = {
		{ "", 1 }, { "s", 1 }, { "m", 60 }, { "h", 3600 }, { 0 }
	};
	double value;

	if (quantity_parse(text, units, &value) || value <= 0 || value > DURATION_MAX_S)
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

/* The address of the member that an option sets. */
static void *place(void *target, const struct cli_option *opt)
{
	return (char *)target + opt->off;
}

int opt_flag(void *target, const struct cli_option *opt, const char *value)
{
	*(bool *)place(target, opt) = true;
	return 0;
}

int opt_no(void *target, const struct cli_option *opt, const char *value)
{
	*(bool *)place(target, opt) = false;
	return 0;
}

int opt_text(void *target, const struct cli_option *opt, const char *value)
{
	if (!*value)
		return bad_value(opt, value, "it is empty");
	*(const char **)place(target, opt) = value;
	return 0;
}

/* The i-th name of a table that ends with a NULL name, and its value. */
static const char *choice_at(const void *table, size_t i, int *value)
{
	const struct choice *c = (const struct choice *)table + i;

	*value = c->value;
	return c->name;
}

/* The i-th mode of record_modes, whose names -m takes. */
static const char *mode_at(const void *table, size_t i, int *value)
{
	*value = (int)i;
	return i < RECORD_MODE_CNT ? record_modes[i].name : NULL;
}

/* Set *value to the one that text names. at() lists the names until it returns NULL. */
static int choose(const struct cli_option *opt, const char *text,
		  const char *(*at)(const void *table, size_t i, int *value), int *value)
{
	char remedy[256] = "one of";
	const char *name;
	size_t i, len;

	for (i = 0; (name = at(opt->data, i, value)); i++) {
		if (!strcmp(text, name))
			return 0;
		len = strlen(remedy);
		snprintf(remedy + len, sizeof(remedy) - len, " %s", name);
	}
	return bad_value(opt, text, remedy);
}

/* The member is an enum; the assertion below says that it has the size of an int. */
int opt_choice(void *target, const struct cli_option *opt, const char *value)
{
	int chosen, err = choose(opt, value, choice_at, &chosen);

	if (!err)
		memcpy(place(target, opt), &chosen, sizeof(chosen));
	return err;
}

int opt_bool(void *target, const struct cli_option *opt, const char *value)
{
	int chosen, err = choose(opt, value, choice_at, &chosen);

	if (!err)
		*(bool *)place(target, opt) = chosen;
	return err;
}

int opt_mode(void *target, const struct cli_option *opt, const char *value)
{
	int chosen, err = choose(opt, value, mode_at, &chosen);

	if (!err)
		*(enum record_mode *)place(target, opt) = chosen;
	return err;
}
_Static_assert(sizeof(enum profile_layout) == sizeof(int) &&
	       sizeof(enum report_by) == sizeof(int) && sizeof(enum report_sort) == sizeof(int) &&
	       sizeof(enum split_by) == sizeof(int) &&
	       sizeof(enum diff_sort) == sizeof(int) && sizeof(enum reader_value) == sizeof(int) &&
	       sizeof(enum record_mode) == sizeof(int) &&
	       sizeof(enum sampler_event) == sizeof(int) &&
	       sizeof(enum proc_filter_children) == sizeof(int) &&
	       sizeof(enum mem_by) == sizeof(int) && sizeof(enum mem_sort) == sizeof(int) &&
	       sizeof(enum sink_lines) == sizeof(int) && sizeof(enum sink_group) == sizeof(int),
	       "opt_choice() and opt_value() write an int");

#define BEGINS_WITH_INPUT(command) offsetof(struct command##_options, input) == 0
_Static_assert(BEGINS_WITH_INPUT(info) && BEGINS_WITH_INPUT(report) && BEGINS_WITH_INPUT(replay) &&
	       BEGINS_WITH_INPUT(mem) && BEGINS_WITH_INPUT(convert) && BEGINS_WITH_INPUT(merge) &&
	       BEGINS_WITH_INPUT(split) && BEGINS_WITH_INPUT(diff) && BEGINS_WITH_INPUT(gil) &&
	       BEGINS_WITH_INPUT(recover),
	       "struct options has the input of every command at the same place");

int opt_rate(void *target, const struct cli_option *opt, const char *value)
{
	if (options_rate(value, place(target, opt)))
		return bad_value(opt, value, "give 1 to 50000 Hz, such as 99, 999 or 10khz");
	return 0;
}

int opt_min_wait(void *target, const struct cli_option *opt, const char *value)
{
	static const struct quantity_unit units[] = {
		{ "", 1e9 }, { "s", 1e9 }, { "ms", 1e6 }, { "us", 1e3 }, { "ns", 1 }, { 0 }
	};
	double ns;

	if (quantity_parse(value, units, &ns) || ns > DURATION_MAX_S * 1e9)
		return bad_value(opt, value, "give a time such as 500us, 10ms or 1s");
	*(uint64_t *)place(target, opt) = (uint64_t)(ns + 0.5);
	return 0;
}

int opt_duration(void *target, const struct cli_option *opt, const char *value)
{
	if (options_duration(value, place(target, opt)))
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

int opt_pids(void *target, const struct cli_option *opt, const char *value)
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

int opt_pid_word(void *target, char *word)
{
	static const struct cli_option pid = { .letter = 'p', .name = "pid" };

	return opt_pids(target, &pid, word);
}

const char *const options_native[] = { "full", "lines", NULL };

/* --native alone, or with one or more of the words, separated by commas. */
int opt_native(void *target, const struct cli_option *opt, const char *value)
{
	struct capture_args *args = &((struct options *)target)->record.capture;
	bool *const members[] = { &args->native_full, &args->native_lines };
	size_t len, i;

	args->native = true;
	for (; value; value = value[len] ? value + len + 1 : NULL) {
		len = strcspn(value, ",");
		for (i = 0; options_native[i]; i++)
			if (strlen(options_native[i]) == len &&
			    !memcmp(options_native[i], value, len))
				break;
		if (!options_native[i])
			return bad_value(opt, value, "give --native alone, or =full, =lines or "
						     "=full,lines");
		*members[i] = true;
	}
	return 0;
}

#define INTERVALS_MAX 1000

/* --leaks alone, or with a number of intervals. */
int opt_leaks(void *target, const struct cli_option *opt, const char *value)
{
	struct mem_options *mem = &((struct options *)target)->mem;
	uint64_t cnt;

	mem->leaks = true;
	if (!value)
		return 0;
	if (!parse_decimal(value, strlen(value), &cnt) || cnt < MEMORY_INTERVALS_MIN ||
	    cnt > INTERVALS_MAX)
		return bad_value(opt, value, "give a number of intervals, from 3 to 1000");
	mem->intervals = (uint32_t)cnt;
	return 0;
}

int opt_select(void *target, const struct cli_option *opt, const char *value)
{
	const struct select_option *which = opt->data;

	return proc_filter_add(place(target, opt), which->kind, which->exclude, value);
}

int opt_min_age(void *target, const struct cli_option *opt, const char *value)
{
	if (options_duration(value, place(target, opt)))
		return bad_value(opt, value, "give more than 0 and at most 366 days, such as "
					     "5, 0.5s, 5m or 1h");
	return 0;
}

int opt_limit(void *target, const struct cli_option *opt, const char *value)
{
	unsigned long limit;
	char *end;

	errno = 0;
	limit = strtoul(value, &end, 10);
	if (!isdigit((unsigned char)*value) || *end || errno || limit > UINT32_MAX)
		return bad_value(opt, value, "give a number of rows, 0 for all");
	*(uint32_t *)place(target, opt) = (uint32_t)limit;
	return 0;
}

/* ---- the conditions of sample_filter.h, the same in every command that has them ---- */

static void *append(void *list, size_t cnt, size_t elem_bytes)
{
	void *bigger = reallocarray(list, cnt + 1, elem_bytes);

	if (!bigger)
		log_error("out of memory");
	return bigger;
}

int opt_thread(void *target, const struct cli_option *opt, const char *value)
{
	struct sample_filter_options *f = &((struct options *)target)->input.filter;
	unsigned long long id;
	uint64_t *ids;
	char *end;

	errno = 0;
	id = strtoull(value, &end, 10);
	if (!isdigit((unsigned char)*value) || *end || errno)
		return bad_value(opt, value, "give a thread's number, as report --by thread shows "
				 "it");
	ids = append(f->threads, f->thread_cnt, sizeof(*ids));
	if (!ids)
		return -ENOMEM;
	f->threads = ids;
	f->threads[f->thread_cnt++] = id;
	return 0;
}

int opt_process(void *target, const struct cli_option *opt, const char *value)
{
	struct sample_filter_options *f = &((struct options *)target)->input.filter;
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

/* Parse "gil", "!gil" or "no-gil". *not: the bit must not be set. Returns false if unknown. */
static bool status_word(const char *word, size_t len, uint8_t *bit, bool *not)
{
	*not = (len && *word == '!') || (len > 3 && !strncmp(word, "no-", 3));
	if (*not) {
		size_t skip = *word == '!' ? 1 : 3;

		word += skip;
		len -= skip;
	}
	return profile_status_parse(word, len, bit);
}

int opt_status(void *target, const struct cli_option *opt, const char *value)
{
	struct sample_filter_options *f = &((struct options *)target)->input.filter;
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

int opt_moment(void *target, const struct cli_option *opt, const char *value)
{
	static const struct quantity_unit units[] = {
		{ "", 1 }, { "s", 1 }, { "ms", 1e-3 }, { "m", 60 }, { "h", 3600 }, { 0 }
	};
	struct sample_filter_time *t = place(target, opt);
	double seconds;

	t->absolute = *value == '@';
	/* Doubles are exact to the microsecond up to 2^53 us, which are 285 years. */
	if (quantity_parse(value + t->absolute, units, &seconds) || seconds * 1e6 > 0x1p53)
		return bad_value(opt, value, "give seconds since the profile's start, such as 1.5, "
				 "500ms or 2m, or with @ the clock's own");
	t->us = (uint64_t)(seconds * 1e6 + 0.5);
	t->given = true;
	return 0;
}

int opt_regex(void *target, const struct cli_option *opt, const char *value)
{
	regex_t **re = place(target, opt);
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

/* Percentage points, from 0 to 100. */
int opt_points(void *target, const struct cli_option *opt, const char *value)
{
	static const struct quantity_unit units[] = { { "", 1 }, { "%", 1 }, { 0 } };
	double points;

	if (quantity_parse(value, units, &points) || points > 100)
		return bad_value(opt, value, "give percentage points, such as 0.5 or 2");
	*(double *)place(target, opt) = points;
	return 0;
}

int opt_every(void *target, const struct cli_option *opt, const char *value)
{
	double seconds;

	if (options_duration(value, &seconds) || seconds < 1e-3)
		return bad_value(opt, value, "give at least 0.001 s, such as 0.5, 10s, 5m or 1h");
	*(uint64_t *)place(target, opt) = (uint64_t)(seconds * 1e6 + 0.5);
	return 0;
}

/* ---- */

/* Only convert writes TACH files again. */
bool options_takes_format(enum command_id command, const struct sink_ops *ops)
{
	if (command == COMMAND_DIFF)
		return ops == &sink_flamegraph;
	if (command == COMMAND_OPEN)
		return ops == &sink_flamegraph || ops == &sink_heatmap;
	return command == COMMAND_CONVERT || ops != &sink_tach;
}

static const char *format_name(const void *ctx, size_t i)
{
	const struct sink_ops *ops = sink_at(i);

	return ops ? ops->name : NULL;
}

int opt_format(void *target, const struct cli_option *opt, const char *value)
{
	const struct sink_ops **format = place(target, opt);
	struct options *o = target;
	const char *near;
	char remedy[128];

	if (!strcmp(value, "help")) {
		o->show = SHOW_FORMATS;
		return 0;
	}
	*format = sink_find(value);
	if (*format && options_takes_format(o->command, *format))
		return 0;
	if (o->command == COMMAND_OPEN)
		return bad_value(opt, value, "flamegraph or heatmap; replay writes others");
	near = cli_nearest(value, strlen(value), format_name, NULL);
	if (near && o->command != COMMAND_DIFF &&
	    options_takes_format(o->command, sink_find(near))) {
		snprintf(remedy, sizeof(remedy), "did you mean %s? See: tachbpf %s --format help",
			 near, o->command == COMMAND_REPLAY ? "replay" : "convert");
		return bad_value(opt, value, remedy);
	}
	return bad_value(opt, value, o->command == COMMAND_REPLAY ?
			 "see: tachbpf replay --format help" :
			 o->command == COMMAND_DIFF ? "flamegraph is the only one, beside a table" :
			 "see: tachbpf convert --format help");
}

int opt_input_format(void *target, const struct cli_option *opt, const char *value)
{
	struct options *o = target;

	if (!strcmp(value, "help")) {
		o->show = SHOW_INPUTS;
		return 0;
	}
	if (!reader_find(value))
		return bad_value(opt, value, "see: tachbpf info --input-format help");
	o->input.reader.format = value;
	return 0;
}

int opt_quiet(void *target, const struct cli_option *opt, const char *value)
{
	((struct options *)target)->verbose = LOG_QUIET;
	return 0;
}

int opt_verbose(void *target, const struct cli_option *opt, const char *value)
{
	struct options *o = target;

	o->verbose = o->verbose < LOG_VERBOSE ? LOG_VERBOSE : LOG_DEBUG;
	return 0;
}

int opt_show(void *target, const struct cli_option *opt, const char *value)
{
	((struct options *)target)->show = *(const enum options_show *)opt->data;
	return 0;
}

int opt_value(void *target, const struct cli_option *opt, const char *value)
{
	const struct choice *c = opt->data;

	memcpy(place(target, opt), &c->value, sizeof(c->value));
	return 0;
}

int opt_record_word(void *target, char *word)
{
	char shown[CLI_TEXT_MAX];

	escape_text(word, strlen(word), shown, sizeof(shown));
	log_error("unknown command '%s'; to start and record a program: tachbpf -- %s ...", shown,
		  shown);
	return -EINVAL;
}

int opt_record_rest(void *target, char **words)
{
	struct options *o = target;

	if (!*words || !**words) {
		log_error("no command after --: write, for example, tachbpf -- python3 app.py");
		return -EINVAL;
	}
	o->record.command = words;
	return 0;
}

int opt_files_word(void *target, char *word)
{
	struct input_options *f = &((struct options *)target)->input;
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

int opt_no_word(void *target, char *word)
{
	char shown[CLI_TEXT_MAX];

	escape_text(word, strlen(word), shown, sizeof(shown));
	log_error("'%s' is too much: this command takes options only", shown);
	return -EINVAL;
}

const char *const options_shells[SHELL_CNT] = {
	[SHELL_BASH] = "bash", [SHELL_ZSH] = "zsh", [SHELL_FISH] = "fish",
};

int opt_shell_word(void *target, char *word)
{
	struct completion_options *o = &((struct options *)target)->completion;
	char shown[CLI_TEXT_MAX];
	size_t i;

	for (i = SHELL_BASH; i < SHELL_CNT; i++) {
		if (!strcmp(word, options_shells[i])) {
			o->shell = i;
			return 0;
		}
	}
	escape_text(word, strlen(word), shown, sizeof(shown));
	log_error("'%s' is no shell that can be completed: give bash, zsh or fish", shown);
	return -EINVAL;
}
