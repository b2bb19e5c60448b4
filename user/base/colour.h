/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * colour.h - colours on terminals: whether to use them, and their escape sequences.
 *
 * Colours never carry information that the text lacks.
 */
#ifndef TACHBPF_COLOUR_H
#define TACHBPF_COLOUR_H

#include <stdbool.h>
#include <stdio.h>

/*
 * COLOUR_AUTO: if the output is a terminal, TERM is not "dumb", and NO_COLOR (no-color.org) is
 * neither set nor empty.
 */
enum colour_when { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER };
void colour_choose(enum colour_when when);

enum colour { COLOUR_NONE, COLOUR_BOLD, COLOUR_RED, COLOUR_GREEN, COLOUR_YELLOW };

/* Return the sequence that begins this colour, and that ends any; "" if out has no colours. */
const char *colour_on(FILE *out, enum colour colour);
const char *colour_off(FILE *out);

/*
 * Keeps the current answer for stdout: it is about to become a pipe to a program that shows it on
 * this terminal.
 */
void colour_keep(void);

#endif
