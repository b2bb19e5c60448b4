// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * profile_names.c - the tables of words. See profile_names.h.
 */
#include "model/profile_names.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/util.h"
#include "bpf/abi.h"

static const char *const modes[] = {
	[MODE_WALL] = "wall", [MODE_CPU] = "cpu", [MODE_GIL] = "gil", [MODE_ALL] = "all",
	[MODE_EXCEPTION] = "exception", [MODE_OFFCPU] = "offcpu",
};

static const char *const units[] = {
	[UNIT_SAMPLES] = "samples", [UNIT_BYTES] = "bytes", [UNIT_NANOSECONDS] = "nanoseconds",
};

static const char *const units_of_one[] = {
	[UNIT_SAMPLES] = "sample", [UNIT_BYTES] = "byte", [UNIT_NANOSECONDS] = "nanosecond",
};

static const char *const layouts[] = {
	[LAYOUT_RELEASE] = "release", [LAYOUT_DRAFT1] = "draft1", [LAYOUT_DRAFT2] = "draft2",
};

static const char *const frame_kinds[] = {
	[FRAME_PYTHON] = "python", [FRAME_NATIVE] = "native", [FRAME_KERNEL] = "kernel",
	[FRAME_SYNTHETIC] = "synthetic",
};

static const struct {
	const char *name;
	uint32_t bit;
} features[] = {
	{ "all_threads", FEATURE_ALL_THREADS }, { "native", FEATURE_NATIVE },
	{ "gc", FEATURE_GC }, { "opcodes", FEATURE_OPCODES }, { "blocking", FEATURE_BLOCKING },
};

/* typed: the word of --status, shorter where the context is clear. */
static const struct {
	uint8_t bit;
	const char *name, *typed;
} statuses[] = {
	{ STATUS_HAS_GIL, "gil", "gil" },
	{ STATUS_ON_CPU, "on-cpu", "on-cpu" },
	{ STATUS_UNKNOWN, "cpu-unknown", "unknown" },
	{ STATUS_GIL_REQUESTED, "gil-requested", "gil-requested" },
	{ STATUS_HAS_EXCEPTION, "exception", "exception" },
	{ STATUS_MAIN_THREAD, "main", "main" },
};

/* A number beyond the table is unknown; so is a negative one. */
static const char *name_of(const char *const *names, size_t cnt, size_t i)
{
	return i < cnt && names[i] ? names[i] : "unknown";
}

const char *profile_mode_name(enum profile_mode mode)
{
	return name_of(modes, ARRAY_SIZE(modes), (size_t)mode);
}

bool profile_mode_known(enum profile_mode mode)
{
	return (size_t)mode < ARRAY_SIZE(modes) && modes[mode];
}

const char *profile_unit_name(enum profile_unit unit)
{
	return name_of(units, ARRAY_SIZE(units), (size_t)unit);
}

const char *profile_unit_of(uint64_t cnt, enum profile_unit unit)
{
	const char *one = name_of(units_of_one, ARRAY_SIZE(units_of_one), (size_t)unit);

	return text_plural(cnt, one, profile_unit_name(unit));
}

const char *profile_layout_name(enum profile_layout layout)
{
	return name_of(layouts, ARRAY_SIZE(layouts), (size_t)layout);
}

const char *profile_frame_kind_name(enum frame_kind kind)
{
	return name_of(frame_kinds, ARRAY_SIZE(frame_kinds), (size_t)kind);
}

const char *profile_feature_at(size_t i, uint32_t *bit)
{
	if (i >= ARRAY_SIZE(features))
		return NULL;
	*bit = features[i].bit;
	return features[i].name;
}

const char *profile_status_text(uint8_t status, char text[PROFILE_STATUS_BYTES])
{
	size_t i, len = 0;

	for (i = 0; i < ARRAY_SIZE(statuses); i++) {
		if (status & statuses[i].bit)
			len += snprintf(text + len, PROFILE_STATUS_BYTES - len, "%s%s",
					len ? "+" : "", statuses[i].name);
	}
	if (!len)
		snprintf(text, PROFILE_STATUS_BYTES, "none");
	return text;
}

bool profile_status_parse(const char *word, size_t len, uint8_t *bit)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(statuses); i++) {
		if (strlen(statuses[i].typed) == len && !memcmp(statuses[i].typed, word, len)) {
			*bit = statuses[i].bit;
			return true;
		}
	}
	return false;
}
