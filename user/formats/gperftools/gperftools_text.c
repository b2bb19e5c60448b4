// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * gperftools_text.c - parses the text in a gperftools profile: the function and line of an address,
 * or the file that was mapped there.
 *
 * Three kinds of lines are known: "0xADDR func (file:line)" (Go), "0xADDR func" (the Perl
 * google-pprof), and those of /proc/PID/maps, with "build=PATH" and "$build" in them. Others are
 * ignored, as the format requires. Names point into the mapped file.
 */
#include "formats/gperftools/gperftools_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/u64map.h"
#include "base/util.h"
#include "formats/read_stack.h"
#include "model/intern.h"

struct symbol {
	uint64_t addr;
	struct string_ref func, file;	/* file.len 0: unknown */
	int32_t line;
};

struct mapping {
	uint64_t start, end, off;
	char *path;
};

struct gperf_text {
	struct buf symbols;	/* struct symbol; sorted by address when complete */
	struct buf mappings;	/* struct mapping; sorted by start when complete */
	bool sorted;
	char *build;		/* value of $build; NULL: not defined */
};

struct gperf_text *gperf_text_new(void)
{
	return calloc(1, sizeof(struct gperf_text));
}

static struct symbol *symbols_of(const struct gperf_text *t)
{
	return (struct symbol *)(void *)t->symbols.data;
}

static struct mapping *mappings_of(const struct gperf_text *t)
{
	return (struct mapping *)(void *)t->mappings.data;
}

size_t gperf_text_symbol_cnt(const struct gperf_text *t)
{
	return t->symbols.len / sizeof(struct symbol);
}

size_t gperf_text_mapping_cnt(const struct gperf_text *t)
{
	return t->mappings.len / sizeof(struct mapping);
}

void gperf_text_free(struct gperf_text *t)
{
	size_t i;

	if (!t)
		return;
	for (i = 0; i < gperf_text_mapping_cnt(t); i++)
		free(mappings_of(t)[i].path);
	buf_free(&t->symbols);
	buf_free(&t->mappings);
	free(t->build);
	free(t);
}

static void skip_blanks(struct string_ref *s)
{
	while (s->len && (*s->data == ' ' || *s->data == '\t')) {
		s->data++;
		s->len--;
	}
}

static void trim_end(struct string_ref *s)
{
	while (s->len && strchr(" \t\r", s->data[s->len - 1]) && s->data[s->len - 1])
		s->len--;
}

/* Takes hexadecimal digits from *s. Returns false if there are none, or more than 64 bits. */
static bool take_hex(struct string_ref *s, uint64_t *v)
{
	uint32_t digits = 0;

	for (*v = 0; s->len; digits++, s->data++, s->len--) {
		char c = *s->data | 0x20;

		if (*s->data >= '0' && *s->data <= '9')
			c = *s->data - '0';
		else if (c >= 'a' && c <= 'f')
			c = c - 'a' + 10;
		else
			break;
		if (*v >> 60)
			return false;
		*v = *v << 4 | (uint64_t)c;
	}
	return digits > 0;
}

static bool take_char(struct string_ref *s, char c)
{
	if (!s->len || *s->data != c)
		return false;
	s->data++;
	s->len--;
	return true;
}

/* Parses "func (file:line)"; without the parentheses all of it is the name. */
static void split_place(struct symbol *sym, struct string_ref s)
{
	const char *open, *colon;
	uint64_t line;

	sym->func = s;
	if (!s.len || s.data[s.len - 1] != ')')
		return;
	colon = memrchr(s.data, ':', s.len);
	open = colon ? memmem(s.data, colon - s.data, " (", 2) : NULL;
	if (!open || open == s.data ||
	    !parse_decimal(colon + 1, s.data + s.len - 1 - (colon + 1), &line) || line > INT32_MAX)
		return;
	sym->func.len = (uint32_t)(open - s.data);
	sym->file = (struct string_ref){ open + 2, (uint32_t)(colon - open - 2) };
	sym->line = (int32_t)line;
}

