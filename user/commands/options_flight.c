// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* options_flight.c - see options_flight.h. */
#include "commands/options_event.h"
#include "commands/options_flight.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/util.h"
#include "bpf/abi.h"

#define KEEP_MAX_S 86400.0
#define TRIGGERS_MAX 1000000

const char *const options_signals[] = { "USR1", "USR2", NULL };
static const int signal_numbers[] = { SIGUSR1, SIGUSR2 };

static int bad_value(const struct cli_option *opt, const char *value, const char *remedy)
{
	char shown[CLI_TEXT_MAX];

	log_error("bad --%s '%s': %s", opt->name,
		  escape_text(value, strlen(value), shown, sizeof(shown)), remedy);
	return -EINVAL;
}

int opt_keep(void *target, const struct cli_option *opt, const char *value)
{
	double seconds;

	if (options_duration(value, &seconds) || seconds < 1 || seconds > KEEP_MAX_S)
		return bad_value(opt, value, "give 1s to 24h, such as 30s or 5m");
	((struct options *)target)->record.flight.keep_s = seconds;
	return 0;
}

int opt_when(void *target, const struct cli_option *opt, const char *value)
{
	struct when_list *l = &((struct options *)target)->record.flight.when;
	char shown[CLI_TEXT_MAX], where[CLI_TEXT_MAX];
	const char *why, *rest;
	size_t at;

	if (l->cnt == WHEN_MAX)
		return bad_value(opt, value, "there can be 8 conditions");
	if (!when_parse(value, &l->list[l->cnt], &at, &why)) {
		l->cnt++;
		return 0;
	}
	rest = value + at;
	escape_text(value, strlen(value), shown, sizeof(shown));
	if (*rest)
		log_error("bad --%s '%s': at '%s': %s", opt->name, shown,
			  escape_text(rest, strlen(rest), where, sizeof(where)), why);
	else
		log_error("bad --%s '%s': at its end: %s", opt->name, shown, why);
	return -EINVAL;
}

int opt_signal(void *target, const struct cli_option *opt, const char *value)
{
	int *signal = &((struct options *)target)->record.flight.signal;
	const char *name = strncasecmp(value, "SIG", 3) ? value : value + 3;
	char number[16];
	size_t i;

	for (i = 0; options_signals[i]; i++) {
		snprintf(number, sizeof(number), "%d", signal_numbers[i]);
		if (strcasecmp(name, options_signals[i]) && strcmp(value, number))
			continue;
		*signal = signal_numbers[i];
		return 0;
	}
	return bad_value(opt, value, "give USR1 or USR2: other signals end tachbpf");
}

int opt_triggers(void *target, const struct cli_option *opt, const char *value)
{
	uint64_t cnt;

	if (!parse_decimal(value, strlen(value), &cnt) || !cnt || cnt > TRIGGERS_MAX)
		return bad_value(opt, value, "give a number of recordings, from 1 on");
	((struct options *)target)->record.flight.triggers = (uint32_t)cnt;
	return 0;
}

/* Why a condition cannot be judged by the samples of this recording; NULL: it can. */
static const char *why_unknown(const struct record_options *r, enum when_metric metric)
{
	const struct record_mode_def *mode = options_mode(r);
	bool of_samples = metric == WHEN_CPU || metric == WHEN_GIL || metric == WHEN_GC;

	if (!of_samples)
		return NULL;
	if (!mode->ticks)
		return "is known from samples on a CPU, and this mode has none";
	if (mode->need_status && !(mode->need_status & STATUS_HAS_GIL))
		return "is known from all samples, and this mode records only some";
	if (mode->need_status && metric != WHEN_GIL)
		return "is known from all samples, and this mode records only those that have or "
		       "want the GIL";
	if (metric == WHEN_CPU && !r->capture.native_threads)
		return "is all CPU time: leave --no-native-threads out";
	if (metric == WHEN_GC && !r->capture.gc)
		return "is known from <GC> frames: leave --no-gc out";
	if (r->capture.cpu_list)
		return "is known from the samples of all CPUs: leave -C out";
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

int options_flight_check(struct record_options *r)
{
	struct flight_options *f = &r->flight;
	const char *bad = NULL;

	if (f->triggers && !options_has_trigger(f))
		bad = "--triggers counts recordings: give --when or --signal, too";
	else if (!options_is_flight(f))
		return 0;
	else if (r->mode == RECORD_MEM)
		bad = "--keep, --when and --signal are of time: what a process holds is known only if "
		      "its memory is recorded from the beginning";
	else if (r->html || r->open)
		bad = "--html is of one recording, and --keep, --when and --signal may write "
		      "several: use `tachbpf replay --format flamegraph` or `tachbpf open` later";
	if (bad) {
		log_error("%s", bad);
		return -EINVAL;
	}
	r->recording.place = PLACE_DIR;
	if (!f->triggers && !(f->keep_s > 0))
		f->triggers = 1;
	return check_conditions(r);
}
