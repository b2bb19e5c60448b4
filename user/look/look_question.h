/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* look_question.h - what the worker must know of a process to read its threads. */
#ifndef TACHBPF_LOOK_LOOK_QUESTION_H
#define TACHBPF_LOOK_LOOK_QUESTION_H

#include "cpython/frames.h"

struct process;

/* Is it in a pid namespace of its own? False also if that is not known. */
bool look_is_nested(const struct process *p);
/* interps 0: it is not known where its interpreters are. */
struct py_frames_at look_frames_at(const struct process *p);

#endif
