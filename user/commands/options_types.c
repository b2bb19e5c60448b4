// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* options_types.c - see options_tables.h. */
#include "commands/options_tables.h"

#include <ctype.h>
#include <errno.h>
#include <regex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "analysis/memory_series.h"
#include "base/cli.h"
#include "base/util.h"
#include "formats/formats.h"
#include "formats/readers.h"
#include "formats/sinks.h"
#include "model/profile_names.h"
#include "target/script.h"

#define PID_MAX 4194304		/* PID_MAX_LIMIT, include/linux/threads.h */
#define INTERVALS_MAX 1000	/* of --leaks */

/* A list with room for one more. NULL: no memory. */
static void *one_more(void *list, size_t cnt, size_t elem_bytes)
{
	return reallocarray(list, cnt + 1, elem_bytes);
}

/* Set the field as another type does. */
static int set_as(const struct setting_type *type, const struct setting *s, void *field,
		  const char *text, struct setting_why *why)
{
	struct setting other = *s;

	other.type = type;
	return type->set(&other, field, text, why);
}

/* ---- processes ---- */

static int add_pid(struct select_options *select, pid_t pid)
{
	pid_t *pids;
	size_t i;

	for (i = 0; i < select->pid_cnt; i++)
		if (select->pids[i] == pid)
			return 0;
	pids = one_more(select->pids, select->pid_cnt, sizeof(*pids));
	if (!pids)
		return -ENOMEM;
	select->pids = pids;
	select->pids[select->pid_cnt++] = pid;
	return 0;
}

static int set_pids(const struct setting *s, void *field, const char *text, struct setting_why *why)
{
	char *end;
	long pid;
	int err;

	for (;; text = end + 1) {
		errno = 0;
		pid = strtol(text, &end, 10);
		if (!isdigit((unsigned char)*text) || errno || pid < 1 || pid > PID_MAX ||
		    (*end && *end != ','))
			return setting_why(why, "expected process IDs, such as 1234 or 1234,5678");
		err = add_pid(field, (pid_t)pid);
		if (err || !*end)
			return err;
	}
}

const struct setting_type type_pids = { .arg = "PID[,PID...]", .set = set_pids };

/* ---- files and formats ---- */

bool options_takes_format(enum command_id command, const struct sink_ops *ops)
{
	if (command == COMMAND_OPEN)
		return ops == &sink_flamegraph || ops == &sink_heatmap;
	return true;
}

static const char *format_name(const void *ctx, size_t i)
{
	const struct sink_ops *ops = sink_at(i);

	return ops ? ops->name : NULL;
}

/* The i-th of those that the option's command takes. */
static const char *format_word(const struct setting *s, size_t i)
{
	const enum command_id *command = s->data;
	const struct sink_ops *ops;
	size_t at;

	for (at = 0; (ops = sink_at(at)); at++)
		if (options_takes_format(*command, ops) && !i--)
			return ops->name;
	return NULL;
}

static int unknown_format(const struct setting *s, const char *text, struct setting_why *why)
{
	const enum command_id *command = s->data;
	const char *near = cli_nearest(text, strlen(text), format_name, NULL);

	if (*command == COMMAND_OPEN)
		return setting_why(why, "expected flamegraph or heatmap; tachbpf convert "
					"writes other formats");
	if (near && options_takes_format(*command, sink_find(near)))
		return setting_why(why, "did you mean %s? See: tachbpf convert --format help",
				   near);
	return setting_why(why, "see: tachbpf convert --format help");
}

static int set_format(const struct setting *s, void *field, const char *text,
		      struct setting_why *why)
{
	struct options *o = field;
	const struct sink_ops **format = &o->convert.export.format;

	if (!strcmp(text, "help")) {
		o->show = SHOW_FORMATS;
		return 0;
	}
	*format = sink_find(text);
	if (*format && options_takes_format(o->command, *format))
		return 0;
	return unknown_format(s, text, why);
}

static const char *reader_word(const struct setting *s, size_t i)
{
	const struct reader_ops *ops = reader_at(i);

	return ops ? ops->name : NULL;
}

static int set_input_format(const struct setting *s, void *field, const char *text,
			    struct setting_why *why)
{
	struct options *o = field;

