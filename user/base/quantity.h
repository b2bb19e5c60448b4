/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* quantity.h - numbers with a unit, as people write them: "15s", "256MiB", "0.5%". */
#ifndef TACHBPF_QUANTITY_H
#define TACHBPF_QUANTITY_H

struct quantity_unit {
	const char *name;	/* NULL ends a table; "": no unit; case-insensitive */
	double factor;
};

/*
 * Parses a non-negative decimal number followed by one of units: *value is their product. Returns
 * 0, or -EINVAL; logs nothing.
 */
int quantity_parse(const char *text, const struct quantity_unit *units, double *value);

#endif
