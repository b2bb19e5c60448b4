// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cmd_ps.c - `tachbpf ps`: the Python processes on this host, as a table or as JSON.
 */
#include "commands/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/colour.h"
#include "base/json.h"
#include "base/output.h"
#include "base/text.h"
#include "base/util.h"
#include "commands/command_process.h"
#include "commands/options.h"
#include "doctor/precheck.h"
#include "doctor/worker_calls.h"
#include "host/identity.h"
#include "host/privileges.h"
#include "host/users.h"
#include "memory/reader.h"
#include "target/inspector.h"
#include "target/proc_filter_eval.h"
#include "target/pythons.h"
#include "telemetry/command_label.h"
#include "worker/worker.h"

#define BUILD_BYTES 96
#define UNKNOWN "-"

struct listing {
	struct python *list;
	size_t cnt, cap;
};

/* Returns what people recognise a process by; out: its room. */
static const char *label_of(const struct python *p, char out[COMMAND_LABEL_BYTES])
{
	const char *command = *p->command ? p->command : p->comm;

	return command_label(command, strlen(command), 0, out);
}

static int keep_python(void *ctx, const struct python *p)
{
	struct listing *l = ctx;

	return array_add(l->list, l->cnt, l->cap, *p);
}

/* ---- JSON ---- */

static void json_python(struct json *j, const struct python *p)
{
	char label[COMMAND_LABEL_BYTES];
	const char *word;
	uint32_t bit;
	size_t i;

	json_object(j, NULL);
	json_uint(j, "pid", p->tgid);
	identity_json(j, &p->identity, p->tgid);
	container_json(j, p->identity.container);
	json_string(j, "version", *p->version ? p->version : NULL);
	json_array(j, "build");
	for (i = 0; (word = python_build_word(i, &bit)); i++)
		if (p->build & bit)
			json_string(j, NULL, word);
	json_array_end(j);
	json_uint(j, "threads", p->threads);
	json_double(j, "cpu_percent", p->cpu_pct);
	json_string(j, "comm", p->comm);
	json_string(j, "command", p->command);
	json_string(j, "program", label_of(p, label));
	json_bool(j, "profilable", p->profilable);
	json_string(j, "reason", *p->why ? p->why : NULL);
	json_string(j, "remark", *p->remark ? p->remark : NULL);
	json_string(j, "held", *p->held ? p->held : NULL);
	json_object_end(j);
}

static void print_json(const struct listing *l, const struct pythons_counts *counts)
{
	struct json j;
	size_t i;

	json_start(&j, stdout, true);
	json_object(&j, NULL);
	json_uint(&j, "processes", counts->processes);
	json_uint(&j, "unreadable", counts->unreadable);
	json_array(&j, "pythons");
	for (i = 0; i < l->cnt; i++)
		json_python(&j, &l->list[i]);
	json_array_end(&j);
	json_object_end(&j);
	putchar('\n');
}

/* ---- the table ---- */

enum column { PID, NS_PID, USER, CONTAINER, VERSION, BUILD, THREADS, CPU, COMMAND, COLUMNS };

/* Columns are as wide as their texts, at most `most`; 0: as wide as the terminal allows. */
static const struct {
	const char *heading;
	size_t most;
	bool right;
} columns[COLUMNS] = {
	[PID] = { "pid", 10, true }, [NS_PID] = { "inside", 10, true },
	[USER] = { "user", 12, false }, [CONTAINER] = { "container", 32, false },
	[VERSION] = { "python", 10, false },
	[BUILD] = { "build", 28, false }, [THREADS] = { "threads", 7, true },
	[CPU] = { "cpu %", 7, true }, [COMMAND] = { "command", 0, false },
};

static char *user_name(uint32_t uid)
{
	struct passwd *pw = uid == IDENTITY_NO_UID ? NULL : user_by_uid(uid);
	char *out = NULL;

	if (uid == IDENTITY_NO_UID)
		return strdup(UNKNOWN);
	if (pw)
		return text_escape(pw->pw_name, strlen(pw->pw_name));
	return asprintf(&out, "%u", uid) < 0 ? NULL : out;
}

