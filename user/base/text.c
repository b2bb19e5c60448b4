// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * text.c - widths of text and of terminals. See text.h.
 */
#include "base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/util.h"

/* The minimum: a narrower terminal wraps lines. */
#define NARROWEST 60

char *text_escape(const char *s, size_t len)
{
	size_t size = len * 4 + 5;	/* \xNN for each byte; escape_text() needs room for one
					 * more */
	char *out = malloc(size);

	return out ? escape_text(s, len, out, size) : NULL;
}

const char *text_plural(uint64_t cnt, const char *one, const char *many)
{
	return cnt == 1 ? one : many;
}

/* Returns true if c is the first byte of a character. */
static bool starts_char(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

/* How many columns text takes: one for each character. */
static size_t text_width(const char *text)
{
	size_t width = 0;

	for (; *text; text++)
		width += starts_char(*text);
	return width;
}

static size_t kept_width;	/* of stdout, if it is a pipe to a pager */

size_t text_terminal_width(FILE *out)
{
	struct winsize ws;

	if (kept_width && out == stdout)
		return kept_width;
	if (!isatty(fileno(out)))
		return 0;
	if (ioctl(fileno(out), TIOCGWINSZ, &ws) || !ws.ws_col)
		return TEXT_COLUMNS;
	return ws.ws_col < NARROWEST ? NARROWEST : ws.ws_col;
}

void text_keep_terminal_width(void)
{
	kept_width = text_terminal_width(stdout);
}

void text_wrap(FILE *out, const char *text, size_t indent, size_t width)
{
	size_t used = indent;

	if (!width) {
		fprintf(out, "%s\n", text);
		return;
	}
	for (text += strspn(text, " \n"); *text; text += strspn(text, " \n")) {
		size_t len = strcspn(text, " \n"), columns = 0, i;

		for (i = 0; i < len; i++)
			columns += starts_char(text[i]);
		if (used > indent && used + 1 + columns > width) {
			fprintf(out, "\n%*s", (int)indent, "");
			used = indent;
		} else if (used > indent) {
			fputc(' ', out);
			used++;
		}
		fwrite(text, 1, len, out);
		used += columns;
		text += len;
	}
	fputc('\n', out);
}

int text_wrap_written(FILE *out, void (*write)(const void *ctx, FILE *text), const void *ctx,
		      size_t width)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	int err = -ENOMEM;

	if (f) {
		write(ctx, f);
		err = fclose(f) ? -ENOMEM : 0;
	}
	if (!err)
		text_wrap(out, text, 0, width);
	free(text);
	return err;
}

/* Returns the number of bytes in the first n characters of text. */
static size_t bytes_of(const char *text, size_t n)
{
	size_t i = 0;

	for (; text[i]; i++)
		if (starts_char(text[i]) && !n--)
			break;
	return i;
}

void text_print(FILE *out, const char *text, size_t width, enum text_cut cut, bool pad)
{
	size_t has = text_width(text);

	if (!width || has <= width)
		fputs(text, out);
	else if (cut == CUT_LEFT)
		fprintf(out, "…%s", text + bytes_of(text, has - width + 1));
	else
		fprintf(out, "%.*s…", (int)bytes_of(text, width - 1), text);
	if (pad && has < width)
		fprintf(out, "%*s", (int)(width - has), "");
}

char *text_shorten(char *text, size_t size, size_t width)
{
	static const char dots[] = "…";
	size_t at = width ? bytes_of(text, width - 1) : 0;

	if (width && text_width(text) > width && at + sizeof(dots) <= size)
		memcpy(text + at, dots, sizeof(dots));
	return text;
}

size_t text_widest(size_t width, const char *text)
{
	size_t own = text_width(text);

	return own > width ? own : width;
}

void text_cell(FILE *out, const struct text_column *column, const char *text, bool more)
{
	size_t own = text_width(text), width = column->width;

	if (column->spill && own > width)
		width = 0;
	if (column->right && own < width)
		fprintf(out, "%*s", (int)(width - own), "");
	text_print(out, text, width, column->cut, more && !column->right);
	if (more)
		fputs("  ", out);
}