/* Parses "0xADDR ...". Returns 1 if the line has this form. */
static int symbol_line(struct gperf_text *t, struct string_ref s)
{
	struct symbol sym = { .line = LINE_NONE };

	skip_blanks(&s);
	if (!take_char(&s, '0') || !(take_char(&s, 'x') || take_char(&s, 'X')) ||
	    !take_hex(&s, &sym.addr) || !s.len || (*s.data != ' ' && *s.data != '\t'))
		return 0;
	skip_blanks(&s);
	trim_end(&s);
	if (!s.len)
		return 0;
	split_place(&sym, s);
	return buf_add(&t->symbols, &sym, sizeof(sym)) ? -ENOMEM : 1;
}

static bool is_word(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

/* The path with $build replaced. Returns NULL if memory runs out. */
static char *build_path(const struct gperf_text *t, const struct string_ref *path)
{
	static const char var[] = "$build";
	size_t len = strlen(var), i = 0;
	struct buf b = { 0 };
	int err = 0;

	while (!err && i < path->len) {
		bool here = t->build && path->len - i > len && !memcmp(path->data + i, var, len) &&
			    !is_word(path->data[i + len]);

		err = here ? buf_add(&b, t->build, strlen(t->build)) :
			     buf_add(&b, path->data + i, 1);
		i += here ? len : 1;
	}
	if (!err)
		err = buf_add(&b, "", 1);
	if (!err)
		return (char *)b.data;
	buf_free(&b);
	return NULL;
}

/* Skips n words and the blanks after each. Returns false if there are fewer. */
static bool skip_words(struct string_ref *s, int n)
{
	for (; n; n--) {
		skip_blanks(s);
		if (!s->len)
			return false;
		while (s->len && *s->data != ' ' && *s->data != '\t') {
			s->data++;
			s->len--;
		}
	}
	skip_blanks(s);
	return true;
}

/*
 * Parses "START-END PERMISSIONS OFFSET DEVICE INODE PATH", or "START-END: PATH". Returns 1 if the
 * line has this form.
 */
static int mapping_line(struct gperf_text *t, struct string_ref s)
{
	struct mapping m = { 0 };

	skip_blanks(&s);
	if (!take_hex(&s, &m.start) || !take_char(&s, '-') || !take_hex(&s, &m.end) ||
	    m.start >= m.end)
		return 0;
	if (!take_char(&s, ':')) {
		if (!skip_words(&s, 1) || !take_hex(&s, &m.off) || !skip_words(&s, 2))
			return 0;
	}
	skip_blanks(&s);
	trim_end(&s);
	if (!s.len)
		return 0;
	m.path = build_path(t, &s);
	if (m.path && !buf_add(&t->mappings, &m, sizeof(m)))
		return 1;
	free(m.path);
	return -ENOMEM;
}

static int build_line(struct gperf_text *t, struct string_ref s)
{
	static const char key[] = "build=";

	skip_blanks(&s);
	if (s.len < strlen(key) || memcmp(s.data, key, strlen(key)))
		return 0;
	free(t->build);
	t->build = strndup(s.data + strlen(key), s.len - strlen(key));
	return t->build ? 1 : -ENOMEM;
}

/* Takes the next line of text; *data and *len are then what follows it. False at the end. */
static bool next_line(const char **data, size_t *len, struct string_ref *line)
{
	const char *nl;
	size_t n;

	if (!*len)
		return false;
	nl = memchr(*data, '\n', *len);
	n = nl ? (size_t)(nl - *data) : *len;
	*line = (struct string_ref){ *data, n > UINT32_MAX ? 0 : (uint32_t)n };
	*data += n + (nl != NULL);
	*len -= n + (nl != NULL);
	return true;
}

int gperf_text_symbols(struct gperf_text *t, const char *data, size_t len)
{
	struct string_ref line;
	int got = 0;

	while (got >= 0 && next_line(&data, &len, &line))
		got = symbol_line(t, line);
	t->sorted = false;
	return got < 0 ? got : 0;
}

int gperf_text_trailer(struct gperf_text *t, const char *data, size_t len)
{
	struct string_ref line;
	int got = 0;

	while (got >= 0 && next_line(&data, &len, &line)) {
		got = symbol_line(t, line);
		if (!got)
			got = mapping_line(t, line);
		if (!got)
			got = build_line(t, line);
	}
	t->sorted = false;
	return got < 0 ? got : 0;
}

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* If an address occurs twice, the first one in the file counts. */
static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return x->addr != y->addr ? COMPARE(x->addr, y->addr) : COMPARE(x->func.data, y->func.data);
}