	if (!strcmp(text, "help")) {
		o->show = SHOW_INPUTS;
		return 0;
	}
	if (!reader_find(text))
		return setting_why(why, "see: tachbpf info --input-format help");
	o->input.reader.format = text;
	return 0;
}

/* One of the words, or else the name of a sample type, which only an open file can check. */
static int set_value(const struct setting *s, void *field, const char *text,
		     struct setting_why *why)
{
	struct reader_args *args = field;
	const struct setting_word *word = s->words;

	if (!*text)
		return setting_why(why, "expected live, allocated, peak, samples or a sample "
				   "type");
	while (word->name && strcmp(word->name, text))
		word++;
	args->value = word->name ? (enum reader_value)word->value : VALUE_DEFAULT;
	args->type = word->name ? NULL : text;
	return 0;
}

const struct setting_type type_value = {
	.arg = "VALUE", .set = set_value, .allowed = setting_list_words,
};
const struct setting_type type_input_format = {
	.arg = "FORMAT", .set = set_input_format, .word = reader_word,
};
const struct setting_type type_format = {
	.arg = "FORMAT", .set = set_format, .word = format_word,
};

/* ---- the conditions of sample_filter.h ---- */

static int set_thread(const struct setting *s, void *field, const char *text,
		      struct setting_why *why)
{
	struct sample_filter_options *f = field;
	unsigned long long id;
	uint64_t *ids;
	char *end;

	errno = 0;
	id = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end || errno)
		return setting_why(why, "expected a thread ID, as shown by report --by thread");
	ids = one_more(f->threads, f->thread_cnt, sizeof(*ids));
	if (!ids)
		return -ENOMEM;
	f->threads = ids;
	f->threads[f->thread_cnt++] = id;
	return 0;
}

/* Adds a text to a list of cnt. 0 or -ENOMEM. */
static int add_text(const char ***list, size_t *cnt, const char *text)
{
	const char **longer = one_more(*list, *cnt, sizeof(*longer));

	if (!longer)
		return -ENOMEM;
	*list = longer;
	longer[(*cnt)++] = text;
	return 0;
}

static int set_process(const struct setting *s, void *field, const char *text,
		       struct setting_why *why)
{
	struct sample_filter_options *f = field;

	if (!*text)
		return setting_why(why, "expected a process ID, or a name such as 'gunicorn*'");
	return add_text(&f->processes, &f->process_cnt, text);
}

static int set_service(const struct setting *s, void *field, const char *text,
		       struct setting_why *why)
{
	struct sample_filter_options *f = field;

	if (!*text)
		return setting_why(why, "expected a service's name, such as 'checkout' or "
				   "'checkout 1.2'");
	return add_text(&f->services, &f->service_cnt, text);
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

static int set_status(const struct setting *s, void *field, const char *text,
		      struct setting_why *why)
{
	struct sample_filter_options *f = field;
	uint8_t bit;
	size_t len;
	bool not;

	for (;; text += len + 1) {
		len = strcspn(text, ",");
		if (!status_word(text, len, &bit, &not))
			return setting_why(why, "expected gil, on-cpu, unknown, gil-requested, "
					   "exception or main, separated by commas, each "
					   "optionally with ! or no- before it");
		if (not)
			f->status_clear |= bit;
		else
			f->status_set |= bit;
		if (!text[len])
			break;
	}
	if (f->status_set & f->status_clear)
		return setting_why(why, "one status is both required and excluded");
	return 0;
}

static int set_moment(const struct setting *s, void *field, const char *text,
		      struct setting_why *why)
{
	struct sample_filter_time *t = field;
	double ns;

	t->absolute = *text == '@';
	/* Doubles are exact to the microsecond up to 2^53 us, which are 285 years. */
	if (quantity_parse(text + t->absolute, setting_times, &ns) || ns / 1e3 > 0x1p53)
		return setting_why(why, "expected a time since the profile's start, such as 1.5, "
				   "500ms or 2m, or @SECONDS of the clock");
	t->us = (uint64_t)(ns / 1e3 + 0.5);
	t->given = true;
	return 0;
}

static int set_regex(const struct setting *s, void *field, const char *text,
		     struct setting_why *why)
{
	regex_t **re = field;
	char what[CLI_TEXT_MAX];
	int err;

