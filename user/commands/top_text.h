/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* top_text.h - what the rows and titles of `tachbpf top` have in common: shares, places, functions. */
#ifndef TACHBPF_TOP_TEXT_H
#define TACHBPF_TOP_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "host/containers.h"

struct process;
struct profile_tables;
struct top_ui;

/* Which share of `of` ns is, in percent; 0 if there is nothing to compare with. */
double top_percent(uint64_t ns, uint64_t of);

/* printf into new memory, to be freed; NULL: no memory. */
__attribute__((format(printf, 1, 2))) char *top_text(const char *format, ...);

/* Where a process is: its container, else its unit, else its user. Any bytes. */
void top_where(const struct process *p, char out[CONTAINER_LABEL_BYTES]);

/*
 * "handle (app.py)", or with a line above 0 "handle (app.py:7)": printable, to be freed; NULL: no
 * memory. file, func: strings of t.
 */
char *top_function(const struct profile_tables *t, uint32_t file, uint32_t func, int32_t line);

/* Of which time the counts of processes are, in ns. now: now_ns(). */
uint64_t top_span(const struct top_ui *ui, uint64_t now);

/* Write "cpu mode, 99 Hz, last 10 s" to out. */
void top_say_what(const struct top_ui *ui, uint64_t span_ns, char *out, size_t size);

#endif
