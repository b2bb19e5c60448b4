// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* mlyze_marks.c - writes and parses the names of our markers. See mlyze_marks.h. */
#include "formats/mlyze/mlyze_marks.h"

#include <stdio.h>
#include <string.h>

#include "base/util.h"

#define PREFIX "tachbpf "

static const char *const words[] = {
	[MARK_RECORDING] = "recording", [MARK_PROCESS] = "process", [MARK_THREAD] = "thread",
	[MARK_CHECK] = "check",		[MARK_GC] = "gc",	    [MARK_LOST] = "lost",
	[MARK_END] = "end",		[MARK_CENSUS] = "census",   [MARK_TYPE] = "type",
	[MARK_FATE] = "fate",		[MARK_BURST] = "burst",	    [MARK_SAMPLED] = "sampled",
};

/* ---- parsing ---- */

/* The part of the text that is left. */
struct text {
	const char *at, *end;
};

/* Takes what precedes the next space, which is skipped. Returns false if nothing is left. */
static bool next_part(struct text *t, const char **part, size_t *len)
{
	const char *space;

	if (t->at >= t->end)
		return false;
	space = memchr(t->at, ' ', t->end - t->at);
	*part = t->at;
	*len = (space ? space : t->end) - t->at;
	t->at = space ? space + 1 : t->end;
	return true;
}

static enum mlyze_mark_word word_of(const char *s, size_t len)
{
	size_t i;

	for (i = MARK_NONE + 1; i < ARRAY_SIZE(words); i++)
		if (strlen(words[i]) == len && !memcmp(words[i], s, len))
			return (enum mlyze_mark_word)i;
	return MARK_NONE;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Returns false for a % without two digits, or of NUL. */
static bool unescape_value(const char *s, size_t len, char *out, size_t size)
{
	size_t i, o = 0;
	int high, low;
	char c;

	for (i = 0; i < len; i++) {
		c = s[i];
		if (c == '%') {
			high = i + 2 < len ? hex_digit(s[i + 1]) : -1;
			low = i + 2 < len ? hex_digit(s[i + 2]) : -1;
			if (high < 0 || low < 0)
				return false;
			c = (char)(high * 16 + low);
			i += 2;
		}
		if (!c)
			return false;
		if (o + 1 < size)
			out[o++] = c;
	}
	out[o] = '\0';
	return true;
}

static bool take_pair(struct mlyze_mark *m, const char *part, size_t len)
{
	const char *equals = memchr(part, '=', len);
	struct mlyze_mark_pair *pair = &m->pairs[m->cnt];
	size_t key = equals ? (size_t)(equals - part) : 0;

	if (!key || memchr(part, '\0', key))
		return false;
	if (key >= sizeof(pair->key))
		return true;	/* none of ours is that long */
	memcpy(pair->key, part, key);
	pair->key[key] = '\0';
	if (!unescape_value(equals + 1, len - key - 1, pair->value, sizeof(pair->value)))
		return false;
	m->cnt++;
	return true;
}

void mlyze_mark_parse(const char *name, size_t len, struct mlyze_mark *out)
{
	struct text t = { name, name + len };
	const char *part = t.at;
	size_t part_len = 0;

	out->word = MARK_NONE;
	out->cnt = 0;
	if (len <= strlen(PREFIX) || memcmp(name, PREFIX, strlen(PREFIX)))
		return;
	t.at += strlen(PREFIX);
	next_part(&t, &part, &part_len);
	out->word = word_of(part, part_len);
	while (out->word && out->cnt < MLYZE_MARK_KEYS && next_part(&t, &part, &part_len))
		if (!take_pair(out, part, part_len))
			out->word = MARK_NONE;
	if (!out->word)
		out->cnt = 0;
}

const char *mlyze_mark_value(const struct mlyze_mark *m, const char *key)
{
	uint32_t i;

	for (i = 0; i < m->cnt; i++)
		if (!strcmp(m->pairs[i].key, key))
			return m->pairs[i].value;
	return NULL;
}

uint64_t mlyze_mark_number(const struct mlyze_mark *m, const char *key, uint64_t fallback)
{
	const char *s = mlyze_mark_value(m, key);
	uint64_t v;

	return s && parse_decimal(s, strlen(s), &v) ? v : fallback;
}

/* ---- writing ---- */

void mlyze_mark_begin(struct mlyze_mark_text *t, enum mlyze_mark_word word)
{
	t->len = (size_t)snprintf(t->text, sizeof(t->text), PREFIX "%s", words[word]);
}

static bool is_plain(unsigned char c)
{
	return c > ' ' && c != '%' && c < 127;
}

/* The length of the value as written. */
static size_t escaped_len(const char *value, size_t len)
{
	size_t i, sum = 0;

	for (i = 0; i < len; i++)
		sum += is_plain((unsigned char)value[i]) ? 1 : 3;
	return sum;
}

void mlyze_mark_put(struct mlyze_mark_text *t, const char *key, const char *value)
{
	static const char digits[] = "0123456789ABCDEF";
	size_t i, len = strnlen(value, MLYZE_MARK_VALUE - 1);

	if (t->len + 1 + strlen(key) + 1 + escaped_len(value, len) >= sizeof(t->text))
		return;
	t->len += (size_t)snprintf(t->text + t->len, sizeof(t->text) - t->len, " %s=", key);
	for (i = 0; i < len; i++) {
		unsigned char c = (unsigned char)value[i];

		if (is_plain(c)) {
			t->text[t->len++] = (char)c;
			continue;
		}
		t->text[t->len++] = '%';
		t->text[t->len++] = digits[c >> 4];
		t->text[t->len++] = digits[c & 15];
	}
	t->text[t->len] = '\0';
}

void mlyze_mark_put_number(struct mlyze_mark_text *t, const char *key, uint64_t value)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);
	mlyze_mark_put(t, key, digits);
}