	if (*re)
		return setting_why(why, "it can only be used once: combine expressions with |");
	*re = calloc(1, sizeof(**re));
	if (!*re)
		return -ENOMEM;
	err = regcomp(*re, text, REG_EXTENDED);
	if (!err)
		return 0;
	regerror(err, *re, what, sizeof(what));
	free(*re);
	*re = NULL;
	return setting_why(why, "%s", what);
}

/* --leaks alone, or with a number of intervals. */
static int set_leaks(const struct setting *s, void *field, const char *text,
		     struct setting_why *why)
{
	struct mem_options *mem = field;
	uint64_t cnt;

	mem->leaks = true;
	if (!text)
		return 0;
	if (!parse_decimal(text, strlen(text), &cnt) || cnt < MEMORY_INTERVALS_MIN ||
	    cnt > INTERVALS_MAX)
		return setting_why(why, "expected a number of intervals, from 3 to 1000");
	mem->intervals = (uint32_t)cnt;
	return 0;
}

/* A name, or "" if the option is given without one. */
static int set_name_if_any(const struct setting *s, void *field, const char *text,
			   struct setting_why *why)
{
	*(const char **)field = text ? text : "";
	return 0;
}

const struct setting_type type_thread = { .arg = "ID", .set = set_thread };
const struct setting_type type_process = { .arg = "PID|NAME", .set = set_process };
const struct setting_type type_service = { .arg = "NAME", .set = set_service };
const struct setting_type type_status = { .arg = "WORD[,WORD...]", .set = set_status };
const struct setting_type type_moment = { .arg = "TIME", .set = set_moment };
const struct setting_type type_regex = { .arg = "REGEX", .set = set_regex };
const struct setting_type type_name_if_any = { .set = set_name_if_any };
const struct setting_type type_leaks = { .set = set_leaks };

/* ---- how to record ---- */

/* --native alone, or with one or more of the words, separated by commas. */
static int set_native(const struct setting *s, void *field, const char *text,
		      struct setting_why *why)
{
	*(uint32_t *)field |= NATIVE_ON;
	return text ? set_as(&setting_choices, s, field, text, why) : 0;
}

/* --debuginfod alone (""), or with URLs. */
static int set_debuginfod(const struct setting *s, void *field, const char *text,
			  struct setting_why *why)
{
	const char *at = text ? text : "";

	*(const char **)field = at;
	for (; *at; at += strcspn(at, " "), at += strspn(at, " "))
		if (strncmp(at, "http://", 7) && strncmp(at, "https://", 8))
			return setting_why(why, "expected URLs with http:// or https://, "
						"separated by spaces");
	return 0;
}

static int set_event(const struct setting *s, void *field, const char *text,
		     struct setting_why *why)
{
	struct record_options *r = field;

	r->event.kind = EVENT_NONE;
	if (!strcmp(text, "cycles") || !strcmp(text, "cpu-cycles"))
		r->capture.event = SAMPLER_CYCLES;
	else if (!strcmp(text, "cpu-clock"))
		r->capture.event = SAMPLER_CLOCK;
	else
		return event_spec_parse(text, &r->event, why->text, sizeof(why->text));
	return 0;
}

static int set_page_size(const struct setting *s, void *field, const char *text,
			 struct setting_why *why)
{
	long page = sysconf(_SC_PAGESIZE);
	struct setting pages = *s;
	char wanted[80];

	snprintf(wanted, sizeof(wanted), "expected one page (%ld, every fault) to "
					 "1G, such as 64K", page);
	pages.min = (double)page;
	pages.wanted = wanted;
	return set_as(&setting_size, &pages, field, text, why);
}

/* --allocations alone, or with the size of the smallest block. */
static int set_allocations(const struct setting *s, void *field, const char *text,
			   struct setting_why *why)
{
	struct capture_args *args = field;

