// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * markdown.c - inline code: `name` or, if the text has a character that ends code or a table's
 * cell, <code> with every punctuation mark as a character reference. Inside a code span there are
 * no references, and renderers disagree about a pipe after a backslash. See markdown.h.
 */
#include "base/markdown.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void put_references(FILE *out, const char *text)
{
	fputs("<code>", out);
	for (; *text; text++) {
		if (ispunct((unsigned char)*text))
			fprintf(out, "&#%d;", *text);
		else
			fputc(*text, out);
	}
	fputs("</code>", out);
}

int markdown_code(FILE *out, const char *text, size_t width, enum text_cut cut)
{
	char *shown = NULL;
	size_t len;
	FILE *f = open_memstream(&shown, &len);

	if (!f)
		return -ENOMEM;
	text_print(f, text, width, cut, false);
	if (fclose(f)) {
		free(shown);
		return -ENOMEM;
	}
	if (strpbrk(shown, "`|"))
		put_references(out, shown);
	else if (*shown)
		fprintf(out, "`%s`", shown);
	free(shown);
	return 0;
}
