/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* options_flight.h - record's options of a flight recorder: --keep, --when, --signal, --triggers. */
#ifndef TACHBPF_OPTIONS_FLIGHT_H
#define TACHBPF_OPTIONS_FLIGHT_H

#include "base/cli.h"
#include "commands/options.h"

/* Setters as in options_set.h. */
int opt_keep(void *target, const struct cli_option *opt, const char *value);
int opt_when(void *target, const struct cli_option *opt, const char *value);
int opt_signal(void *target, const struct cli_option *opt, const char *value);
int opt_triggers(void *target, const struct cli_option *opt, const char *value);

/* The words that opt_signal() takes, NULL-terminated; it takes them with SIG before them, too. */
extern const char *const options_signals[];

/* Is it a flight recorder: is anything of this asked for? And can something ask for a recording? */
static inline bool options_has_trigger(const struct flight_options *f)
{
	return f->when.cnt || f->signal;
}
static inline bool options_is_flight(const struct flight_options *f)
{
	return f->keep_s > 0 || options_has_trigger(f);
}

/*
 * Do these options go with each other and with the others? Sets the defaults that depend on several.
 * 0, or -EINVAL after logging.
 */
int options_flight_check(struct record_options *r);

#endif
