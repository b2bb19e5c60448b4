/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * settings.h - a setting is one row: its name, type, default, limits and help, and where it may be
 * set. Command lines and --help (cli.h), shell completion, and the agent's configuration with its
 * file, variables and tables in documents are made of such rows.
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
	const char *name;	/* NULL ends a table; "": no unit; case-insensitive */
	double factor;
};

/*
 * Parses a non-negative decimal number followed by one of units: *value is their product. Returns
 * 0, or -EINVAL; logs nothing.
 */
int quantity_parse(const char *text, const struct quantity_unit *units, double *value);

/* Times in ns. A number without a unit is in seconds. */
extern const struct quantity_unit setting_times[];
#define NS_OF_MS 1e6
#define NS_OF_S 1e9
#define NS_OF_H (3600 * NS_OF_S)
#define NS_OF_D (24 * NS_OF_H)

/* ---- a setting ---- */

struct setting;

/* Why a value is refused, after "invalid --NAME 'VALUE': ". Filled if the result is -EINVAL. */
#define SETTING_WHY_BYTES 320
struct setting_why {
	char text[SETTING_WHY_BYTES];
};
/* Fills *why. Returns -EINVAL. */
int setting_why(struct setting_why *why, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The form of values in YAML. */
enum setting_shape {
	SETTING_SCALAR,
	SETTING_LIST,		/* of scalars; a single one is a list, too */
	SETTING_MAP,		/* of names to scalars */
	SETTING_RULES,		/* a list of maps */
};

/* A type of values. A field is zero before its first value. */
struct setting_type {
	const char *name;	/* for people: "duration" */
	const char *arg;	/* the value in --help, unless the row has one; NULL: none */
	enum setting_shape shape;
	size_t bytes;		/* of the field */
	/*
	 * Sets the field to text; for the other shapes, adds text in the form of a command line: an
	 * item, NAME=VALUE, a rule. NULL: the option has no value. Returns 0, -ENOMEM, or -EINVAL
	 * with *why, which is empty if it was logged; then the field is unchanged.
	 */
	int (*set)(const struct setting *s, void *field, const char *text, struct setting_why *why);
	/* The same for the value of an OpenTelemetry variable; NULL: as set. */
	int (*set_env)(const struct setting *s, void *field, const char *text,
		       struct setting_why *why);
	/* Prints the reply to a bad value, and the docs' column "allowed"; NULL: anything. */
	void (*allowed)(const struct setting *s, FILE *out);
	/* Returns the i-th allowed word of a type without a table of words; NULL: no more. */
	const char *(*word)(const struct setting *s, size_t i);
	/*
	 * Prints the value as YAML: scalars and [items] after "KEY:"; maps and rules as lines below
	 * it, each indented by `indent` blanks; without the last newline. NULL: it is in no file.
	 */
	void (*print)(const struct setting *s, const void *field, int indent, FILE *out);
	/* NULL: compares bytes. */
	bool (*equal)(const void *a, const void *b);
	/* Frees what the field owns, and zeroes it. NULL: only zeroes it. */
	void (*clear)(void *field);
	/* Of numbers: their units; the field's unit in these; only integers. */
	const struct quantity_unit *units;
	double unit;
	bool whole;
};

/* A word that a setting accepts. */
struct setting_word {
	const char *name;	/* NULL ends a table */
	int value;
};

struct setting {
	char letter;		/* of the option; 0: long form only */
	const char *name;	/* of the option, without the dashes; NULL: see others */
	const char *arg;	/* its value in --help; NULL: the type's; "[=X]": optional */
	const char *group;	/* heading in --help; adjacent rows have the same */
	const char *help;	/* NULL: an old name of an option, which is not shown */
	const struct setting_type *type;
	size_t off;		/* of the field in the struct that the command line or file fills */
	const char *preset;	/* the default, in the form of an option; NULL: empty, 0 or false */
	double min, max;	/* of numbers: the limits, in their units */
	const struct setting_word *words;	/* of choices */
	const char *wanted;	/* the reply to a bad value; NULL: the allowed ones */
	const void *data;	/* for the type */
	/* Without a name: the row stands for all rows of this table; NULL: it ends its table. */
	const struct setting *others;

	/* For a configuration file; NULL: not one of its keys. */
	const char *path;	/* in YAML, "exporters.otlp.endpoint" */
	const char *env[2];	/* OpenTelemetry's variables, in descending priority; NULL: none */
	/* Checks a text, an item of a list, or a name of a map, in addition to its type. */
	int (*check)(const struct setting *s, const char *text, struct setting_why *why);
	bool secret;		/* not shown, and no option: everybody can read a command line */
	bool restart;		/* a reload cannot change it */
	bool needed;		/* may not be empty */
};

/* The offset of a field, which must have the size of this type: otherwise it does not compile. */
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
/* Words, case-insensitive. */
extern const struct setting_type setting_choice;	/* an enum */
extern const struct setting_type setting_switch;	/* bool: the word's value */
extern const struct setting_type setting_choices;	/* uint32_t: words' values, joined by or */
extern const struct setting_type setting_boolean;	/* bool; as options, --NAME and --no-NAME */
/* Options without a value. */
extern const struct setting_type setting_flag;		/* bool: true */
extern const struct setting_type setting_no_flag;	/* bool: false; its preset makes it true */
extern const struct setting_type setting_fixed;		/* an enum: the row's only word's */
/* Texts that are not copied, as those of a command line: const char *, not empty. */
extern const struct setting_type setting_text;
extern const struct setting_type setting_file;		/* of a file or directory */

/* Returns the setting's value in --help; NULL: none. */
const char *setting_arg(const struct setting *s);
/* Returns true if the value is optional. */
bool setting_value_is_optional(const struct setting *s);
/* Returns the i-th word that the setting accepts, if these are few; NULL: no more. */
const char *setting_word(const struct setting *s, size_t i);
/* Fills *why with the allowed values. Returns -EINVAL or -ENOMEM. */
int setting_not_allowed(const struct setting *s, struct setting_why *why);
/* Prints the words: "a, b or c". */
void setting_list_words(const struct setting *s, FILE *out);

#endif
