// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * config_types.c - single values of the agent's configuration: numbers with units, and words. Knows
 * no key. See config_types.h.
 */
#include "config/config_types.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/quantity.h"

int config_why(struct config_why *why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why->text, sizeof(why->text), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

int config_not_allowed(const struct config_key *key, struct config_why *why)
{
	char text[CONFIG_WHY_BYTES] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");

	if (!out)
		return -ENOMEM;
	key->type->allowed(key, out);
	fclose(out);
	return config_why(why, "give %s", text);
}

/* ---- numbers ---- */

static const struct quantity_unit no_units[] = { { "", 1 }, { 0 } };
static const struct quantity_unit percents[] = { { "", 1 }, { "%", 1 }, { 0 } };
/* The largest that divides a value is what it is shown in. */
static const struct quantity_unit times[] = {
	{ "d", 86400e9 }, { "h", 3600e9 }, { "m", 60e9 }, { "s", 1e9 }, { "", 1e9 },
	{ "ms", 1e6 }, { "us", 1e3 }, { "ns", 1 }, { 0 }
};
static const struct quantity_unit env_times[] = {
	{ "", 1e6 }, { "s", 1e9 }, { "ms", 1e6 }, { "m", 60e9 }, { 0 }
};
static const struct quantity_unit sizes[] = {
	{ "TiB", 0x1p40 }, { "GiB", 0x1p30 }, { "MiB", 0x1p20 }, { "KiB", 0x1p10 }, { "B", 1 },
	{ "", 1 }, { "T", 0x1p40 }, { "G", 0x1p30 }, { "M", 0x1p20 }, { "K", 0x1p10 },
	{ "TB", 1e12 }, { "GB", 1e9 }, { "MB", 1e6 }, { "KB", 1e3 }, { 0 }
};

/* Parse a number between the key's bounds. As config_type.set. */
static int number_of(const struct config_key *key, const char *text,
		     const struct quantity_unit *units, double *value, struct config_why *why)
{
	if (quantity_parse(text, units, value) || *value < key->min || *value > key->max)
		return config_not_allowed(key, why);
	return 0;
}

static int set_integer(const struct config_key *key, void *field, const char *text,
		       struct config_why *why)
{
	double value;
	int err = number_of(key, text, no_units, &value, why);

	if (!err && value != (uint32_t)value)
		err = config_not_allowed(key, why);
	if (!err)
		*(uint32_t *)field = (uint32_t)value;
	return err;
}

static int set_number(const struct config_key *key, void *field, const char *text,
		      struct config_why *why)
{
	double value;
	int err = number_of(key, text, key->type == &config_percent ? percents : no_units, &value,
			    why);

	if (!err)
		*(double *)field = value;
	return err;
}

static int set_u64(const struct config_key *key, void *field, const char *text,
		   const struct quantity_unit *units, struct config_why *why)
{
	double value;
	int err = number_of(key, text, units, &value, why);

	if (!err)
		*(uint64_t *)field = (uint64_t)(value + 0.5);
	return err;
}

static int set_duration(const struct config_key *key, void *field, const char *text,
			struct config_why *why)
{
	return set_u64(key, field, text, times, why);
}

/* OpenTelemetry's variables have milliseconds. */
static int set_env_duration(const struct config_key *key, void *field, const char *text,
			    struct config_why *why)
{
	return set_u64(key, field, text, env_times, why);
}

static int set_size(const struct config_key *key, void *field, const char *text,
		    struct config_why *why)
{
	return set_u64(key, field, text, sizes, why);
}

/* units: from the largest to the smallest, which is 1. */
static void print_in(uint64_t value, const struct quantity_unit *units, FILE *out)
{
	while (units->factor > 1 &&
	       (!*units->name || !value || value % (uint64_t)units->factor))
		units++;
	fprintf(out, "%" PRIu64 "%s", value / (uint64_t)units->factor, value ? units->name : "");
}

static void print_double(double value, FILE *out)
{
	fprintf(out, "%.15g", value);
}

static void print_integer(const struct config_key *key, const void *field, int indent, FILE *out)
{
	fprintf(out, "%" PRIu32, *(const uint32_t *)field);
}

static void print_number(const struct config_key *key, const void *field, int indent, FILE *out)
{
	print_double(*(const double *)field, out);
}

static void print_percent(const struct config_key *key, const void *field, int indent, FILE *out)
{
	print_double(*(const double *)field, out);
	fputc('%', out);
}

static void print_duration(const struct config_key *key, const void *field, int indent, FILE *out)
{
	print_in(*(const uint64_t *)field, times, out);
}

static void print_size(const struct config_key *key, const void *field, int indent, FILE *out)
{
	print_in(*(const uint64_t *)field, sizes, out);
}

static void allowed_number(const struct config_key *key, FILE *out)
{
	print_double(key->min, out);
	fputs(" to ", out);
	print_double(key->max, out);
}

static void allowed_percent(const struct config_key *key, FILE *out)
{
	allowed_number(key, out);
	fputc('%', out);
}

static void allowed_duration(const struct config_key *key, FILE *out)
{
	print_in((uint64_t)key->min, times, out);
	fputs(" to ", out);
	print_in((uint64_t)key->max, times, out);
}

static void allowed_size(const struct config_key *key, FILE *out)
{
	print_in((uint64_t)key->min, sizes, out);
	fputs(" to ", out);
	print_in((uint64_t)key->max, sizes, out);
}

const struct config_type config_integer = {
	.name = "integer", .arg = "N", .bytes = sizeof(uint32_t), .set = set_integer,
	.allowed = allowed_number, .print = print_integer,
};
const struct config_type config_number = {
	.name = "number", .arg = "X", .bytes = sizeof(double), .set = set_number,
	.allowed = allowed_number, .print = print_number,
};
const struct config_type config_percent = {
	.name = "percentage", .arg = "PERCENT", .bytes = sizeof(double), .set = set_number,
	.allowed = allowed_percent, .print = print_percent,
};
const struct config_type config_duration = {
	.name = "duration", .arg = "TIME", .bytes = sizeof(uint64_t), .set = set_duration,
	.set_env = set_env_duration, .allowed = allowed_duration, .print = print_duration,
};
const struct config_type config_size = {
	.name = "size", .arg = "SIZE", .bytes = sizeof(uint64_t), .set = set_size,
	.allowed = allowed_size, .print = print_size,
};

/* ---- words ---- */

/* YAML 1.1's. */
static const struct config_word booleans[] = {
	{ "true", 1 }, { "false", 0 }, { "yes", 1 }, { "no", 0 }, { "on", 1 }, { "off", 0 }, { 0 }
};

static const struct config_word *word_of(const struct config_word *words, const char *text,
					 size_t len)
{
	for (; words->name; words++)
		if (strlen(words->name) == len && !strncasecmp(words->name, text, len))
			return words;
	return NULL;
}

static int set_boolean(const struct config_key *key, void *field, const char *text,
		       struct config_why *why)
{
	const struct config_word *word = word_of(booleans, text, strlen(text));

	if (!word)
		return config_not_allowed(key, why);
	*(bool *)field = word->value;
	return 0;
}

static int set_choice(const struct config_key *key, void *field, const char *text,
		      struct config_why *why)
{
	const struct config_word *word = word_of(key->words, text, strlen(text));

	if (!word)
		return config_not_allowed(key, why);
	memcpy(field, &word->value, sizeof(word->value));
	return 0;
}

static int set_choices(const struct config_key *key, void *field, const char *text,
		       struct config_why *why)
{
	const struct config_word *word;
	uint32_t bits = 0;
	size_t len;

	for (;; text += len + 1) {
		len = strcspn(text, ",");
		word = word_of(key->words, text, len);
		if (!word)
			return config_not_allowed(key, why);
		bits |= (uint32_t)word->value;
		if (!text[len])
			break;
	}
	*(uint32_t *)field |= bits;
	return 0;
}

static void allowed_boolean(const struct config_key *key, FILE *out)
{
	fputs("true or false", out);
}

static void allowed_choice(const struct config_key *key, FILE *out)
{
	const struct config_word *word;

	for (word = key->words; word->name; word++)
		fprintf(out, "%s%s", word == key->words ? "" : word[1].name ? ", " : " or ",
			word->name);
}

static void print_boolean(const struct config_key *key, const void *field, int indent, FILE *out)
{
	fputs(*(const bool *)field ? "true" : "false", out);
}

static void print_choice(const struct config_key *key, const void *field, int indent, FILE *out)
{
	const struct config_word *word = key->words;
	int value;

	memcpy(&value, field, sizeof(value));
	while (word->name && word->value != value)
		word++;
	fputs(word->name ? word->name : "", out);
}

static void print_choices(const struct config_key *key, const void *field, int indent, FILE *out)
{
	const struct config_word *word;
	bool more = false;

	fputc('[', out);
	for (word = key->words; word->name; word++) {
		if (!(*(const uint32_t *)field & (uint32_t)word->value))
			continue;
		fprintf(out, "%s%s", more ? ", " : "", word->name);
		more = true;
	}
	fputc(']', out);
}

const struct config_type config_boolean = {
	.name = "boolean", .bytes = sizeof(bool), .set = set_boolean, .allowed = allowed_boolean,
	.print = print_boolean,
};
const struct config_type config_choice = {
	.name = "word", .arg = "WORD", .bytes = sizeof(int), .set = set_choice,
	.allowed = allowed_choice, .print = print_choice,
};
const struct config_type config_choices = {
	.name = "list of words", .arg = "WORD[,WORD...]", .shape = CONFIG_LIST,
	.bytes = sizeof(uint32_t), .set = set_choices, .allowed = allowed_choice,
	.print = print_choices,
};
