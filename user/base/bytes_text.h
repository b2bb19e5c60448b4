/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bytes_text.h - numbers of bytes for people: "12.3 MiB". */
#ifndef TACHBPF_BYTES_TEXT_H
#define TACHBPF_BYTES_TEXT_H

/* The longest: "-1023.9 PiB", and numbers that are too large for any unit. */
#define BYTES_TEXT_MAX 32

/* Formats up to 1023 bytes exactly, more with one decimal. Returns out. */
char *bytes_text(double bytes, char out[BYTES_TEXT_MAX]);

#endif
