// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* report_show.c - see report_show.h. */
#include "commands/report_show.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/cli.h"
#include "base/colour.h"
#include "base/text.h"
#include "base/util.h"
#include "commands/show.h"
#include "model/profile_names.h"

/* Printed below a table of Python functions, if the profile has others. */
#define NATIVE_FOOT                                                                                \
	"Self includes the machine code that a Python function called; --native lists it."
#define MINE_FOOT                                                                                  \
	"Only project code has rows: self includes what it called in the standard library, in "    \
	"packages and in machine code."

/* ---- JSON ---- */

void report_json_head(struct json *j, const struct report_read *read)
{
	size_t i;

	json_array(j, "paths");
	for (i = 0; i < read->profile_cnt; i++)
		json_string(j, NULL, read->profiles[i]->path);
	json_array_end(j);
	json_string(j, "unit", profile_unit_name(read->unit));
	json_uint(j, "samples", report_sample_cnt(read->report));
	json_double(j, "duration_s", read->timed ? read->longest_s : NAN);
	json_string(j, "mode", read->modes_differ ? "mixed" : profile_mode_name(read->mode));
	if (read->event && !read->modes_differ)
		json_string(j, "event", read->event);
}

void report_json_foot(struct json *j, const struct report_options *opts,
		      const struct report_read *read, uint64_t outside)
{
	if (opts->mine || opts->annotate)
		json_uint(j, "outside", outside);
	losses_json_foot(j, read->profiles, read->profile_cnt);
}

/* ---- text ---- */

/* What the profiles are of, as far as is known. */
static const char *profiles_word(const struct report_read *read)
{
	size_t i = 0;

	while (i < read->profile_cnt && !read->profiles[i]->process.tgid)
		i++;
	return i < read->profile_cnt ? text_plural(read->profile_cnt, "process", "processes") :
				       text_plural(read->profile_cnt, "profile", "profiles");
}

struct head {
	const struct report_options *opts;
	const struct report_read *read;
};

static void put_header(const void *ctx, FILE *out)
{
	const struct head *head = ctx;
	const struct report_options *opts = head->opts;
	const struct report_read *read = head->read;
	char *shown = text_escape(opts->input.paths[0], strlen(opts->input.paths[0]));
	uint64_t total = report_sample_cnt(read->report);
	bool one = read->profile_cnt == 1;
	const char *event = read->event;
	char mode[CLI_TEXT_MAX + 16], name[CLI_TEXT_MAX], amount[SHOW_AMOUNT_BYTES];

	if (event)
		snprintf(mode, sizeof(mode), "event %s",
			 escape_text(event, strlen(event), name, sizeof(name)));
	else
		snprintf(mode, sizeof(mode), "%s mode", profile_mode_name(read->mode));
	if (opts->input.path_cnt == 1 && shown)
		fprintf(out, "%s", shown);
	if (opts->input.path_cnt == 1 && read->set.many)
		fprintf(out, ", ");
	if (opts->input.path_cnt > 1 || read->set.many)
		fprintf(out, "%zu %s", read->profile_cnt, profiles_word(read));
	fprintf(out, ": %s", show_total(total, read->unit, amount));
	if (read->timed)
		fprintf(out, ", %s%.2f s", one ? "" : "up to ", read->longest_s);
	if (read->mode != MODE_UNKNOWN || event || read->modes_differ)
		fprintf(out, ", %s", read->modes_differ ? "several modes" : mode);
	free(shown);
}

int report_print_head(const struct report_options *opts, const struct report_read *read)
{
	struct head head = { opts, read };

	return text_wrap_written(stdout, put_header, &head, text_terminal_width(stdout));
}

/* As in perf's report: from 5 % on, from 0.5 % on. */
static enum colour colour_of(double share)
{
	return share >= 5 ? COLOUR_RED : share >= 0.5 ? COLOUR_GREEN : COLOUR_NONE;
}

void report_print_share(double share, int width)
{
	enum colour colour = colour_of(share);

	printf("%s%*.2f%s", colour_on(stdout, colour), width, share,
	       colour == COLOUR_NONE ? "" : colour_off(stdout));
}

void report_print_foot(const struct report_options *opts, const struct report_read *read,
		       uint64_t outside)
{
	double share = percent(outside, report_sample_cnt(read->report));
	size_t width = text_terminal_width(stdout);

	if (opts->mine || report_hides_native(read->report)) {
		printf("\n");
		text_wrap(stdout, opts->mine ? MINE_FOOT : NATIVE_FOOT, 0, width);
	}
	if (outside && (opts->mine || opts->annotate))
		printf("\n%.2f %% of the %s have no %s.\n", share,
		       profile_unit_name(read->unit),
		       opts->mine ? "project code on their stack" : "line of Python code");
	losses_print_foot(read->profiles, read->profile_cnt, opts->limit,
			  opts->by == REPORT_BY_THREAD);
}
