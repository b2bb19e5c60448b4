// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * perf_map.c - see perf_map.h. Code comes and goes, so lines overlap, and the last one is valid.
 * Their borders cut the addresses into pieces; from the last line to the first, each takes the
 * pieces that are still free.
 */
#include "elf_helper/perf_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/util.h"

#define NONE UINT32_MAX

struct line {
	uint64_t start, end;
	uint32_t name, name_bytes;	/* offset and bytes in the text */
};

struct perf_map {
	char *text;
	size_t text_bytes;
	struct line *lines;
	size_t line_cnt, line_cap;
	uint64_t *borders;	/* sorted, unique */
	uint32_t *owners;	/* line of the piece after each border, or NONE */
	size_t border_cnt;
};

/* ---- the text ---- */

/* Reads at most PERF_MAP_BYTES_MAX bytes; *len: the number read. Returns NULL with errno. */
static char *read_text(int fd, size_t *len)
{
	struct buf b = { 0 };
	ssize_t n;

	for (;;) {
		if (buf_reserve(&b, 65536)) {
			buf_free(&b);
			errno = ENOMEM;
			return NULL;
		}
		n = b.len < PERF_MAP_BYTES_MAX ?
			    pread(fd, b.data + b.len, 65536, (off_t)b.len) : 0;
		if (n < 0 && errno != EINTR) {
			buf_free(&b);
			return NULL;
		}
		if (!n)
			break;
		b.len += n > 0 ? (size_t)n : 0;
	}
	*len = b.len;
	return (char *)b.data;
}

/* Parses a hexadecimal number, with or without "0x". Returns NULL if there is none. */
static const char *parse_hex(const char *p, const char *end, uint64_t *v)
{
	const char *begin;

	if (end - p > 2 && p[0] == '0' && p[1] == 'x')
		p += 2;
	for (*v = 0, begin = p; p < end && p - begin <= 16; p++) {
		unsigned int digit = *p >= '0' && *p <= '9' ? (unsigned int)(*p - '0') :
				     *p >= 'a' && *p <= 'f' ? (unsigned int)(*p - 'a' + 10) :
				     *p >= 'A' && *p <= 'F' ? (unsigned int)(*p - 'A' + 10) : 16;

		if (digit == 16)
			break;
		*v = *v << 4 | digit;
	}
	return p > begin && p - begin <= 16 ? p : NULL;
}

static bool parse_line(const struct perf_map *m, const char *p, const char *end, struct line *out)
{
	uint64_t size;

	p = parse_hex(p, end, &out->start);
	if (!p || p == end || *p != ' ')
		return false;
	p = parse_hex(p + 1, end, &size);
	if (!p || end - p < 2 || *p != ' ' || !size)
		return false;
	out->end = add_capped(out->start, size);
	out->name = (uint32_t)(p + 1 - m->text);
	out->name_bytes = (uint32_t)(end - p - 1);
	return true;
}

/* A line without its newline is still being written. */
static int parse_lines(struct perf_map *m)
{
	const char *p = m->text, *end = p + m->text_bytes, *newline;
	struct line line, *grown;

	for (; p < end && m->line_cnt < PERF_MAP_LINES_MAX; p = newline + 1) {
		newline = memchr(p, '\n', (size_t)(end - p));
		if (!newline)
			break;
		if (!parse_line(m, p, newline, &line))
			continue;
		if (m->line_cnt == m->line_cap) {
			grown = array_grow(m->lines, m->line_cnt, &m->line_cap, sizeof(line));
			if (!grown)
				return -ENOMEM;
			m->lines = grown;
		}
		m->lines[m->line_cnt++] = line;
	}
	return 0;
}

/* ---- the pieces ---- */

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Number of the first border after addr. */
static size_t first_after(const struct perf_map *m, uint64_t addr)
{
	size_t low = 0, high = m->border_cnt, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (m->borders[middle] <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void sort_borders(struct perf_map *m)
{
	size_t i, kept = 0;

	for (i = 0; i < m->line_cnt; i++) {
		m->borders[2 * i] = m->lines[i].start;
		m->borders[2 * i + 1] = m->lines[i].end;
	}
	qsort(m->borders, 2 * m->line_cnt, sizeof(*m->borders), by_value);
	for (i = 0; i < 2 * m->line_cnt; i++)
		if (!kept || m->borders[kept - 1] != m->borders[i])
			m->borders[kept++] = m->borders[i];
	m->border_cnt = kept;
}

/* Returns the first free piece from number i on, and shortens the path to it. */
static uint32_t next_free(uint32_t *next, uint32_t i)
{
	for (; next[i] != i; i = next[i])
		next[i] = next[next[i]];
	return i;
}

static int give_pieces(struct perf_map *m)
{
	uint32_t *next, i, piece, end;
	size_t line;

	m->borders = malloc((2 * m->line_cnt + 1) * sizeof(*m->borders));
	m->owners = malloc((2 * m->line_cnt + 1) * sizeof(*m->owners));
	next = malloc((2 * m->line_cnt + 1) * sizeof(*next));
	if (!m->borders || !m->owners || !next) {
		free(next);
		return -ENOMEM;
	}
	sort_borders(m);
	for (i = 0; i <= m->border_cnt; i++) {
		m->owners[i] = NONE;
		next[i] = i;
	}
	for (line = m->line_cnt; line--;) {
		end = (uint32_t)first_after(m, m->lines[line].end) - 1;
		piece = (uint32_t)first_after(m, m->lines[line].start) - 1;
		while ((piece = next_free(next, piece)) < end) {
			m->owners[piece] = (uint32_t)line;
			next[piece] = piece + 1;
		}
	}
	free(next);
	return 0;
}

/* ---- for others ---- */

struct perf_map *perf_map_read(int fd)
{
	struct perf_map *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return NULL;
	m->text = read_text(fd, &m->text_bytes);
	err = m->text ? parse_lines(m) : -errno;
	if (!err)
		err = give_pieces(m);
	if (!err)
		return m;
	perf_map_free(m);
	errno = -err;
	return NULL;
}

void perf_map_free(struct perf_map *m)
{
	if (!m)
		return;
	free(m->text);
	free(m->lines);
	free(m->borders);
	free(m->owners);
	free(m);
}

size_t perf_map_bytes(const struct perf_map *m)
{
	return m->text_bytes + m->line_cap * sizeof(*m->lines) +
	       2 * m->line_cnt * (sizeof(*m->borders) + sizeof(*m->owners));
}

bool perf_map_find(const struct perf_map *m, uint64_t addr, char *name, size_t size,
		   uint64_t *start)
{
	size_t piece = first_after(m, addr), len;
	const struct line *line;

	if (!piece || m->owners[piece - 1] == NONE)
		return false;
	line = &m->lines[m->owners[piece - 1]];
	len = line->name_bytes < size ? line->name_bytes : size - 1;
	memcpy(name, m->text + line->name, len);
	name[len] = '\0';
	*start = line->start;
	return true;
}
