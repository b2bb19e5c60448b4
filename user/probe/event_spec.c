// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* event_spec.c - see event_spec.h. */
#include "probe/event_spec.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "base/cli.h"
#include "base/util.h"

/* perf's names and aliases: tools/perf/util/parse-events.c, event_symbols_hw and _sw (v6.12). */
static const struct counted {
	const char *name, *alias;
	enum event_kind kind;
	uint64_t config;
} counted[] = {
	{ "page-faults", "faults", EVENT_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "minor-faults", NULL, EVENT_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN },
	{ "major-faults", NULL, EVENT_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ },
	{ "context-switches", "cs", EVENT_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cpu-migrations", "migrations", EVENT_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
	{ "instructions", NULL, EVENT_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ "cache-references", NULL, EVENT_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES },
	{ "cache-misses", NULL, EVENT_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
	{ "branch-instructions", "branches", EVENT_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-misses", NULL, EVENT_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
	{ "bus-cycles", NULL, EVENT_HARDWARE, PERF_COUNT_HW_BUS_CYCLES },
	{ "stalled-cycles-frontend", "idle-cycles-frontend", EVENT_HARDWARE,
	  PERF_COUNT_HW_STALLED_CYCLES_FRONTEND },
	{ "stalled-cycles-backend", "idle-cycles-backend", EVENT_HARDWARE,
	  PERF_COUNT_HW_STALLED_CYCLES_BACKEND },
	{ "ref-cycles", NULL, EVENT_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES },
};

/* Words before the first ':', as in bpftrace. */
static const struct {
	const char *name, *letter;
	enum event_kind kind;	/* EVENT_NONE: not supported */
} prefixes[] = {
	{ "tracepoint", "t", EVENT_TRACEPOINT }, { "uprobe", "u", EVENT_UPROBE },
	{ "usdt", "U", EVENT_USDT },
	{ "uretprobe", "ur", EVENT_NONE }, { "kprobe", "k", EVENT_NONE },
	{ "kretprobe", "kr", EVENT_NONE }, { "fentry", "f", EVENT_NONE },
	{ "fexit", "fr", EVENT_NONE }, { "rawtracepoint", "rt", EVENT_NONE },
	{ "hardware", "h", EVENT_NONE }, { "software", "s", EVENT_NONE },
	{ "profile", "p", EVENT_NONE }, { "interval", "i", EVENT_NONE },
};

/* cli_name_fn: valid words without ':'. */
static const char *name_at(const void *ctx, size_t i)
{
	static const char *const others[] = {
		"cycles", "cpu-cycles", "cpu-clock", "faults", "migrations", "branches",
		"tracepoint", "uprobe", "usdt", NULL,
	};

	return i < ARRAY_SIZE(counted) ? counted[i].name : others[i - ARRAY_SIZE(counted)];
}

static int spec_bad(char *why, size_t size, const char *text)
{
	snprintf(why, size, "%s", text);
	return -EINVAL;
}

static int parse_counted(const char *word, struct event_spec *spec, char *why, size_t size)
{
	const char *near;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(counted); i++) {
		const struct counted *c = &counted[i];

		if (strcmp(word, c->name) && (!c->alias || strcmp(word, c->alias)))
			continue;
		spec->kind = c->kind;
		spec->config = c->config;
		snprintf(spec->name, sizeof(spec->name), "%s", c->name);
		return 0;
	}
	near = cli_nearest(word, strlen(word), name_at, NULL);
	if (near)
		snprintf(why, size, "did you mean %s?", near);
	else
		snprintf(why, size, "expected cycles, cpu-clock, page-faults, context-switches, "
			 "cache-misses, CATEGORY:NAME of a tracepoint, uprobe:FILE:FUNCTION or "
			 "usdt:PROVIDER:NAME (tachbpf(1) lists all)");
	return -EINVAL;
}

/* Cut the last part, after a ':', off text. NULL: there is none. */
static char *cut_last(char *text)
{
	char *colon = strrchr(text, ':');

	if (!colon)
		return NULL;
	*colon = '\0';
	return colon + 1;
}

/* Copy a part. Returns false if it is empty or too long. */
static bool take_part(char *to, size_t size, const char *part)
{
	return part && *part && snprintf(to, size, "%s", part) < (int)size;
}

/* Names of tracepoints become file names, so no other characters are allowed. */
static bool is_identifier(const char *text)
{
	return !text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "0123456789_-")];
}

