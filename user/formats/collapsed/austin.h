/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * austin.h - what is special in the folded stacks of austin: a head that says what is counted, and
 * how processes and threads are named.
 */
#ifndef TACHBPF_AUSTIN_H
#define TACHBPF_AUSTIN_H

#include "model/event.h"

struct input;

/* Without a head of austin's, known is false and the rest is what folded stacks are otherwise. */
struct austin {
	bool known;
	enum profile_unit unit;
	enum profile_mode mode;
	uint64_t factor;	/* from a count in the file to the unit: it counts microseconds */
	uint64_t interval_us;
};

/* Read "# austin: 3.6.0", "# interval: 100", "# mode: wall" at the beginning of a file. */
struct austin austin_head(const struct input *in);

/* "P12" is a process, "T0:34" or "T34" is a thread. */
bool austin_process(const struct string_ref *s, uint64_t *tgid);
bool austin_thread(const struct string_ref *s, uint64_t *tid);

#endif
