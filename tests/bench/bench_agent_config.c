// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * bench_agent_config.c - what it costs to load the agent's configuration: a usual file, and files
 * of 1 MiB that repeat a piece of text, most of which are refused.
 *
 *     bench_agent_config FILE...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "config/config.h"
#include "base/util.h"

#define MIB (1u << 20)

/* CPU time of one load, in us; *good: it was accepted. */
static double load_us(const void *text, size_t len, unsigned int times, bool *good)
{
	double begin = cpu_time_s();
	unsigned int i;

	for (i = 0; i < times; i++) {
		struct agent_config *c = agent_config_parse("bench", text, len);

		*good = c != NULL;
		agent_config_free(c);
	}
	return (cpu_time_s() - begin) * 1e6 / times;
}

static void bench_repeated(const char *begin, const char *piece, char *text)
{
	size_t len = strlen(begin), n = strlen(piece);
	char shown[64];
	double us;
	bool good;

	memcpy(text, begin, len);
	for (; len + n <= MIB; len += n)
		memcpy(text + len, piece, n);
	us = load_us(text, len, 1, &good);
	escape_text(piece, n, shown, sizeof(shown));
	printf("%-24s %8.0f us  %s\n", shown, us, good ? "accepted" : "refused");
}

static int bench_file(const char *path)
{
	struct buf text = { .data = NULL };
	FILE *f = fopen(path, "re");
	double us;
	bool good;

	if (!f || buf_add_file(&text, fileno(f), MIB)) {
		perror(path);
		return 1;
	}
	fclose(f);
	us = load_us(text.data, text.len, 1000, &good);
	printf("%-24s %8.1f us  %s, %zu bytes\n",
	       strrchr(path, '/') ? strrchr(path, '/') + 1 : path,
	       us, good ? "accepted" : "refused", text.len);
	buf_free(&text);
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const pieces[][2] = {
		{ "", "[" }, { "", "{" }, { "", "- " }, { "", "? " }, { "", "#" }, { "", "# x\n" },
		{ "", "\n" }, { "", "'" }, { "", "a: " }, { "a: \"", "\\u263a" },
		{ "a: |\n", " x\n" },
		{ "[", "a," }, { "[", "\"a\":b,\n" }, { "[\n", "[],\n" }, { "", "%YAML 1.1\n" },
		{ "", "--- a\n" }, { "", "&a " }, { "labels: {", "? a\n, " },
		{ "selection:\n  comm:\n", "  - [a,b,c,d]\n" },
	};
	static char text[MIB + 1];
	struct rusage used;
	int i;

	for (i = 1; i < argc; i++)
		if (bench_file(argv[i]))
			return 1;
	stderr = fopen("/dev/null", "we");
	for (i = 0; stderr && i < (int)ARRAY_SIZE(pieces); i++)
		bench_repeated(pieces[i][0], pieces[i][1], text);
	getrusage(RUSAGE_SELF, &used);
	printf("largest RSS: %ld KiB\n", used.ru_maxrss);
	return 0;
}
