// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * option_words.c - see option_words.h. The setter of an option tells what kind it is.
 */
#include "commands/option_words.h"

#include <string.h>

#include "commands/options_flight.h"
#include "commands/options_set.h"
#include "formats/readers.h"
#include "formats/sinks.h"
#include "resolve/record_mode.h"

static const char *const statuses[] = {
	"gil", "on-cpu", "unknown", "gil-requested", "exception", "main", NULL
};

void option_words(enum command_id command, const struct cli_option *opt,
		  void (*each)(void *ctx, const char *word), void *ctx)
{
	const struct choice *choice;
	size_t i;

	if (opt->set == opt_choice || opt->set == opt_bool) {
		for (choice = opt->data; choice->name; choice++)
			each(ctx, choice->name);
	} else if (opt->set == opt_mode) {
		for (i = 0; i < RECORD_MODE_CNT; i++)
			each(ctx, record_modes[i].name);
	} else if (opt->set == opt_native) {
		for (i = 0; options_native[i]; i++)
			each(ctx, options_native[i]);
	} else if (opt->set == opt_signal) {
		for (i = 0; options_signals[i]; i++)
			each(ctx, options_signals[i]);
	} else if (opt->set == opt_status) {
		for (i = 0; statuses[i]; i++)
			each(ctx, statuses[i]);
	} else if (opt->set == opt_input_format) {
		for (i = 0; reader_at(i); i++)
			each(ctx, reader_at(i)->name);
	} else if (opt->set == opt_format) {
		for (i = 0; sink_at(i); i++)
			if (options_takes_format(command, sink_at(i)))
				each(ctx, sink_at(i)->name);
	}
}

bool option_takes_path(const struct cli_option *opt)
{
	static const char *const paths[] = { "PATH", "FILE", "DIR", NULL };
	size_t i;

	for (i = 0; opt->arg && paths[i]; i++)
		if (!strcmp(opt->arg, paths[i]) && opt->set == opt_text)
			return true;
	return false;
}