static int compare_mappings(const void *a, const void *b)
{
	const struct mapping *x = a, *y = b;

	return x->start != y->start ? COMPARE(x->start, y->start) : COMPARE(x->end, y->end);
}

static void sort_tables(struct gperf_text *t)
{
	if (t->sorted)
		return;
	if (t->symbols.len)
		qsort(t->symbols.data, gperf_text_symbol_cnt(t), sizeof(struct symbol),
		      compare_symbols);
	if (t->mappings.len)
		qsort(t->mappings.data, gperf_text_mapping_cnt(t), sizeof(struct mapping),
		      compare_mappings);
	t->sorted = true;
}

static const struct symbol *find_symbol(const struct gperf_text *t, uint64_t addr)
{
	const struct symbol *list = symbols_of(t);
	size_t low = 0, high = gperf_text_symbol_cnt(t), all = high;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (list[mid].addr < addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low < all && list[low].addr == addr ? &list[low] : NULL;
}

static const struct mapping *find_mapping(const struct gperf_text *t, uint64_t addr)
{
	const struct mapping *list = mappings_of(t);
	size_t low = 0, high = gperf_text_mapping_cnt(t);

	/* Finds the last one that starts at or below addr. */
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (list[mid].start <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low && addr < list[low - 1].end ? &list[low - 1] : NULL;
}

/* Names an address "libc.so.6+0x1234", or by itself. */
static int unnamed_frame(const struct gperf_text *t, struct intern *in, uint64_t addr,
			 uint32_t *frame)
{
	const struct mapping *m = find_mapping(t, addr);
	struct string_ref file = { SYNTHETIC_FILE, strlen(SYNTHETIC_FILE) }, func;
	const char *base;
	char *name = NULL;
	int err, n;

	if (m) {
		base = strrchr(m->path, '/') ? strrchr(m->path, '/') + 1 : m->path;
		n = asprintf(&name, "%s+0x%" PRIx64, base, addr - m->start + m->off);
		file = (struct string_ref){ m->path, (uint32_t)strlen(m->path) };
	} else {
		n = asprintf(&name, "0x%" PRIx64, addr);
	}
	if (n < 0)
		return -ENOMEM;
	func = (struct string_ref){ name, (uint32_t)n };
	err = intern_place(in, &file, &func, LINE_NONE, COLUMN_NONE, 0, frame);
	free(name);
	return err;
}

/*
 * google-pprof looks up the address of the call, which is one less than the return address, and
 * writes these addresses to its files.
 */
int gperf_text_frame(struct gperf_text *t, struct intern *in, uint64_t addr, bool caller,
		     uint32_t *frame)
{
	static const struct string_ref nowhere = { SYNTHETIC_FILE, sizeof(SYNTHETIC_FILE) - 1 };
	const struct symbol *s = NULL;

	sort_tables(t);
	if (caller && addr)
		s = find_symbol(t, addr - 1);
	if (!s)
		s = find_symbol(t, addr);
	if (!s)
		return unnamed_frame(t, in, addr, frame);
	return intern_place(in, s->file.len ? &s->file : &nowhere, &s->func, s->line, COLUMN_NONE,
			    0, frame);
}
