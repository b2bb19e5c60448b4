// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * profile_text.c - see profile_text.h.
 */
#include "model/profile_text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/util.h"

/* The fewest columns: a narrower terminal wraps lines. */
#define NARROWEST 60

const char *profile_mode_name(enum profile_mode mode)
{
	static const char *const names[] = {
		[MODE_WALL] = "wall", [MODE_CPU] = "cpu", [MODE_GIL] = "gil", [MODE_ALL] = "all",
		[MODE_EXCEPTION] = "exception",
	};

	return mode >= 0 && (size_t)mode < ARRAY_SIZE(names) ? names[mode] : "unknown";
}

const char *profile_layout_name(enum tach_layout layout)
{
	static const char *const names[] = {
		[TACH_RELEASE] = "release", [TACH_DRAFT1] = "draft1", [TACH_DRAFT2] = "draft2",
	};

	return (size_t)layout < ARRAY_SIZE(names) ? names[layout] : "unknown";
}

const char *profile_feature_at(size_t i, uint32_t *bit)
{
	static const struct {
		const char *name;
		uint32_t bit;
	} features[] = {
		{ "all_threads", FEATURE_ALL_THREADS }, { "native", FEATURE_NATIVE },
		{ "gc", FEATURE_GC }, { "opcodes", FEATURE_OPCODES },
		{ "blocking", FEATURE_BLOCKING },
	};

	if (i >= ARRAY_SIZE(features))
		return NULL;
	*bit = features[i].bit;
	return features[i].name;
}

char *text_escape(const char *s, size_t len)
{
	size_t size = len * 4 + 5;	/* \xNN for each byte; escape_text()
					 * wants room for one more */
	char *out = malloc(size);

	return out ? escape_text(s, len, out, size) : NULL;
}

/* Is c the first byte of a character? */
static bool starts(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

size_t text_width(const char *text)
{
	size_t width = 0;

	for (; *text; text++)
		width += starts(*text);
	return width;
}

size_t text_terminal_width(FILE *out)
{
	struct winsize ws;

	if (!isatty(fileno(out)) || ioctl(fileno(out), TIOCGWINSZ, &ws) || !ws.ws_col)
		return 0;
	return ws.ws_col < NARROWEST ? NARROWEST : ws.ws_col;
}

/* Number of bytes in the first n characters of text. */
static size_t bytes_of(const char *text, size_t n)
{
	size_t i = 0;

	for (; text[i]; i++)
		if (starts(text[i]) && !n--)
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
