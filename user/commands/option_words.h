/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * option_words.h - which words an option of the tables takes, for the completion of shells.
 */
#ifndef TACHBPF_OPTION_WORDS_H
#define TACHBPF_OPTION_WORDS_H

#include <stddef.h>

#include "base/cli.h"
#include "commands/options.h"

/* Call each(ctx, word) for every word that the option of this command takes, if these are few. */
void option_words(enum command_id command, const struct cli_option *opt,
		  void (*each)(void *ctx, const char *word), void *ctx);

/* Returns true if the option's value is the path of a file or directory. */
bool option_takes_path(const struct cli_option *opt);

#endif
