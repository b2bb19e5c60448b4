/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* read_error.h - why a file could not be read: the message that a reader returns. */
#ifndef TACHBPF_READ_ERROR_H
#define TACHBPF_READ_ERROR_H

#include <stddef.h>
#include <stdint.h>

/* Where the message goes: a buffer of the caller. */
struct reason {
	char *why;
	size_t size;
};

/* Sets the message. Returns -EBADMSG. */
int reason_say(const struct reason *why, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Sets the message "damaged at byte OFF: ...". Returns -EBADMSG. */
int reason_at(const struct reason *why, uint64_t off, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Sets the message "out of memory". Returns -ENOMEM. */
int reason_memory(const struct reason *why);

#endif
