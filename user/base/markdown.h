/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* markdown.h - puts hostile text into Markdown as code. */
#ifndef TACHBPF_MARKDOWN_H
#define TACHBPF_MARKDOWN_H

#include <stddef.h>
#include <stdio.h>

#include "base/text.h"

/*
 * Writes text (printable: text_escape()) as inline code, cut to width columns; nothing if it is
 * empty. In a paragraph or in a cell of a table it is shown as it is, by CommonMark, GitHub and
 * GitLab: nothing in it ends the code or the cell, is HTML, or becomes a link, a mention or an
 * image. Returns 0 or -ENOMEM.
 */
int markdown_code(FILE *out, const char *text, size_t width, enum text_cut cut);

#endif
