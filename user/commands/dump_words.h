/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dump_words.h - what the parts of the text of `tachbpf dump` have in common. */
#ifndef TACHBPF_DUMP_WORDS_H
#define TACHBPF_DUMP_WORDS_H

#include <stddef.h>

#include "look/look.h"

/* Print text from a target, at most 1 KiB: what is no printable UTF-8 is escaped. */
void dump_text_escaped(const char *text, size_t len);
/* Print the name of a task, or its address. */
void dump_text_task(const struct task *task);
/* Print a thread's tid and its name: 7 "reader". */
void dump_text_thread(const struct look_process *p, const struct look_thread *t);

#endif
