// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * util.c - messages, varints, buffers, hashing. See util.h.
 */
#include "base/util.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/colour.h"

static enum log_level log_level = LOG_NORMAL;
/* The current and the outer hold of messages; NULL: they are printed at once. */
static _Thread_local struct buf *log_held, *log_held_outside;

static enum log_form log_form = LOG_TEXT;

void log_set_level(enum log_level level)
{
	log_level = level;
}


enum log_level log_get_level(void)
{
	return log_level;
}

/* What a message is: in a sentence, and for programs. */
static const struct log_kind {
	const char *prefix, *level;
	enum colour colour;
} log_kinds[] = {
	{ "error: ", "error", COLOUR_RED },
	{ "warning: ", "warn", COLOUR_YELLOW },
	{ "", "info", COLOUR_NONE },
	{ "debug: ", "debug", COLOUR_NONE },
};
enum { KIND_ERROR, KIND_WARNING, KIND_INFO, KIND_DEBUG };

#define LOG_LINE 1024
#define TIME_BYTES 32

static const char *time_text(char out[TIME_BYTES])
{
	uint64_t now = wall_ns();
	time_t seconds = (time_t)(now / NS_PER_S);
	struct tm tm;
	size_t len;

	gmtime_r(&seconds, &tm);
	len = strftime(out, TIME_BYTES, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out + len, TIME_BYTES - len, ".%03uZ",
		 (unsigned int)(now % NS_PER_S / NS_PER_MS));
	return out;
}

void log_set_form(enum log_form form)
{
	char time[TIME_BYTES];

	time_text(time);	/* the C library reads its files once: workers may not */
	log_form = form;
}

/* Between quotes of JSON and logfmt. Of control characters, messages have newlines only. */
static const char *quoted(const char *line, char out[2 * LOG_LINE])
{
	char *at = out;

	for (; *line; line++) {
		if (*line == '"' || *line == '\\' || *line == '\n')
			*at++ = '\\';
		*at++ = *line == '\n' ? 'n' : *line;
	}
	*at = '\0';
	return out;
}

static int format_line(const struct log_kind *kind, const char *line, char *out, size_t size)
{
	char time[TIME_BYTES], text[2 * LOG_LINE];

	if (log_form == LOG_JSON)
		return snprintf(out, size, "{\"time\":\"%s\",\"level\":\"%s\",\"msg\":\"%s\"}\n",
				time_text(time), kind->level, quoted(line, text));
	if (log_form == LOG_LOGFMT)
		return snprintf(out, size, "time=%s level=%s msg=\"%s\"\n", time_text(time),
				kind->level, quoted(line, text));
	return snprintf(out, size, "%s%stachbpf: %s%s%s%s\n",
			log_form == LOG_TIMED ? time_text(time) : "",
			log_form == LOG_TIMED ? " " : "", colour_on(stderr, kind->colour),
			kind->prefix, kind->colour == COLOUR_NONE ? "" : colour_off(stderr), line);
}

static void log_line(const struct log_kind *kind, const char *fmt, va_list ap)
{
	char line[LOG_LINE], whole[2 * LOG_LINE + 128];
	int len;

	/* One write per line, so that lines of several processes do not mix. */
	vsnprintf(line, sizeof(line), fmt, ap);
	len = format_line(kind, line, whole, sizeof(whole));
	if (!log_held || buf_add(log_held, whole, (size_t)len))
		fputs(whole, stderr);
}

void log_hold(struct buf *held)
{
	struct buf *outside = log_held_outside;

	log_held_outside = held ? log_held : NULL;
	log_held = held ? held : outside;
}

void log_print_held(struct buf *held)
{
	if (held->len && (!log_held || buf_add(log_held, held->data, held->len)))
		fwrite(held->data, 1, held->len, stderr);
	buf_free(held);
}

