/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * quantity.h - what people write as a number with a unit: "15s", "256MiB", "0.5%".
 */
#ifndef TACHBPF_QUANTITY_H
#define TACHBPF_QUANTITY_H

struct quantity_unit {
	const char *name;	/* NULL ends a table; "": no unit; upper and lower case are one */
	double factor;
};

/*
 * Parse a decimal number that is not negative, and behind it one of units: *value is their product.
 * 0, or -EINVAL; logs nothing.
 */
int quantity_parse(const char *text, const struct quantity_unit *units, double *value);

#endif
