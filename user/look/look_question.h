/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* look_question.h - what the worker must know of a process to read its threads. */
#ifndef TACHBPF_LOOK_LOOK_QUESTION_H
#define TACHBPF_LOOK_LOOK_QUESTION_H

#include "cpython/frames.h"

struct process;

/* Returns true if it is in its own pid namespace. False also if that is unknown. */
bool look_is_nested(const struct process *p);
/* interps 0: the address of its interpreters is unknown. */
struct py_frames_at look_frames_at(const struct process *p);

#endif