#define DEFINE_LOG(name, threshold, kind)                                                  \
	void name(const char *fmt, ...)                                                            \
	{                                                                                          \
		va_list ap;                                                                        \
                                                                                                   \
		if (log_level < (threshold))                                                       \
			return;                                                                    \
		va_start(ap, fmt);                                                                 \
		log_line(&log_kinds[kind], fmt, ap);                                               \
		va_end(ap);                                                                        \
	}

DEFINE_LOG(log_error, LOG_QUIET, KIND_ERROR)
DEFINE_LOG(log_result, LOG_QUIET, KIND_WARNING)
DEFINE_LOG(log_warn, LOG_NORMAL, KIND_WARNING)
DEFINE_LOG(log_info, LOG_NORMAL, KIND_INFO)
DEFINE_LOG(log_debug, LOG_VERBOSE, KIND_DEBUG)

size_t utf8_char(const char *text, size_t len, uint32_t *cp)
{
	static const uint32_t lowest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *s = (const unsigned char *)text;
	size_t n, i;

	if (!len)
		return 0;
	*cp = s[0];
	if (s[0] < 0x80)
		return 1;
	n = s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
	if (!n || n > len)
		return 0;
	*cp &= 0x7f >> n;
	for (i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*cp = *cp << 6 | (s[i] & 0x3f);
	}
	/* Overlong, surrogates, beyond Unicode. */
	if (*cp < lowest[n] || *cp > 0x10ffff || (*cp >= 0xd800 && *cp < 0xe000))
		return 0;
	return n;
}

size_t utf8_cut(const char *s, size_t len, size_t max)
{
	if (len > max)
		for (len = max; len && (s[len] & 0xc0) == 0x80; len--)
			;
	return len;
}

void utf8_copy(char *out, size_t size, const char *s, size_t len)
{
	len = utf8_cut(s, len, size - 1);
	memcpy(out, s, len);
	out[len] = '\0';
}

void utf8_repair(char *text, size_t size)
{
	size_t len = strnlen(text, size - 1), i, n;
	uint32_t cp;

	text[len] = '\0';
	for (i = 0; i < len; i += n ? n : 1) {
		n = utf8_char(text + i, len - i, &cp);
		if (!n)
			text[i] = '?';
	}
}

bool utf8_printable(uint32_t cp)
{
	/*
	 * Line separators, and characters without a glyph (Unicode's Default_Ignorable_Code_Point,
	 * Cf): bidirectional overrides, which can change the visible order of a line, joiners,
	 * tags, byte order marks. Variation selectors, which emoji use, are allowed.
	 */
	static const uint32_t unseen[][2] = {
		{ 0xad, 0xad }, { 0x34f, 0x34f }, { 0x61c, 0x61c }, { 0x115f, 0x1160 },
		{ 0x17b4, 0x17b5 }, { 0x180b, 0x180f }, { 0x200b, 0x200f }, { 0x2028, 0x202e },
		{ 0x2060, 0x206f }, { 0x3164, 0x3164 }, { 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 },
		{ 0xfff0, 0xfffb }, { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a },
		{ 0xe0000, 0xe0fff },
	};
	size_t i;

	/* C0, DEL, C1. */
	if (cp < 0x20 || (cp >= 0x7f && cp < 0xa0))
		return false;
	for (i = 0; i < ARRAY_SIZE(unseen) && cp >= unseen[i][0]; i++)
		if (cp <= unseen[i][1])
			return false;
	return true;
}

char *escape_text(const char *s, size_t len, char *out, size_t out_size)
{
	size_t i = 0, o = 0, n;
	uint32_t cp;

	while (i < len) {
		n = utf8_char(s + i, len - i, &cp);
		if (n && !utf8_printable(cp))
			n = 0;
		if (o + (n ? n : 4) >= out_size)
			break;
		if (n) {
			memcpy(out + o, s + i, n);
			o += n;
			i += n;
		} else {
			o += snprintf(out + o, out_size - o, "\\x%02x", (unsigned char)s[i++]);
		}
	}
	out[o] = '\0';
	return out;
}

