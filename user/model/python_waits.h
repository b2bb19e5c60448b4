/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* python_waits.h - what a thread waits for, in the few kinds that metrics have. */
#ifndef TACHBPF_PYTHON_WAITS_H
#define TACHBPF_PYTHON_WAITS_H

#include "base/string_ref.h"

enum python_wait {
	PYTHON_WAIT_LOCK,	/* for another thread or process to release something */
	PYTHON_WAIT_IO,		/* for files, sockets, pipes, memory from disk */
	PYTHON_WAIT_SLEEP,	/* for time to pass */
	PYTHON_WAIT_RUNNABLE,	/* for a CPU */
	PYTHON_WAIT_HELD,	/* for nothing: stopped by a signal, traced, or frozen */
	PYTHON_WAIT_OTHER,
	PYTHON_WAITS
};

/*
 * Returns the kind of a synthetic frame (resolve/other_frames.h): "<blocked in futex>" is a lock. A
 * frame that is not a wait: PYTHON_WAITS.
 */
enum python_wait python_wait_of(const struct string_ref *frame);

#endif