static char *build_text(uint32_t build)
{
	char text[BUILD_BYTES] = "";
	const char *word;
	uint32_t bit;
	size_t i;

	for (i = 0; (word = python_build_word(i, &bit)); i++)
		if (build & bit)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
				 *text ? "," : "", word);
	return strdup(*text ? text : UNKNOWN);
}

static char *container_text(const struct container *c)
{
	char label[CONTAINER_LABEL_BYTES];

	return strdup(c && container_is(c) ? container_label(c, label) : UNKNOWN);
}

static char *number_text(const char *format, double value)
{
	char text[32];

	snprintf(text, sizeof(text), format, value);
	return strdup(text);
}

/* Returns false if there is no memory. */
static bool fill_row(const struct python *p, char *row[COLUMNS])
{
	char label[COMMAND_LABEL_BYTES];
	pid_t inside = p->identity.ns_tgid;
	int i;

	row[PID] = number_text("%.0f", p->tgid);
	row[NS_PID] = inside ? number_text("%.0f", inside) : strdup(UNKNOWN);
	row[USER] = user_name(p->identity.uid);
	row[CONTAINER] = container_text(p->identity.container);
	row[VERSION] = strdup(*p->version ? p->version : "?");
	row[BUILD] = build_text(p->build);
	row[THREADS] = number_text("%.0f", p->threads);
	row[CPU] = number_text("%.1f", p->cpu_pct);
	row[COMMAND] = strdup(label_of(p, label));
	for (i = 0; i < COLUMNS; i++)
		if (!row[i])
			return false;
	return true;
}

static void print_row(const struct text_column table[COLUMNS], const bool shown[COLUMNS],
		      char *const row[COLUMNS])
{
	int c;

	for (c = 0; c < COLUMNS; c++)
		if (shown[c])
			text_cell(stdout, &table[c], row[c], c != COMMAND);
	printf("\n");
}

/* Returns the width that a column needs, with the gap after it; the command's is not limited. */
static size_t column_width(enum column c, char *(*rows)[COLUMNS], size_t cnt)
{
	size_t width = strlen(columns[c].heading), i;

	for (i = 0; i < cnt; i++)
		width = text_widest(width, rows[i][c]);
	return width < columns[c].most ? width : columns[c].most;
}

static bool says_nothing(enum column c, char *(*rows)[COLUMNS], size_t cnt)
{
	size_t i;

	for (i = 0; i < cnt; i++)
		if (strcmp(rows[i][c], UNKNOWN) != 0)
			return false;
	return true;
}

/*
 * The command is the most useful column. Until it fits on the terminal, other columns are left out:
 * first those without any values, then the least needed ones. Returns the command's width.
 */
static size_t make_room(struct text_column table[COLUMNS], char *(*rows)[COLUMNS], size_t cnt,
			size_t terminal, bool shown[COLUMNS])
{
	static const enum column order[] = { NS_PID, BUILD, CONTAINER, USER, NS_PID, BUILD, THREADS,
					     USER, CONTAINER, VERSION, CPU };
	size_t wanted = 0, used = 0, i;
	int c;

	for (i = 0; i < cnt; i++)
		wanted = text_widest(wanted, rows[i][COMMAND]);
	if (wanted > terminal / 2)
		wanted = terminal / 2;
	for (c = 0; c < COMMAND; c++)
		used += table[c].width + 2;
	for (i = 0; i < ARRAY_SIZE(order) && used + wanted > terminal; i++) {
		enum column next = order[i];

		if (!shown[next] || (i < 4 && !says_nothing(next, rows, cnt)))
			continue;
		shown[next] = false;
		used -= table[next].width + 2;
	}
	return terminal - used;
}

