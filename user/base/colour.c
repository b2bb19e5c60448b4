// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* colour.c - see colour.h. */
#include "base/colour.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum colour_when chosen;
static bool kept;	/* stdout leads to a terminal with colours, through a pager */

void colour_choose(enum colour_when when)
{
	chosen = when;
}

static bool has_colours(FILE *out)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (chosen != COLOUR_AUTO)
		return chosen == COLOUR_ALWAYS;
	if (no && *no)
		return false;
	if (kept && out == stdout)
		return true;
	return isatty(fileno(out)) && term && *term && strcmp(term, "dumb") != 0;
}

const char *colour_on(FILE *out, enum colour colour)
{
	static const char *const sequences[] = {
		[COLOUR_NONE] = "", [COLOUR_BOLD] = "\033[1m", [COLOUR_RED] = "\033[31m",
		[COLOUR_GREEN] = "\033[32m", [COLOUR_YELLOW] = "\033[33m",
	};

	return has_colours(out) ? sequences[colour] : "";
}

const char *colour_off(FILE *out)
{
	return has_colours(out) ? "\033[m" : "";
}

void colour_keep(void)
{
	kept = has_colours(stdout);
}
