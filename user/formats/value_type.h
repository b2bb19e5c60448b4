/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * value_type.h - the types of values in formats whose samples have several: pprof and OTLP. Chooses
 * the one that becomes the weight of events, and converts its unit.
 */
#ifndef TACHBPF_VALUE_TYPE_H
#define TACHBPF_VALUE_TYPE_H

#include "base/string_ref.h"
#include "formats/read_error.h"
#include "model/reader.h"

/* "cpu", "nanoseconds"; as in the file, any bytes. */
struct value_type {
	struct string_ref type, unit;
};

/* What a value of this type is here: a value times `factor` is in `unit`. */
struct value_scale {
	enum profile_unit unit;
	uint64_t factor;
};
struct value_scale value_scale_of(const struct value_type *t);

/* Returns the mode that a type's name says; MODE_UNKNOWN: another one. */
enum profile_mode value_mode_of(const struct value_type *t);

/*
 * Returns the index of the type that args asks for: the one named args->type, else the one that
 * args->value means, else preset. cnt: args->type is not among them.
 */
size_t value_choose(const struct value_type *types, size_t cnt, size_t preset,
		    const struct reader_args *args);

/*
 * Says in *why that there is no type of the wanted name, and which there are. Returns -ENODATA.
 */
int value_missing(const struct value_type *types, size_t cnt, const char *wanted,
		  const struct reason *why);

/* Finds a type by its name. Returns its index; cnt: there is none. */
size_t value_find(const struct value_type *types, size_t cnt, const char *name);

/* Returns a period of this type in ns; 0: it is no time, or no sensible one (over a day). */
uint64_t value_period_ns(const struct value_type *t, uint64_t period);

/*
 * Sets the weight of a value, v as a signed number, times factor. at: its position, for messages.
 * Returns 0, or -EBADMSG with a reason if it is negative or too large.
 */
int value_weigh(uint64_t v, uint64_t factor, uint64_t at, uint64_t *weight,
		const struct reason *why);

#endif
