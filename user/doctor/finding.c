// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* finding.c - the result of a check: see doctor.h. */
#include <stdarg.h>
#include <stdio.h>

#include "doctor/doctor.h"

void finding_set(struct finding *f, enum verdict verdict, const char *fmt, ...)
{
	va_list ap;

	f->verdict = verdict;
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
}

void finding_fix(struct finding *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->fix, sizeof(f->fix), fmt, ap);
	va_end(ap);
}
