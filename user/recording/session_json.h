/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * session_json.h - reads the session.json of a recording's directory.
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
 *
 * Beside a file that the user has named there is FILE.json, of the same shape with one process.
 */
#ifndef TACHBPF_SESSION_JSON_H
#define TACHBPF_SESSION_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SESSION_FILE_NAME "session.json"
#define SESSION_BESIDE_SUFFIX ".json"

/*
 * Keys that are written (session_json_write.c) and read back (session_json_read.c). Those of
 * containers and thread names are identity.c's and thread_names.c's.
 */
#define SESSION_DURATION_S          "duration_s"
#define SESSION_KERNEL              "kernel"
#define SESSION_START_TIME          "start_time"
#define SESSION_START_MONOTONIC_US  "start_monotonic_us"
#define SESSION_LOST                "lost"
#define SESSION_PROCESSES           "processes"
#define SESSION_FILE                "file"
#define SESSION_PID                 "pid"
#define SESSION_COMM                "comm"
#define SESSION_COMMAND             "command"
#define SESSION_FREE_THREADED       "free_threaded"

struct buf;
struct session_json;
struct thread_names;

/* What session.json says of one file. Strings are hostile and live in the session_json. */
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
struct session_json *session_json_read(int dirfd, const char *shown);
/*
 * What is beside the profile called file: FILE.json. Whatever that calls the file, all that it
 * says of a process is of this one: files are renamed. NULL with errno as above; also ENOENT for
 * a JSON that is of something else. shown: the profile's path, escaped; NULL: log nothing.
 */
struct session_json *session_json_read_beside(int dirfd, const char *file, const char *shown);
/*
 * The text of such a file (hostile), which is taken over and then empty. NULL with errno, and
 * the reason in why: EBADMSG for what is not a JSON object.
 */
struct session_json *session_json_parse(struct buf *text, char *why, size_t why_size);
void session_json_free(struct session_json *s);

/* Of the file of that name; all unset if nothing is said of it. */
void session_json_process(const struct session_json *s, const char *file,
			  struct session_process *out);

/* The whole recording's; 0: not said. */
double session_json_duration(const struct session_json *s);

/* The kernel that recorded it; NULL: not said. Hostile. */
const char *session_json_kernel(const struct session_json *s);

/* A CLOCK_MONOTONIC of the recording as time of day, in ns since 1970; 0: not known. */
uint64_t session_json_utc_ns(const struct session_json *s, uint64_t monotonic_us);

/*
 * Call each() for every loss of file, NULL: of the whole recording. cause is hostile and is gone
 * after each().
 */
void session_json_losses(const struct session_json *s, const char *file,
			 void (*each)(void *ctx, const char *cause, uint64_t cnt), void *ctx);

/* Waits for the GIL that were measured, whatever samples saw of them. */
struct session_gil {
	bool known;
	uint64_t wait_ns, waits, longest_wait_ns;
};

/* Of the process whose file it is. */
void session_json_gil(const struct session_json *s, const char *file, struct session_gil *out);
/*
 * Of each of its threads; name (NULL: not said) is hostile and is gone after each(). Stops at
 * a result that is not 0: its own.
 */
int session_json_gil_threads(const struct session_json *s, const char *file,
			     int (*each)(void *ctx, uint64_t thread_id, const char *name,
					 const struct session_gil *gil), void *ctx);
/* Is it said that there is no GIL? */
bool session_json_free_threaded(const struct session_json *s, const char *file);

#endif
