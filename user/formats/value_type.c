// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* value_type.c - see value_type.h. Owns nothing. */
#include "formats/value_type.h"

#include <errno.h>
#include <stdio.h>

#include "base/util.h"

#define KIB 1024ull
#define DAY_NS (86400ull * 1000000000)

/* The names that pprof's own tools understand. Anything else is a count. */
static const struct {
	const char *name;
	struct value_scale scale;
} units[] = {
	{ "nanoseconds", { UNIT_NANOSECONDS, 1 } }, { "nanosecond", { UNIT_NANOSECONDS, 1 } },
	{ "ns", { UNIT_NANOSECONDS, 1 } },
	{ "microseconds", { UNIT_NANOSECONDS, 1000 } },
	{ "microsecond", { UNIT_NANOSECONDS, 1000 } }, { "us", { UNIT_NANOSECONDS, 1000 } },
	{ "milliseconds", { UNIT_NANOSECONDS, 1000000 } },
	{ "millisecond", { UNIT_NANOSECONDS, 1000000 } }, { "ms", { UNIT_NANOSECONDS, 1000000 } },
	{ "seconds", { UNIT_NANOSECONDS, 1000000000 } },
	{ "second", { UNIT_NANOSECONDS, 1000000000 } }, { "s", { UNIT_NANOSECONDS, 1000000000 } },
	{ "bytes", { UNIT_BYTES, 1 } }, { "byte", { UNIT_BYTES, 1 } }, { "b", { UNIT_BYTES, 1 } },
	{ "By", { UNIT_BYTES, 1 } },	/* UCUM's, of OpenTelemetry */
	{ "kilobytes", { UNIT_BYTES, KIB } }, { "kb", { UNIT_BYTES, KIB } },
	{ "megabytes", { UNIT_BYTES, KIB * KIB } }, { "mb", { UNIT_BYTES, KIB * KIB } },
	{ "gigabytes", { UNIT_BYTES, KIB * KIB * KIB } }, { "gb", { UNIT_BYTES, KIB * KIB * KIB } },
};

static const struct {
	const char *name;
	enum profile_mode mode;
} modes[] = {
	{ "cpu", MODE_CPU }, { "wall", MODE_WALL }, { "off_cpu", MODE_OFFCPU },
	{ "offcpu", MODE_OFFCPU }, { "gil", MODE_GIL }, { "exception", MODE_EXCEPTION },
	{ "exceptions", MODE_EXCEPTION },
};

struct value_scale value_scale_of(const struct value_type *t)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(units); i++) {
		if (ref_is(t->unit, units[i].name))
			return units[i].scale;
	}
	return (struct value_scale){ UNIT_SAMPLES, 1 };
}

enum profile_mode value_mode_of(const struct value_type *t)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		if (ref_is(t->type, modes[i].name))
			return modes[i].mode;
	}
	return MODE_UNKNOWN;
}

size_t value_find(const struct value_type *types, size_t cnt, const char *name)
{
	size_t i;

	for (i = 0; i < cnt && !ref_is(types[i].type, name); i++)
		;
	return i;
}

size_t value_choose(const struct value_type *types, size_t cnt, size_t preset,
		    const struct reader_args *args)
{
	static const char *const names[] = {
		[VALUE_LIVE] = "inuse_space", [VALUE_ALLOCATED] = "alloc_space",
		[VALUE_SAMPLES] = "samples", [VALUE_BOTH] = "alloc_space",
	};
	const char *name = args->value < ARRAY_SIZE(names) ? names[args->value] : NULL;
	size_t found;

	if (args->type)
		return value_find(types, cnt, args->type);
	found = name ? value_find(types, cnt, name) : cnt;
	return found < cnt ? found : preset;
}

int value_missing(const struct value_type *types, size_t cnt, const char *wanted,
		  const struct reason *why)
{
	char list[160] = "";
	size_t i, len = 0;

	for (i = 0; i < cnt && len < sizeof(list); i++)
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%.*s", i ? ", " : "",
					(int)types[i].type.len, types[i].type.data);
	reason_say(why, "it has no values of type '%s'; its types: %s", wanted, list);
	return -ENODATA;
}

uint64_t value_period_ns(const struct value_type *t, uint64_t period)
{
	struct value_scale scale = value_scale_of(t);
	uint64_t ns;

	if (scale.unit != UNIT_NANOSECONDS || period > INT64_MAX ||
	    __builtin_mul_overflow(period, scale.factor, &ns) || ns > DAY_NS)
		return 0;
	return ns;
}

int value_weigh(uint64_t v, uint64_t factor, uint64_t at, uint64_t *weight,
		const struct reason *why)
{
	if (v > INT64_MAX)
		return reason_at(why, at, "a negative value, as in the difference of two profiles; "
				 "tachbpf diff compares them");
	if (__builtin_mul_overflow(v, factor, weight))
		return reason_at(why, at, "values that add up to more than 63 bits");
	return 0;
}
