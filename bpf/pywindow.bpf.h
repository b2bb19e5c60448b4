/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pywindow.bpf.h - windows of time in which code objects are not read again.
 *
 * Up to 3.11 no counter of the interpreter changes when a code object is replaced, so each sample
 * has to read all code objects and names of its stack: memory that the program itself does not
 * touch. A process therefore has windows: what a CPU has read since the window began serves the
 * samples of that window without another read. User space holds them back until the same code
 * objects were read again, after them, with the same fingerprints (user/resolve/confirm.h). What
 * was the same before and after was the same in between.
 *
 * A code object that is freed and recreated in one window, with another one at its address in
 * between, would not be noticed. So a code object is only served without a read if it was read for
 * a second, each time the same, and no other one was seen at its address.
 */
#ifndef TACHBPF_PYWINDOW_H
#define TACHBPF_PYWINDOW_H

#include "pyscratch.bpf.h"

/*
 * Limit on a window, as a share of the time for which the process was sampled: when it ends, its
 * code objects cannot be read again, and only the samples of the last window lose their names.
 */
#define WINDOW_SHARE 1024
/*
 * A code object is not read again after this many reads over this much time, each time the same: a
 * function that lives for a moment, or is seldom seen, would lose names when it goes.
 */
#define STEADY_READS 64
#define STEADY_TIME 1024	/* units of 2^20 ns */

/* py_proc.window counts in units of 2^WINDOW_SHIFT ns, modulo 2^32. */
#define WINDOW_SHIFT 10

/* Maximum length of a window of the process, in ns. */
static __always_inline u64 window_length(const struct py_proc *p)
{
	u64 share = p->ticks * cfg_period_ns / WINDOW_SHARE;

	return share < cfg_window_ns ? share : cfg_window_ns;
}

/*
 * The sample that began at now belongs to the process' window, or begins the next one. Two CPUs may
 * both begin one; then the later one counts, and what the other has read is read again.
 */
static __always_inline void enter_window(struct walk *w, struct py_proc *p, u64 now)
{
	u64 now_units = now >> WINDOW_SHIFT, age = (u32)(now_units - p->window);

	if (age << WINDOW_SHIFT >= window_length(p)) {
		p->window = now_units;
		age = 0;
	}
	w->window_ns = (now_units - age) << WINDOW_SHIFT;
	w->window = (p->ident ^ 0xd6e8feb86659fd93ULL) + w->window_ns * 0x9e3779b97f4a7c15ULL;
}

/* The time of the sample that began at now, for code_cache_entry.since. */
static __always_inline u32 steady_time(u64 now)
{
	return now >> 20;
}

/* The code objects of the interpreter is have certainly not changed while its counter is e. */
static __always_inline void set_certain(struct walk *w, u64 ident, u64 is, u32 e)
{
	w->stamp = (ident ^ is * 0x9e3779b97f4a7c15ULL) + (u64)e * 0xbf58476d1ce4e5b9ULL;
	w->window = w->stamp;
	w->certain = 1;
}

/* No code object was read before this sample. */
static __always_inline void set_fresh(struct scratch *s, struct walk *w, u64 ident)
{
	w->stamp = ++s->seq * 0x94d049bb133111ebULL ^ ident;
	w->window = w->stamp;
	w->certain = 0;
}

#endif
