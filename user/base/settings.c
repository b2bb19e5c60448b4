// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* settings.c - the types of values, and queries of a row. See settings.h. */
#include "base/settings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- numbers with units ---- */

/* *end: the first character after the number. Returns 0 or -EINVAL. */
static int parse_number(const char *text, double *value, const char **end)
{
	size_t len = strspn(text, "0123456789.");
	char digits[32], *stop;

	/* strtod() alone would accept "inf", "0x1p3" and "1e3". */
	if (!len || len >= sizeof(digits))
		return -EINVAL;
	memcpy(digits, text, len);
	digits[len] = '\0';
	*value = strtod(digits, &stop);
	*end = text + len;
	return *stop ? -EINVAL : 0;
}

int quantity_parse(const char *text, const struct quantity_unit *units, double *value)
{
	const char *end;

	if (parse_number(text, value, &end))
		return -EINVAL;
	for (; units->name; units++) {
		if (!strcasecmp(end, units->name)) {
			*value *= units->factor;
			return 0;
		}
	}
	return -EINVAL;
}

static const struct quantity_unit no_units[] = { { "", 1 }, { 0 } };
static const struct quantity_unit percents[] = { { "", 1 }, { "%", 1 }, { 0 } };
static const struct quantity_unit counts[] = { { "", 1 }, { "k", 1e3 }, { "m", 1e6 }, { 0 } };
static const struct quantity_unit rates[] = {
	{ "", 1 }, { "hz", 1 }, { "k", 1e3 }, { "khz", 1e3 }, { 0 }
};
/* A value is shown in the largest unit that divides it. */
const struct quantity_unit setting_times[] = {
	{ "d", 86400e9 }, { "h", 3600e9 }, { "m", 60e9 }, { "s", 1e9 }, { "", 1e9 },
	{ "ms", 1e6 }, { "us", 1e3 }, { "ns", 1 }, { "min", 60e9 }, { "sec", 1e9 }, { 0 }
};
static const struct quantity_unit env_times[] = {
	{ "", 1e6 }, { "s", 1e9 }, { "ms", 1e6 }, { "m", 60e9 }, { 0 }
};
static const struct quantity_unit sizes[] = {
	{ "TiB", 0x1p40 }, { "GiB", 0x1p30 }, { "MiB", 0x1p20 }, { "KiB", 0x1p10 }, { "B", 1 },
	{ "", 1 }, { "T", 0x1p40 }, { "G", 0x1p30 }, { "M", 0x1p20 }, { "K", 0x1p10 },
	{ "TB", 1e12 }, { "GB", 1e9 }, { "MB", 1e6 }, { "KB", 1e3 }, { 0 }
};