	args->allocations = true;
	args->min_block_bytes = MEMORY_MIN_BLOCK_BYTES;
	return text ? set_as(&setting_size, s, &args->min_block_bytes, text, why) : 0;
}

static int set_when(const struct setting *s, void *field, const char *text, struct setting_why *why)
{
	struct when_list *l = field;
	char where[CLI_TEXT_MAX];
	const char *what, *rest;
	size_t at;

	if (l->cnt == WHEN_MAX)
		return setting_why(why, "at most 8 conditions are allowed");
	if (!when_parse(text, &l->list[l->cnt], &at, &what)) {
		l->cnt++;
		return 0;
	}
	rest = text + at;
	if (!*rest)
		return setting_why(why, "at its end: %s", what);
	return setting_why(why, "at '%s': %s",
			   escape_text(rest, strlen(rest), where, sizeof(where)), what);
}

/* A word, perhaps with SIG before it, or its number. */
static int set_signal(const struct setting *s, void *field, const char *text,
		      struct setting_why *why)
{
	const char *name = strncasecmp(text, "SIG", 3) ? text : text + 3;
	const struct setting_word *word;
	char number[16];

	for (word = s->words; word->name; word++) {
		snprintf(number, sizeof(number), "%d", word->value);
		if (strcasecmp(name, word->name) && strcmp(text, number))
			continue;
		*(int *)field = word->value;
		return 0;
	}
	return setting_why(why, "expected USR1 or USR2: other signals end tachbpf");
}

static int set_verbose(const struct setting *s, void *field, const char *text,
		       struct setting_why *why)
{
	int *verbose = field;

	*verbose = *verbose < LOG_VERBOSE ? LOG_VERBOSE : LOG_DEBUG;
	return 0;
}

const struct setting_type type_native = { .set = set_native };
const struct setting_type type_debuginfod = { .set = set_debuginfod };
const struct setting_type type_event = { .arg = "EVENT", .set = set_event };
const struct setting_type type_page_size = { .arg = "BYTES", .set = set_page_size };
const struct setting_type type_allocations = { .set = set_allocations };
const struct setting_type type_when = { .arg = "CONDITION", .set = set_when };
const struct setting_type type_signal = { .arg = "SIGNAL", .set = set_signal };
const struct setting_type type_verbose = { .set = set_verbose };

/* ---- words that are no options ---- */

int options_pid_word(void *target, char *word)
{
	static const struct setting pid = { .name = "pid", .type = &type_pids,
					    .off = offsetof(struct options, select) };

	return cli_set(target, &pid, word);
}

int options_run_word(void *target, char *word)
{
	((struct options *)target)->record.script = script_is_python(word);
	return CLI_REST;
}

/* Puts the interpreter of a script before it. 0, or -errno after logging. */
static int add_interpreter(struct record_options *r)
{
	char shown[CLI_TEXT_MAX];
	int err;

	r->script_command = script_command(r->command);
	err = r->script_command ? 0 : -errno;
	if (!err)
		r->command = r->script_command;
	else if (err == -ENOENT)
		log_error("no python3 in PATH to run '%s': name it: tachbpf -- /PATH/TO/python3 "
			  "%s ...", escape_text(r->command[0], strlen(r->command[0]), shown,
						sizeof(shown)), shown);
	else
		log_error("out of memory");
	return err;
}

int options_record_rest(void *target, char **words)
{
	struct options *o = target;

	if (!*words || !**words) {
		log_error("no command after --: use, for example, tachbpf -- python3 app.py");
		return -EINVAL;
	}
	o->record.command = words;
	return o->record.script ? add_interpreter(&o->record) : 0;
}

int options_file_word(void *target, char *word)
{
	struct input_options *f = &((struct options *)target)->input;
	char **paths;

	if (!*word) {
		log_error("empty file name: expected a .tach file or a recording's directory");
		return -EINVAL;
	}
	paths = one_more(f->paths, f->path_cnt, sizeof(*paths));
	if (!paths) {
		log_error("out of memory");
		return -ENOMEM;
	}
	f->paths = paths;
	f->paths[f->path_cnt++] = word;
	return 0;
}

int options_no_word(void *target, char *word)
{
	char shown[CLI_TEXT_MAX];

	escape_text(word, strlen(word), shown, sizeof(shown));
	log_error("unexpected argument '%s': this command takes only options", shown);
	return -EINVAL;
}

const char *const options_shells[SHELL_CNT] = {
	[SHELL_BASH] = "bash", [SHELL_ZSH] = "zsh", [SHELL_FISH] = "fish",
};

int options_shell_word(void *target, char *word)
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
	log_error("unsupported shell '%s' (bash, zsh, fish)", shown);
	return -EINVAL;
}
