// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* command_label.c - see command_label.h. Options are read as Python/getopt.c does. */
#include "telemetry/command_label.h"

#include <stdbool.h>
#include <string.h>

#include "base/string_ref.h"
#include "base/text.h"
#include "base/util.h"
#include "telemetry/program_name.h"

/* A command line that is read from the left. */
struct words {
	const char *at, *end;
	char separator;
};

/* Returns the next word, and moves behind it; its length is 0 if there is none. */
static struct string_ref next_word(struct words *w)
{
	struct string_ref word;

	while (w->at < w->end && *w->at == w->separator)
		w->at++;
	word.data = w->at;
	while (w->at < w->end && *w->at != w->separator)
		w->at++;
	word.len = (size_t)(w->at - word.data);
	return word;
}

/* Without the directory, except that of a package's __main__.py. */
static struct string_ref without_directory(struct string_ref path)
{
	static const char package[] = "/__main__.py";
	const char *slash = memrchr(path.data, '/', path.len);
	size_t rest = slash ? (size_t)(path.data + path.len - slash) : 0;

	if (rest == strlen(package) && !memcmp(slash, package, rest))
		slash = memrchr(path.data, '/', (size_t)(slash - path.data));
	if (slash && slash + 1 < path.data + path.len) {
		path.len -= (size_t)(slash + 1 - path.data);
		path.data = slash + 1;
	}
	return path;
}

/* What a label consists of: "-m ", "-c " or nothing, and a part of the command line. */
struct parts {
	const char *option;
	const char *begin;
};

/*
 * Reads the interpreter's options, up to what it executes. Returns false if this is not in the
 * command line.
 */
static bool find_program(struct words *w, struct parts *p)
{
	struct string_ref word;
	size_t i;

	while ((word = next_word(w)).len) {
		if (word.data[0] != '-') {
			p->begin = without_directory(word).data;
			return true;
		}
		if (word.len == 1)
			return false;	/* the program is its input */
		if (word.data[1] == '-')
			continue;
		for (i = 1; i < word.len && !strchr("cmWX", word.data[i]); i++)
			;
		if (i == word.len)
			continue;
		p->begin = word.data + i + 1;
		if (i + 1 == word.len)
			p->begin = next_word(w).data;
		if (word.data[i] == 'W' || word.data[i] == 'X')
			continue;
		p->option = word.data[i] == 'm' ? "-m " : "-c ";
		return p->begin < w->end;
	}
	return false;
}

static struct parts find_parts(struct words w)
{
	struct string_ref first = without_directory(next_word(&w));
	struct parts whole = { "", first.data }, program = { "", NULL };
	char name[PROGRAM_NAME_BYTES];

	/* A title that the program has set: "gunicorn: worker [shop]". */
	if (first.len && (first.data[first.len - 1] == ':' || *first.data == '['))
		return whole;
	escape_text(first.data, first.len, name, sizeof(name));
	if (program_is_python(name) && find_program(&w, &program))
		return program;
	return whole;
}

/* Appends text with single blanks instead of separators and line ends. Returns the new length. */
static size_t add_text(char *raw, size_t used, size_t size, const char *text, const char *end)
{
	for (; text < end && used < size; text++) {
		bool blank = !*text || strchr(" \t\r\n", *text);

		if (!blank)
			raw[used++] = *text;
		else if (used && raw[used - 1] != ' ')
			raw[used++] = ' ';
	}
	while (used && raw[used - 1] == ' ')
		used--;
	return used;
}

char *command_label(const char *command, size_t len, size_t width, char out[COMMAND_LABEL_BYTES])
{
	char raw[COMMAND_LABEL_BYTES];
	struct words w = { command, command + len, '\0' };
	struct parts p;
	size_t used;

	while (w.end > w.at && !w.end[-1])
		w.end--;
	if (!memchr(w.at, '\0', (size_t)(w.end - w.at)))
		w.separator = ' ';
	p = find_parts(w);
	used = strlen(p.option);
	memcpy(raw, p.option, used);
	used = add_text(raw, used, sizeof(raw), p.begin, w.end);
	escape_text(raw, used, out, COMMAND_LABEL_BYTES);
	return text_shorten(out, COMMAND_LABEL_BYTES, width);
}