static int parse_tracepoint(char *text, struct event_spec *spec, char *why, size_t size)
{
	char *name = cut_last(text);

	if (!take_part(spec->what, sizeof(spec->what), name) ||
	    !take_part(spec->group, sizeof(spec->group), text) || !is_identifier(spec->what) ||
	    !is_identifier(spec->group))
		return spec_bad(why, size, "expected tracepoint:CATEGORY:NAME, such as "
				      "tracepoint:syscalls:sys_enter_openat");
	snprintf(spec->name, sizeof(spec->name), "%s:%s", spec->group, spec->what);
	return 0;
}

static int parse_uprobe(char *text, struct event_spec *spec, char *why, size_t size)
{
	char *function = cut_last(text);

	if (!take_part(spec->what, sizeof(spec->what), function) ||
	    !take_part(spec->file, sizeof(spec->file), text))
		return spec_bad(why, size, "expected uprobe:FILE:FUNCTION, such as "
				"uprobe:libc:fsync; FILE is a library's name or a path");
	snprintf(spec->name, sizeof(spec->name), "uprobe:%s:%s", spec->file, spec->what);
	return 0;
}

static int parse_usdt(char *text, struct event_spec *spec, char *why, size_t size)
{
	char *name = cut_last(text), *provider = cut_last(text);

	if (!provider)	/* two parts */
		provider = text;
	else if (!take_part(spec->file, sizeof(spec->file), text))
		name = NULL;
	if (!take_part(spec->what, sizeof(spec->what), name) ||
	    !take_part(spec->group, sizeof(spec->group), provider))
		return spec_bad(why, size, "expected usdt:PROVIDER:NAME, such as "
				"usdt:python:function__entry, or usdt:FILE:PROVIDER:NAME");
	snprintf(spec->name, sizeof(spec->name), "usdt:%s%s%s:%s", spec->file,
		 *spec->file ? ":" : "", spec->group, spec->what);
	return 0;
}

static int not_supported(const char *prefix, char *why, size_t size)
{
	if (!strcmp(prefix, "hardware") || !strcmp(prefix, "software"))
		snprintf(why, size, "expected the name alone, such as page-faults; use -c for the "
			 "count");
	else if (!strcmp(prefix, "profile") || !strcmp(prefix, "interval"))
		snprintf(why, size, "leave out -e, and use -r for the rate");
	else
		snprintf(why, size, "%s is not supported: a tracepoint (CATEGORY:NAME) or "
			 "uprobe:FILE:FUNCTION may show the same", prefix);
	return -EINVAL;
}

int event_spec_parse(const char *word, struct event_spec *spec, char *why, size_t why_size)
{
	char text[EVENT_NAME_BYTES], *rest;
	size_t i;

	memset(spec, 0, sizeof(*spec));
	if (strlen(word) >= sizeof(text))
		return spec_bad(why, why_size, "it is too long");
	memcpy(text, word, strlen(word) + 1);
	rest = strchr(text, ':');
	if (!rest)
		return parse_counted(word, spec, why, why_size);
	spec->kind = EVENT_TRACEPOINT;
	*rest = '\0';
	for (i = 0; i < ARRAY_SIZE(prefixes); i++) {
		if (strcmp(text, prefixes[i].name) && strcmp(text, prefixes[i].letter))
			continue;
		spec->kind = prefixes[i].kind;
		if (spec->kind == EVENT_NONE)
			return not_supported(prefixes[i].name, why, why_size);
		break;
	}
	if (i == ARRAY_SIZE(prefixes)) {	/* perf's spelling has no prefix */
		*rest = ':';
		return parse_tracepoint(text, spec, why, why_size);
	}
	rest++;
	if (spec->kind == EVENT_TRACEPOINT)
		return parse_tracepoint(rest, spec, why, why_size);
	return spec->kind == EVENT_UPROBE ? parse_uprobe(rest, spec, why, why_size) :
					    parse_usdt(rest, spec, why, why_size);
}
