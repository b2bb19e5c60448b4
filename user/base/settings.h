/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * settings.h - a setting is one row: its name, type, default, limits and help, and where it may
 * stand. Command lines and --help (cli.h), the completion of shells, and the agent's configuration
 * with its file, variables and tables in documents are made of such rows.
 *
 * Knows no setting of tachbpf.
 */
#ifndef TACHBPF_SETTINGS_H
#define TACHBPF_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- numbers with units: "15s", "256MiB", "0.5%" ---- */

struct quantity_unit {
	const char *name;	/* NULL ends a table; "": no unit; upper and lower case are one */
	double factor;
};

/*
 * Parse a decimal number that is not negative, and behind it one of units: *value is their product.
 * 0, or -EINVAL; logs nothing.
 */
int quantity_parse(const char *text, const struct quantity_unit *units, double *value);

/* Times in ns. A number alone is seconds. */
extern const struct quantity_unit setting_times[];
#define NS_OF_MS 1e6
#define NS_OF_S 1e9
#define NS_OF_H (3600 * NS_OF_S)
#define NS_OF_D (24 * NS_OF_H)

/* ---- a setting ---- */

struct setting;

/* Why a value is refused, after "invalid --NAME 'VALUE': ". Filled when the answer is -EINVAL. */
#define SETTING_WHY_BYTES 320
struct setting_why {
	char text[SETTING_WHY_BYTES];
};
/* Fill *why. -EINVAL. */
int setting_why(struct setting_why *why, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* How values are written in YAML. */
enum setting_shape {
	SETTING_SCALAR,
	SETTING_LIST,		/* of scalars; one alone is a list, too */
	SETTING_MAP,		/* of names to scalars */
	SETTING_RULES,		/* a list of maps */
};

/* A type of values. A field is zero before its first value. */
struct setting_type {
	const char *name;	/* for people: "duration" */
	const char *arg;	/* the value in --help, if the row does not say; NULL: none */
	enum setting_shape shape;
	size_t bytes;		/* of the field */
	/*
	 * Set the field to text; of the other shapes, add text as a command line gives it: an item,
	 * NAME=VALUE, a rule. NULL: the option stood alone. 0, -ENOMEM, or -EINVAL with *why, which
	 * is empty if it was logged; then the field is as it was.
	 */
	int (*set)(const struct setting *s, void *field, const char *text, struct setting_why *why);
	/* The same for the value of an OpenTelemetry variable; NULL: as set. */
	int (*set_env)(const struct setting *s, void *field, const char *text,
		       struct setting_why *why);
	/* What a bad value is answered with, and the docs' column "allowed"; NULL: anything. */
	void (*allowed)(const struct setting *s, FILE *out);
	/* The i-th word that it takes, of those that have no table of words; NULL: no more. */
	const char *(*word)(const struct setting *s, size_t i);
	/*
	 * The value as YAML: scalars and [items] behind "KEY:"; maps and rules as lines below it,
	 * each of which begins with indent blanks; without the last newline. NULL: it is in no
	 * file.
	 */
	void (*print)(const struct setting *s, const void *field, int indent, FILE *out);
	/* NULL: the bytes say it. */
	bool (*equal)(const void *a, const void *b);
	/* Free what the field owns, and make it zero. NULL: only the latter. */
	void (*clear)(void *field);
	/* Of numbers: their units; what 1 in the field is in these; only whole ones. */
	const struct quantity_unit *units;
	double unit;
	bool whole;
};

/* A word that a setting takes. */
struct setting_word {
	const char *name;	/* NULL ends a table */
	int value;
};

struct setting {
	char letter;		/* of the option; 0: long form only */
	const char *name;	/* of the option, without the dashes; NULL: see others */
	const char *arg;	/* its value in --help; NULL: the type's; "[=X]": can be left out */
	const char *group;	/* heading in --help; neighbours have the same */
	const char *help;	/* NULL: an old name of an option, which is not shown */
	const struct setting_type *type;
	size_t off;		/* of the field in what the command line or file fills */
	const char *preset;	/* the default, as an option gives it; NULL: empty, 0 or false */
	double min, max;	/* of numbers: what is allowed, in their units */
	const struct setting_word *words;	/* of choices */
	const char *wanted;	/* the answer to a bad value; NULL: "give" and what is allowed */
	const void *data;	/* for the type */
	/* Without a name: the row stands for all those of this table; NULL: it ends its table. */
	const struct setting *others;

	/* Of a configuration file; NULL: it is none of its keys. */
	const char *path;	/* in YAML, "exporters.otlp.endpoint" */
	const char *env[2];	/* OpenTelemetry's variables, the stronger first; NULL: none */
	/* What a text, an item of a list, or a name of a map must be, beyond its type. */
	int (*check)(const struct setting *s, const char *text, struct setting_why *why);
	bool secret;		/* not shown, and no option: all can read a command line */
	bool restart;		/* a reload cannot change it */
	bool needed;		/* may not be empty */
};

/* The offset of a field, which must have the size of this type: else it does not compile. */
#define SETTING_OFF(owner, member, type)                                                           \
	(offsetof(owner, member) +                                                                 \
	 0 * sizeof(char[sizeof(((owner *)0)->member) == sizeof(type) ? 1 : -1]))

/* Numbers. */
extern const struct setting_type setting_integer;	/* uint32_t */
extern const struct setting_type setting_count;		/* uint64_t: 10k, 1m */
extern const struct setting_type setting_rate;		/* uint32_t, Hz: 99, 10khz */
extern const struct setting_type setting_number;	/* double */
extern const struct setting_type setting_percent;	/* double, in percent */
extern const struct setting_type setting_duration;	/* uint64_t, ns */
extern const struct setting_type setting_microseconds;	/* uint64_t */
extern const struct setting_type setting_seconds;	/* double */
extern const struct setting_type setting_size;		/* uint64_t, bytes */
/* Words, in either case. */
extern const struct setting_type setting_choice;	/* an enum */
extern const struct setting_type setting_switch;	/* bool: the word's value */
extern const struct setting_type setting_choices;	/* uint32_t: words' values, joined by or */
extern const struct setting_type setting_boolean;	/* bool; as options, --NAME and --no-NAME */
/* Options without a value. */
extern const struct setting_type setting_flag;		/* bool: true */
extern const struct setting_type setting_no_flag;	/* bool: false; its preset makes it true */
extern const struct setting_type setting_fixed;		/* an enum: the row's only word's */
/* Texts that stay where they are, as those of a command line do: const char *, not empty. */
extern const struct setting_type setting_text;
extern const struct setting_type setting_file;		/* of a file or directory */

/* The setting's value in --help; NULL: it has none. */
const char *setting_arg(const struct setting *s);
/* Returns true if the value can be left out. */
bool setting_value_is_optional(const struct setting *s);
/* The i-th word that the setting takes, if these are few; NULL: no more. */
const char *setting_word(const struct setting *s, size_t i);
/* Fill *why with what the setting allows. -EINVAL or -ENOMEM. */
int setting_not_allowed(const struct setting *s, struct setting_why *why);
/* What words there are: "a, b or c". */
void setting_list_words(const struct setting *s, FILE *out);

#endif
