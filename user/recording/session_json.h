/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * session_json.h - reads the session.json of a recording's directory.
 *
 * The members that are read (others are ignored; all are optional):
 *
 *   { "duration_s": 30.0, "mode": "cpu",
 *     "kernel": "6.1.0", "start_time": "2026-01-01T12:00:00Z", "start_monotonic_us": 12,
 *     "lost": { CAUSE: COUNT, ... },
 *     "processes": [ { "file": "12-app.tach", "pid": 12, "comm": "app",
 *                      "command": "app -x" or ["app", "-x"], "unit": "web.service",
 *                      "container": { "label": "web", "image": "shop/web:1" },
 *                      "service": { "service.name": "web", "service.version": "1.2", ... },
 *                      "members": [ { "pid": 12, "service": { ... } }, ... ],
 *                      "lost": { CAUSE: COUNT, ... },
 *                      "lost_threads": { "13": { CAUSE: COUNT, ... }, ... },
 *                      "thread_names": { "13": "worker", ... },
 *                      "free_threaded": false, "jit": false, "other_root": true,
 *                      "gil": { "wait_ns": 3, "waits": 2, "longest_wait_ns": 2,
 *                               "threads": [ { "thread": 12, "name": "worker", "wait_ns": 3,
 *                                              "waits": 2, "longest_wait_ns": 2 }, ... ] }
 *                    }, ... ] }
 *
 * Of the path in "file" only the last component is used, because directories may be moved.
 *
 * Next to a file that the user named there is FILE.json, which has the same members, with one
 * process.
 */
#ifndef TACHBPF_SESSION_JSON_H
#define TACHBPF_SESSION_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/profile_service.h"

#define SESSION_FILE_NAME "session.json"
#define SESSION_BESIDE_SUFFIX ".json"

/*
 * Keys that session_json_write.c writes and session_json_read.c reads. identity.c and
 * thread_names.c write the keys of containers and of thread names.
 */
#define SESSION_DURATION_S          "duration_s"
#define SESSION_KERNEL              "kernel"
#define SESSION_MODE                "mode"
#define SESSION_EVENT               "event"
#define SESSION_START_TIME          "start_time"
#define SESSION_START_MONOTONIC_US  "start_monotonic_us"
#define SESSION_LOST                "lost"
#define SESSION_LOST_THREADS        "lost_threads"
#define SESSION_PROCESSES           "processes"
#define SESSION_FILE                "file"
#define SESSION_PID                 "pid"
#define SESSION_COMM                "comm"
#define SESSION_COMMAND             "command"
#define SESSION_FREE_THREADED       "free_threaded"
#define SESSION_JIT                 "jit"
#define SESSION_OTHER_ROOT          "other_root"
#define SESSION_SERVICE             "service"
#define SESSION_MEMBERS             "members"

struct buf;
struct session_json;
struct thread_names;

/*
 * What session.json says about one file. Strings may have any bytes, and are valid as long as the
 * struct session_json. NULL: session.json has no such member.
 */
struct session_process {
	uint32_t tgid;		/* 0: unknown */
	const char *comm;
	const char *command;
	const char *container;	/* its label; for a merged file, if all processes share it */
	const char *image;
	const char *unit;	/* of systemd */
	struct profile_service service;	/* of the agent's recordings */
	const struct thread_names *thread_names;
	bool elsewhere;		/* it has, or one of those that share the file has, another root
				 * or mount namespace: a path is not this machine's file */
};

/*
 * Reads the session.json of a directory. shown: its path for messages, escaped. NULL with errno;
 * logs why, unless errno is ENOENT.
 */
struct session_json *session_json_read(int dirfd, const char *shown);
/*
 * Reads FILE.json, which is next to the profile named file. Its process is the one of this profile,
 * whatever file name it has, because files are renamed. shown: the profile's path, escaped; NULL:
 * log nothing. NULL with errno as above; also ENOENT: the JSON is of something else.
 */
struct session_json *session_json_read_beside(int dirfd, const char *file, const char *shown);
/*
 * Parses the text of such a file, which may have any bytes. The text is moved out of *text. NULL
 * with errno and the reason in why; EBADMSG: the text is not a JSON object.
 */
struct session_json *session_json_parse(struct buf *text, char *why, size_t why_size);
void session_json_free(struct session_json *s);

/* Fills *out with what is known about the file of that name; with zeros if it is not listed. */
void session_json_process(const struct session_json *s, const char *file,
			  struct session_process *out);

/*
 * Calls each() for each process that shares a file and whose service is known, until it returns
 * non-zero; returns that value, otherwise 0. At most 2^18 processes. The service is valid until
 * each() returns.
 */
int session_json_members(const struct session_json *s, const char *file,
			 int (*each)(void *ctx, uint32_t tgid,
				     const struct profile_service *service), void *ctx);

/* Returns the duration of the recording in seconds; 0: unknown. */
double session_json_duration(const struct session_json *s);

/* Returns the version of the kernel during the recording; NULL: unknown. May have any bytes. */
const char *session_json_kernel(const struct session_json *s);
/* Returns true if its samples are waits (-m offcpu), for which TACH files say wall. */
bool session_json_is_offcpu(const struct session_json *s);
/* Returns the event of -e, as session_json_kernel(). NULL: it recorded time or memory. */
const char *session_json_event(const struct session_json *s);

/*
 * Converts a time of the recording (CLOCK_MONOTONIC) to the time of day, in ns since 1970; 0:
 * unknown.
 */
uint64_t session_json_utc_ns(const struct session_json *s, uint64_t monotonic_us);

/*
 * Calls each() for each loss of a file; file NULL: of the whole recording. cause may have any
 * bytes, and is valid until each() returns.
 */
void session_json_losses(const struct session_json *s, const char *file,
			 void (*each)(void *ctx, const char *cause, uint64_t cnt), void *ctx);

/*
 * Calls each() for each loss of each thread of a file whose losses are known by thread. At most
 * THREAD_NAMES_MAX threads; the losses of each are consecutive.
 */
void session_json_thread_losses(const struct session_json *s, const char *file,
				void (*each)(void *ctx, uint64_t thread_id, const char *cause,
					     uint64_t cnt), void *ctx);

/* Waits for the GIL as measured by a recorder, independent of samples. */
struct session_gil {
	bool known;
	uint64_t wait_ns, waits, longest_wait_ns;
};

/* Fills *out with the waits of the process of this file. */
void session_json_gil(const struct session_json *s, const char *file, struct session_gil *out);
/*
 * Calls each() for each thread of that process, until it returns non-zero; returns that value,
 * otherwise 0. At most THREAD_NAMES_MAX threads. name (NULL: unknown) may have any bytes, and is
 * valid until each() returns.
 */
int session_json_gil_threads(const struct session_json *s, const char *file,
			     int (*each)(void *ctx, uint64_t thread_id, const char *name,
					 const struct session_gil *gil), void *ctx);
/* Returns true if session.json says that the process has a free-threaded build. */
bool session_json_free_threaded(const struct session_json *s, const char *file);
/* Returns true if the process ran CPython's JIT. See resolve/jit_watch.h. */
bool session_json_jit(const struct session_json *s, const char *file);

#endif