int setting_why(struct setting_why *why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why->text, sizeof(why->text), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

int setting_not_allowed(const struct setting *s, struct setting_why *why)
{
	char text[SETTING_WHY_BYTES] = "";
	FILE *out;

	if (s->wanted)
		return setting_why(why, "%s", s->wanted);
	out = fmemopen(text, sizeof(text), "w");
	if (!out)
		return -ENOMEM;
	s->type->allowed(s, out);
	fclose(out);
	return setting_why(why, "expected %.*s", SETTING_WHY_BYTES - 16, text);
}

/* Parses a number within the setting's limits, in its field's unit. As setting_type.set. */
static int number_of(const struct setting *s, const char *text, const struct quantity_unit *units,
		     double *value, struct setting_why *why)
{
	if (quantity_parse(text, units, value) || *value < s->min || *value > s->max ||
	    (s->type->whole && *value != (double)(uint64_t)*value))
		return setting_not_allowed(s, why);
	if (s->type->unit > 0)
		*value /= s->type->unit;
	return 0;
}

static int set_u32(const struct setting *s, void *field, const char *text, struct setting_why *why)
{
	double value;
	int err = number_of(s, text, s->type->units, &value, why);

	if (!err)
		*(uint32_t *)field = (uint32_t)value;
	return err;
}

static int set_double(const struct setting *s, void *field, const char *text,
		      struct setting_why *why)
{
	double value;
	int err = number_of(s, text, s->type->units, &value, why);

	if (!err)
		*(double *)field = value;
	return err;
}

static int set_u64_in(const struct setting *s, void *field, const char *text,
		      const struct quantity_unit *units, struct setting_why *why)
{
	double value;
	int err = number_of(s, text, units, &value, why);

	if (!err)
		*(uint64_t *)field = (uint64_t)(value + 0.5);
	return err;
}

static int set_u64(const struct setting *s, void *field, const char *text, struct setting_why *why)
{
	return set_u64_in(s, field, text, s->type->units, why);
}

/* OpenTelemetry's variables are in milliseconds. */
static int set_env_duration(const struct setting *s, void *field, const char *text,
			    struct setting_why *why)
{
	return set_u64_in(s, field, text, env_times, why);
}

/* units: from the largest to the smallest, which is 1. */
static void print_in(uint64_t value, const struct quantity_unit *units, FILE *out)
{
	while (units->factor > 1 &&
	       (!*units->name || !value || value % (uint64_t)units->factor))
		units++;
	fprintf(out, "%" PRIu64 "%s", value / (uint64_t)units->factor, value ? units->name : "");
}

static void print_u32(const struct setting *s, const void *field, int indent, FILE *out)
{
	fprintf(out, "%" PRIu32, *(const uint32_t *)field);
}

static void print_double(const struct setting *s, const void *field, int indent, FILE *out)
{
	fprintf(out, "%.15g%s", *(const double *)field, s->type->units == percents ? "%" : "");
}

static void print_u64(const struct setting *s, const void *field, int indent, FILE *out)
{
	print_in(*(const uint64_t *)field, s->type->units, out);
}

static void allowed_number(const struct setting *s, FILE *out)
{
	fprintf(out, "%.15g to %.15g%s", s->min, s->max, s->type->units == percents ? "%" : "");
}

static void allowed_quantity(const struct setting *s, FILE *out)
{
	print_in((uint64_t)s->min, s->type->units, out);
	fputs(" to ", out);
	print_in((uint64_t)s->max, s->type->units, out);
}

#define NUMBER(NAME, ARG, TYPE, UNITS)                                                             \
	.name = NAME, .arg = ARG, .bytes = sizeof(TYPE), .units = UNITS

const struct setting_type setting_integer = {
	NUMBER("integer", "N", uint32_t, no_units), .whole = true, .set = set_u32,
	.allowed = allowed_number, .print = print_u32,
};
const struct setting_type setting_count = {
	NUMBER("count", "N", uint64_t, counts), .whole = true, .set = set_u64,
	.allowed = allowed_number,
};
const struct setting_type setting_rate = {
	NUMBER("rate", "RATE", uint32_t, rates), .whole = true, .set = set_u32,
	.allowed = allowed_number, .print = print_u32,
};
const struct setting_type setting_number = {
	NUMBER("number", "X", double, no_units), .set = set_double, .allowed = allowed_number,
	.print = print_double,
};
const struct setting_type setting_percent = {
	NUMBER("percentage", "PERCENT", double, percents), .set = set_double,
	.allowed = allowed_number, .print = print_double,
};
const struct setting_type setting_duration = {
	NUMBER("duration", "TIME", uint64_t, setting_times), .set = set_u64,
	.set_env = set_env_duration, .allowed = allowed_quantity, .print = print_u64,
};
const struct setting_type setting_microseconds = {
	NUMBER("duration", "TIME", uint64_t, setting_times), .unit = 1e3, .set = set_u64,
	.allowed = allowed_quantity,
};
const struct setting_type setting_seconds = {
	NUMBER("duration", "TIME", double, setting_times), .unit = 1e9, .set = set_double,
	.allowed = allowed_quantity,
};
const struct setting_type setting_size = {
	NUMBER("size", "SIZE", uint64_t, sizes), .set = set_u64, .allowed = allowed_quantity,
	.print = print_u64,
};

/* ---- words ---- */

/* YAML 1.1's. */
static const struct setting_word booleans[] = {
	{ "true", 1 }, { "false", 0 }, { "yes", 1 }, { "no", 0 }, { "on", 1 }, { "off", 0 }, { 0 }
};

static const struct setting_word *find_word(const struct setting_word *words, const char *text,
					    size_t len)
{
	for (; words->name; words++)
		if (strlen(words->name) == len && !strncasecmp(words->name, text, len))
			return words;
	return NULL;
}

static void store_value(const struct setting *s, void *field, int value)
{
	if (s->type->bytes == sizeof(bool))
		*(bool *)field = value;
	else
		memcpy(field, &value, sizeof(value));	/* an enum, which has the size of an int */
}

static int set_word_of(const struct setting *s, const struct setting_word *words, void *field,
		       const char *text, struct setting_why *why)
{
	const struct setting_word *word = find_word(words, text, strlen(text));

	if (!word)
		return setting_not_allowed(s, why);
	store_value(s, field, word->value);
	return 0;
}

static int set_choice(const struct setting *s, void *field, const char *text,
		      struct setting_why *why)
{
	return set_word_of(s, s->words, field, text, why);
}

static int set_boolean(const struct setting *s, void *field, const char *text,
		       struct setting_why *why)
{
	return set_word_of(s, booleans, field, text, why);
}

static int set_choices(const struct setting *s, void *field, const char *text,
		       struct setting_why *why)
{
	const struct setting_word *word;
	uint32_t bits = 0;
	size_t len;

	for (;; text += len + 1) {
		len = strcspn(text, ",");
		word = find_word(s->words, text, len);
		if (!word)
			return setting_not_allowed(s, why);
		bits |= (uint32_t)word->value;
		if (!text[len])
			break;
	}
	*(uint32_t *)field |= bits;
	return 0;
}

static void allowed_boolean(const struct setting *s, FILE *out)
{
	fputs("true or false", out);
}

void setting_list_words(const struct setting *s, FILE *out)
{
	const struct setting_word *word;

	for (word = s->words; word->name; word++)
		fprintf(out, "%s%s", word == s->words ? "" : word[1].name ? ", " : " or ",
			word->name);
}

static void print_boolean(const struct setting *s, const void *field, int indent, FILE *out)
{
	fputs(*(const bool *)field ? "true" : "false", out);
}

static void print_choice(const struct setting *s, const void *field, int indent, FILE *out)
{
	const struct setting_word *word = s->words;
	int value;

	memcpy(&value, field, sizeof(value));
	while (word->name && word->value != value)
		word++;
	fputs(word->name ? word->name : "", out);
}

static void print_choices(const struct setting *s, const void *field, int indent, FILE *out)
{
	const struct setting_word *word;
	bool more = false;

	fputc('[', out);
	for (word = s->words; word->name; word++) {
		if (!(*(const uint32_t *)field & (uint32_t)word->value))
			continue;
		fprintf(out, "%s%s", more ? ", " : "", word->name);
		more = true;
	}
	fputc(']', out);
}

const struct setting_type setting_boolean = {
	.name = "boolean", .bytes = sizeof(bool), .set = set_boolean, .allowed = allowed_boolean,
	.print = print_boolean,
};
const struct setting_type setting_choice = {
	.name = "word", .arg = "WORD", .bytes = sizeof(int), .set = set_choice,
	.allowed = setting_list_words, .print = print_choice,
};
const struct setting_type setting_switch = {
	.name = "word", .arg = "WORD", .bytes = sizeof(bool), .set = set_choice,
	.allowed = setting_list_words,
};
const struct setting_type setting_choices = {
	.name = "list of words", .arg = "WORD[,WORD...]", .shape = SETTING_LIST,
	.bytes = sizeof(uint32_t), .set = set_choices, .allowed = setting_list_words,
	.print = print_choices,
};

/* ---- without a value; only a preset has a text ---- */

static int set_flag(const struct setting *s, void *field, const char *text, struct setting_why *why)
{
	*(bool *)field = true;
	return 0;
}

static int set_no_flag(const struct setting *s, void *field, const char *text,
		       struct setting_why *why)
{
	*(bool *)field = text != NULL;
	return 0;
}

static int set_fixed(const struct setting *s, void *field, const char *text,
		     struct setting_why *why)
{
	store_value(s, field, s->words->value);
	return 0;
}

const struct setting_type setting_flag = { .bytes = sizeof(bool), .set = set_flag };
const struct setting_type setting_no_flag = { .bytes = sizeof(bool), .set = set_no_flag };
const struct setting_type setting_fixed = { .bytes = sizeof(int), .set = set_fixed };

/* ---- texts ---- */

static int set_text(const struct setting *s, void *field, const char *text, struct setting_why *why)
{
	if (!*text)
		return setting_why(why, "it is empty");
	*(const char **)field = text;
	return 0;
}

const struct setting_type setting_text = {
	.arg = "TEXT", .bytes = sizeof(char *), .set = set_text,
};
const struct setting_type setting_file = {
	.arg = "FILE", .bytes = sizeof(char *), .set = set_text,
};

/* ---- a row ---- */

const char *setting_arg(const struct setting *s)
{
	return s->arg ? s->arg : s->type->arg;
}

bool setting_value_is_optional(const struct setting *s)
{
	return s->arg && s->arg[0] == '[';
}

const char *setting_word(const struct setting *s, size_t i)
{
	if (!setting_arg(s))
		return NULL;
	return s->words ? s->words[i].name : s->type->word ? s->type->word(s, i) : NULL;
}
