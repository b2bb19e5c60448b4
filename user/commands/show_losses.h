/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* show_losses.h - what a recording's JSON says was lost, as text and JSON: for info and report. */
#ifndef TACHBPF_SHOW_LOSSES_H
#define TACHBPF_SHOW_LOSSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json;
struct profile_file;
struct session_json;

/* "3 ring_full, 2 busy", or "nothing". file: as in session_json_losses(). */
void losses_print(const struct session_json *session, const char *file);
/* The object "lost" of the same, also of causes that are 0. */
void losses_json(struct json *j, const struct session_json *session, const char *file);

/* A line for each thread that has lost something: at most limit of them, 0: all. */
void losses_print_threads(const struct profile_file *file, const char *indent, uint32_t limit);
/* The object "lost_threads", from thread id to causes; {} if there are none. */
void losses_json_threads(struct json *j, const struct profile_file *file);

/*
 * report's foot: a line for each process that has lost something, those with most first, with its
 * threads if by_thread. Of a file that several processes share there is one line.
 */
void losses_print_foot(const struct profile_file *const *files, size_t cnt, uint32_t limit,
		       bool by_thread);
/* The array "lost" of the same processes, all of them. */
void losses_json_foot(struct json *j, const struct profile_file *const *files, size_t cnt);

#endif
