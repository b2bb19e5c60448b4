/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * util.h - needed by every room: messages, varints, buffers, small helpers.
 *
 * Knows nothing of Python, BPF or file formats.
 */
#ifndef TACHBPF_UTIL_H
#define TACHBPF_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Which log_*() calls print. Errors are always printed. */
enum log_level { LOG_QUIET = -1, LOG_NORMAL = 0, LOG_VERBOSE = 1, LOG_DEBUG = 2 };
void log_set_level(enum log_level level);
enum log_level log_get_level(void);

/*
 * How log_*() calls print: for people, as described below; the same after the time (UTC), for a log
 * that is read later; for programs, in the form of logfmt or JSON, with time, level and msg.
 */
enum log_form { LOG_TEXT, LOG_TIMED, LOG_LOGFMT, LOG_JSON };
void log_set_form(enum log_form form);

/*
 * Prints one line on stderr, after "tachbpf: ". Control characters in strings from targets (comm,
 * paths) must be removed by escape_text() first. log_error() always prints, log_warn() and
 * log_info() unless -q, log_debug() with -v. log_result() is a warning that is printed even with
 * -q: the result is not what was requested.
 */
void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_result(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Appends this thread's messages to `held` instead, for log_print_held(); NULL ends that. Holds can
 * be nested once: then NULL goes back to the outer one.
 */
struct buf;
void log_hold(struct buf *held);
/* Prints the held messages, or appends them to this thread's hold, and empties it. */
void log_print_held(struct buf *held);

/*
 * Copies s (len bytes, hostile) to out as printable UTF-8: characters that utf8_printable() refuses
 * and invalid UTF-8 become \xNN. Always terminates; returns out.
 */
char *escape_text(const char *s, size_t len, char *out, size_t out_size);

/*
 * Decodes the character at s (len bytes, any bytes): returns its length in bytes, and its code
 * point in *cp. 0: not valid UTF-8, or len is 0.
 */
size_t utf8_char(const char *s, size_t len, uint32_t *cp);

/* Returns how many bytes, at most max, of UTF-8 text of len bytes are whole characters. */
size_t utf8_cut(const char *s, size_t len, size_t max);
/* Copies as many whole characters as fit, and a NUL. */
void utf8_copy(char *out, size_t size, const char *s, size_t len);
/* Terminates the text in a buffer of size bytes, and replaces bytes that are not UTF-8 by '?'. */
void utf8_repair(char *text, size_t size);

/*
 * Returns true if the character may be printed on a terminal: no control character, no
 * bidirectional override, and nothing else that is invisible.
 */
bool utf8_printable(uint32_t cp);

/*
 * Makes room for one more element in an array of cnt, which has room for *cap: at least doubles it,
 * so that adding n elements takes O(n). Returns the array, which may have moved; NULL: no memory,
 * and the old one is unchanged.
 */
void *array_grow(void *array, size_t cnt, size_t *cap, size_t elem_bytes);

/*
 * Append a value to an array of cnt elements, which has room for cap (size_t). 0 or -ENOMEM. array,
 * cnt and cap are evaluated several times.
 */
#define array_add(array, cnt, cap, ...)                                                            \
	({                                                                                         \
		__typeof__(array) grown_ = array_grow(array, cnt, &(cap), sizeof(*(array)));       \
                                                                                                   \
		if (grown_) {                                                                      \
			(array) = grown_;                                                          \
			(array)[(cnt)++] = (__VA_ARGS__);                                          \
		}                                                                                  \
		grown_ ? 0 : -ENOMEM;                                                              \
	})

/* A growing byte buffer. Zero-initialise it; freed by buf_free(). */
struct buf {
	uint8_t *data;
	size_t len, cap;
};
/* Makes room for `more` bytes after len. Returns 0 or -ENOMEM. */
int buf_reserve(struct buf *b, size_t more);
/* Append. Return 0 or -ENOMEM. */
int buf_add(struct buf *b, const void *data, size_t len);
/*
 * Appends a whole file. Returns 0 or -errno: -EINVAL if it is not a regular file (which could
 * block), -EFBIG if it has more than max bytes.
 */
int buf_add_file(struct buf *b, int fd, size_t max);
void buf_free(struct buf *b);

/*
 * Varints as in TACH, protobuf and DWARF: LEB128, and zigzag for signed numbers. put: writes at p,
 * which must have room for VARINT_MAX bytes, and returns the end of the written bytes. get: reads
 * from p, not beyond end, and returns the end of the read bytes; NULL: the bytes end too early, or
 * the value does not fit 64 bits.
 */
#define VARINT_MAX 10
uint8_t *varint_put(uint8_t *p, uint64_t v);
uint8_t *svarint_put(uint8_t *p, int64_t v);
const uint8_t *varint_get(const uint8_t *p, const uint8_t *end, uint64_t *v);
const uint8_t *svarint_get(const uint8_t *p, const uint8_t *end, int64_t *v);

/*
 * Parses the decimal number at s: len bytes, all of them digits, no sign, no leading zeros. Returns
 * false if it is malformed, or does not fit 64 bits.
 */
bool parse_decimal(const char *s, size_t len, uint64_t *v);

/* 64-bit hashes of bytes, and of one integer. Hostile keys can collide. */
uint64_t hash_bytes(const void *data, size_t len);
static inline uint64_t hash_u64(uint64_t v)
{
	v = (v ^ (v >> 32)) * 0x9e3779b97f4a7c15ULL;
	return v ^ (v >> 29);
}

/* Writes all of data with write(2). Returns 0 or -errno; EINTR is retried. */
int write_all(int fd, const void *data, size_t len);
/* As write_all(), but at off, without moving the file's position. */
int pwrite_all(int fd, const void *data, size_t len, uint64_t off);

#endif
