// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* options_event.c - see options_event.h. */
#include "commands/options_event.h"

#include <errno.h>
#include <string.h>

#include "base/quantity.h"
#include "base/util.h"

#define COUNT_MAX 0x1p31

static int bad_value(const struct cli_option *opt, const char *value, const char *remedy)
{
	char shown[CLI_TEXT_MAX];

	log_error("bad --%s '%s': %s", opt->name,
		  escape_text(value, strlen(value), shown, sizeof(shown)), remedy);
	return -EINVAL;
}

int opt_event(void *target, const struct cli_option *opt, const char *value)
{
	struct record_options *r = &((struct options *)target)->record;
	char why[256];

	r->event.kind = EVENT_NONE;
	if (!strcmp(value, "cycles") || !strcmp(value, "cpu-cycles"))
		r->capture.event = SAMPLER_CYCLES;
	else if (!strcmp(value, "cpu-clock"))
		r->capture.event = SAMPLER_CLOCK;
	else if (event_spec_parse(value, &r->event, why, sizeof(why)))
		return bad_value(opt, value, why);
	return 0;
}

int opt_event_count(void *target, const struct cli_option *opt, const char *value)
{
	static const struct quantity_unit units[] = { { "", 1 }, { "k", 1e3 }, { "m", 1e6 }, { 0 } };
	double count;

	if (quantity_parse(value, units, &count) || count < 1 || count > COUNT_MAX ||
	    count != (uint64_t)count)
		return bad_value(opt, value, "give a number from 1 to 2147483648, such as 100, 10k or "
					     "1m: one event of so many");
	((struct options *)target)->record.capture.event_every = (uint64_t)count;
	return 0;
}

/* What an event does not go with. NULL: all goes together. */
static const char *conflict(const struct record_options *r)
{
	if (r->mode != RECORD_CPU)
		return r->mode == RECORD_MEM ?
			       "-e records events and -m mem memory: record them one after another, "
			       "or see page-faults without -m mem" :
			       "-e records events and -m says which time: leave one of them out";
	if (r->capture.min_wait_ns)
		return "--min-wait is of waits, and -e records events: leave it out";
	if (r->rate_hz && r->event.kind != EVENT_HARDWARE)
		return "-r is how often a clock ticks, and each event is recorded: leave it out, or "
		       "give -c N for one event of N";
	if (r->rate_hz && r->capture.event_every)
		return "-r is how many events a second and -c one of how many: leave one of them out";
	if (r->capture.cpu_list && !event_is_counted(&r->event))
		return "-C is for what each CPU counts, and a tracepoint or probe is seen on all "
		       "CPUs: leave it out";
	return NULL;
}

int options_event_check(struct record_options *r)
{
	const char *bad = NULL;

	if (r->event.kind == EVENT_NONE && r->capture.event_every)
		bad = "-c is one event of how many: give -e EVENT, too (a clock's rate is -r)";
	else if (r->event.kind != EVENT_NONE)
		bad = conflict(r);
	if (bad) {
		log_error("%s", bad);
		return -EINVAL;
	}
	if (r->event.kind == EVENT_NONE)
		return 0;
	r->capture.event = SAMPLER_CLOCK;	/* ticks only find processes */
	if (r->event.kind != EVENT_HARDWARE && !r->capture.event_every)
		r->capture.event_every = 1;
	return 0;
}

const struct record_mode_def *options_mode(const struct record_options *r)
{
	return r->event.kind == EVENT_NONE ? &record_modes[r->mode] : &record_mode_event;
}