void *array_grow(void *array, size_t cnt, size_t *cap, size_t elem_bytes)
{
	size_t bigger = *cap ? *cap * 2 : 4;
	void *moved;

	if (cnt < *cap)
		return array;
	moved = reallocarray(array, bigger, elem_bytes);
	if (moved)
		*cap = bigger;
	return moved;
}

int buf_reserve(struct buf *b, size_t more)
{
	size_t cap = b->cap ? b->cap : 256;
	uint8_t *data;

	if (more > SIZE_MAX / 4 || b->len > SIZE_MAX / 4)
		return -ENOMEM;
	if (b->len + more <= b->cap)
		return 0;
	while (cap < b->len + more)
		cap *= 2;
	data = realloc(b->data, cap);
	if (!data)
		return -ENOMEM;
	b->data = data;
	b->cap = cap;
	return 0;
}

int buf_add(struct buf *b, const void *data, size_t len)
{
	if (!len)
		return 0;
	if (buf_reserve(b, len))
		return -ENOMEM;
	memcpy(b->data + b->len, data, len);
	b->len += len;
	return 0;
}

#define READ_BYTES 65536

int buf_add_file(struct buf *b, int fd, size_t max)
{
	size_t begin = b->len;
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return -EINVAL;
	for (;;) {
		if (b->len - begin > max)
			return -EFBIG;
		if (buf_reserve(b, READ_BYTES))
			return -ENOMEM;
		n = read(fd, b->data + b->len, READ_BYTES);
		if (!n)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		b->len += n > 0 ? (size_t)n : 0;
	}
}

void buf_free(struct buf *b)
{
	free(b->data);
	memset(b, 0, sizeof(*b));
}

uint8_t *varint_put(uint8_t *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (uint8_t)v | 0x80;
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

uint8_t *svarint_put(uint8_t *p, int64_t v)
{
	return varint_put(p, ((uint64_t)v << 1) ^ (uint64_t)(v >> 63));
}

const uint8_t *varint_get(const uint8_t *p, const uint8_t *end, uint64_t *v)
{
	uint64_t value = 0;
	unsigned int shift;

	for (shift = 0; shift < 64 && p < end; shift += 7) {
		uint64_t bits = *p & 0x7f;

		if (shift == 63 && bits > 1)
			return NULL;
		value |= bits << shift;
		if (!(*p++ & 0x80)) {
			*v = value;
			return p;
		}
	}
	return NULL;
}

const uint8_t *svarint_get(const uint8_t *p, const uint8_t *end, int64_t *v)
{
	uint64_t u;

	p = varint_get(p, end, &u);
	if (p)
		*v = (int64_t)(u >> 1) ^ -(int64_t)(u & 1);
	return p;
}

bool parse_decimal(const char *s, size_t len, uint64_t *v)
{
	size_t i;

	if (!len || (*s == '0' && len > 1))
		return false;
	for (*v = 0, i = 0; i < len; i++) {
		if (s[i] < '0' || s[i] > '9' || __builtin_mul_overflow(*v, 10, v) ||
		    __builtin_add_overflow(*v, (uint64_t)(s[i] - '0'), v))
			return false;
	}
	return true;
}

uint64_t hash_bytes(const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t h = 0x9e3779b97f4a7c15ULL ^ len, w;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&w, p, 8);
		h = hash_u64(h ^ w);
	}
	if (len) {
		w = 0;
		memcpy(&w, p, len);
		h = hash_u64(h ^ w);
	}
	return h;
}

int write_all(int fd, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return -EIO;
		p += n;
		len -= n;
	}
	return 0;
}

int pwrite_all(int fd, const void *data, size_t len, uint64_t off)
{
	const uint8_t *p = data;

	while (len) {
		ssize_t n = pwrite(fd, p, len, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return -EIO;
		p += n;
		len -= n;
		off += n;
	}
	return 0;
}
