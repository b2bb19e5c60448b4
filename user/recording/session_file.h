/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * session_file.h - reads the session.json of a recording's directory.
 *
 * What is used of it (anything else is ignored, anything may be missing):
 *
 *   { "duration_s": 30.0,
 *     "kernel": "6.1.0", "start_time": "2026-01-01T12:00:00Z", "start_monotonic_us": 12,
 *     "lost": { CAUSE: COUNT, ... },
 *     "processes": [ { "file": "12-app.tach", "pid": 12, "comm": "app",
 *                      "command": "app -x" or ["app", "-x"], "unit": "web.service",
 *                      "container": { "label": "web", "image": "shop/web:1" },
 *                      "lost": { CAUSE: COUNT, ... },
 *                      "thread_names": { "13": "worker", ... },
 *                      "free_threaded": false,
 *                      "gil": { "wait_ns": 3, "waits": 2, "longest_wait_ns": 2,
 *                               "threads": [ { "thread": 12, "name": "worker", "wait_ns": 3,
 *                                              "waits": 2, "longest_wait_ns": 2 }, ... ] }
 *                    }, ... ] }
 *
 * Of a file's path only the last component counts: directories are moved.
 */
#ifndef TACHBPF_SESSION_FILE_H
#define TACHBPF_SESSION_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SESSION_FILE_NAME "session.json"

struct buf;
struct session_file;
struct thread_names;

/* What session.json says of one file. Strings are hostile and live in the session_file. */
struct session_process {
	uint32_t tgid;		/* 0: not said */
	const char *comm;	/* NULL: not said; likewise below */
	const char *command;
	const char *container;	/* its label; likewise of a merged file whose processes share it */
	const char *image;
	const char *unit;	/* systemd's */
	const struct thread_names *thread_names;
};

/* NULL with errno: ENOENT without a word, else after logging why. shown: its path, escaped. */
struct session_file *session_file_read(int dirfd, const char *shown);
/*
 * The text of such a file (hostile), which is taken over and then empty. NULL with errno, and
 * the reason in why: EBADMSG for what is not a JSON object.
 */
struct session_file *session_file_parse(struct buf *text, char *why, size_t why_size);
void session_file_free(struct session_file *s);

/* Of the file of that name; all unset if nothing is said of it. */
void session_file_process(const struct session_file *s, const char *file,
			  struct session_process *out);

/* The whole recording's; 0: not said. */
double session_file_duration(const struct session_file *s);

/* The kernel that recorded it; NULL: not said. Hostile. */
const char *session_file_kernel(const struct session_file *s);

/* A CLOCK_MONOTONIC of the recording as time of day, in ns since 1970; 0: not known. */
uint64_t session_file_utc_ns(const struct session_file *s, uint64_t monotonic_us);

/*
 * Call each() for every loss of file, NULL: of the whole recording. cause is hostile and is gone
 * after each().
 */
void session_file_losses(const struct session_file *s, const char *file,
			 void (*each)(void *ctx, const char *cause, uint64_t cnt), void *ctx);

/* Waits for the GIL that were measured, whatever samples saw of them. */
struct session_gil {
	bool known;
	uint64_t wait_ns, waits, longest_wait_ns;
};

/* Of the process whose file it is. */
void session_file_gil(const struct session_file *s, const char *file, struct session_gil *out);
/*
 * Of each of its threads; name (NULL: not said) is hostile and is gone after each(). Stops at
 * a result that is not 0: its own.
 */
int session_file_gil_threads(const struct session_file *s, const char *file,
			     int (*each)(void *ctx, uint64_t thread_id, const char *name,
					 const struct session_gil *gil), void *ctx);
/* Is it said that there is no GIL? */
bool session_file_free_threaded(const struct session_file *s, const char *file);

#endif
