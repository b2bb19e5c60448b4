/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* options_test.h - what tests of command lines share: a line in, struct options out. */
#ifndef TACHBPF_OPTIONS_TEST_H
#define TACHBPF_OPTIONS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "commands/options.h"

#define MAX_WORDS 32

static struct options o;

/* Parse "tachbpf " + rest, split at spaces. */
static inline int parse(const char *rest)
{
	static char line[512], *words[MAX_WORDS + 1];
	char *word, *save;
	int cnt = 0;

	options_free(&o);
	snprintf(line, sizeof(line), "tachbpf %s", rest);
	for (word = strtok_r(line, " ", &save); word; word = strtok_r(NULL, " ", &save))
		words[cnt++] = word;
	assert_true(cnt <= MAX_WORDS);
	words[cnt] = NULL;
	return options_parse(&o, cnt, words);
}

#endif