static void print_rows(char *(*rows)[COLUMNS], size_t cnt)
{
	size_t terminal = text_terminal_width(stdout), i;
	struct text_column table[COLUMNS];
	char *headings[COLUMNS];
	bool shown[COLUMNS];
	int c;

	for (c = 0; c < COLUMNS; c++) {
		headings[c] = (char *)columns[c].heading;
		shown[c] = true;
		table[c] = (struct text_column){ .width = column_width(c, rows, cnt),
						 .cut = CUT_RIGHT, .right = columns[c].right };
	}
	if (terminal)
		table[COMMAND].width = make_room(table, rows, cnt, terminal, shown);
	printf("%s", colour_on(stdout, COLOUR_BOLD));
	print_row(table, shown, headings);
	printf("%s", colour_off(stdout));
	for (i = 0; i < cnt; i++)
		print_row(table, shown, rows[i]);
}

/* Prints what stops processes, why they cannot be profiled, and other remarks. */
static void print_remarks(const struct listing *l, const struct pythons_counts *counts)
{
	char shown[4 * DISCOVERY_WHY_MAX], line[sizeof(shown) + 64];
	size_t i;

	for (i = 0; i < l->cnt; i++) {
		const struct python *p = &l->list[i];
		const char *text = p->profilable ? p->remark : p->why;

		if (*p->held)
			printf("%d: %s\n", p->tgid, p->held);
		if (!*text)
			continue;
		snprintf(line, sizeof(line), "%d%s: %s", p->tgid,
			 p->profilable ? "" : " cannot be profiled",
			 escape_text(text, strlen(text), shown, sizeof(shown)));
		text_wrap(stdout, line, 0, text_terminal_width(stdout));
	}
	if (counts->unreadable)
		printf("%u %s could not be inspected%s%s\n", counts->unreadable,
		       text_plural(counts->unreadable, "process", "processes"),
		       geteuid() ? ": run as root" : "",
		       log_get_level() < LOG_VERBOSE ? " (-v names them)" : "");
}

static int print_table(const struct listing *l, const struct pythons_counts *counts)
{
	char *(*rows)[COLUMNS] = calloc(l->cnt + 1, sizeof(*rows));
	int err = rows ? 0 : -ENOMEM, c;
	size_t i;

	for (i = 0; !err && i < l->cnt; i++)
		err = fill_row(&l->list[i], rows[i]) ? 0 : -ENOMEM;
	if (!err && l->cnt)
		print_rows(rows, l->cnt);
	else if (!err && !counts->processes)
		printf("no process matches the filters\n");
	else if (!err)
		printf("no Python process among %u %s\n", counts->processes,
		       text_plural(counts->processes, "process", "processes"));
	if (!err)
		print_remarks(l, counts);
	for (i = 0; rows && i < l->cnt; i++)
		for (c = 0; c < COLUMNS; c++)
			free(rows[i][c]);
	free(rows);
	return err;
}

/* Sets *filter_eval to the evaluator of the conditions, if there are any. 0 or -errno. */
static int open_filter(struct proc_filter *s, struct proc_filter_eval **filter_eval)
{
	if (!s->cnt && s->min_age_s <= 0)
		return 0;
	*filter_eval = proc_filter_eval_new(s);
	return *filter_eval ? 0 : -errno;
}

int ps_run(const struct ps_options *opts)
{
	struct proc_filter conditions = opts->select.proc_filter;
	struct identities *ids = identities_new(inspector_names);
	struct proc_filter_eval *filter_eval = NULL;
	struct pythons_counts counts;
	struct listing l = { 0 };
	int err = ids ? 0 : -ENOMEM;

	if (precheck_proc() || worker_calls_check()) {
		identities_free(ids);
		return EXIT_FAILURE;
	}
	if (!command_workers_start(0)) {
		if (privileges_drop_all())
			log_debug("privileges are kept");
		reader_reads_proc();
	}
	if (!err)
		err = open_filter(&conditions, &filter_eval);
	if (!err)
		err = pythons_each(ids, filter_eval, &counts, keep_python, &l);
	if (!err && opts->json)
		print_json(&l, &counts);
	else if (!err)
		err = print_table(&l, &counts);
	if (err)
		log_error("cannot list processes: %s", strerror(-err));
	else
		err = output_flush_stdout();
	free(l.list);
	proc_filter_eval_free(filter_eval);
	identities_free(ids);
	keeper_end();
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
