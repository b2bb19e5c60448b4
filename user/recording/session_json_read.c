// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * session_json_read.c - see session_json.h.
 *
 * The text is kept. Members that all commands need are parsed at once; those that few commands
 * need (losses, waits for the GIL) are parsed when they are asked for.
 */
#include "recording/session_json.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json_members.h"
#include "base/util.h"
#include "model/intern.h"
#include "model/thread_names.h"

/* 10,000 processes with long command lines need a tenth of this. */
#define MAX_BYTES (256u << 20)

/* Members of the outermost object. */
enum { DURATION, KERNEL, START_TIME, START_US, LOST, PROCESSES, TOP_CNT };

struct process {
	size_t comm, command, container, image, unit;	/* offsets in texts; 0: there is none */
	size_t lost, gil;		/* offsets in text, for later parsing; 0: there is none */
	struct thread_names *names;
	uint32_t tgid;
	bool free_threaded;
};

struct session_json {
	struct buf text;		/* session.json */
	bool is_beside;			/* it is of one file, whatever that is called */
	struct json_member top[TOP_CNT];
	struct buf texts;		/* strings with NUL; the first byte is unused */
	size_t kernel, start_time;	/* offsets in texts; 0: there is none */
	struct intern *files;		/* names of files; their ids are indices of processes */
	struct buf processes;		/* array of struct process */
};

static struct process *process_at(const struct session_json *s, uint32_t i)
{
	return (struct process *)(void *)s->processes.data + i;
}

static uint32_t process_cnt(const struct session_json *s)
{
	return (uint32_t)(s->processes.len / sizeof(struct process));
}

static const char *text_at(const struct session_json *s, size_t at)
{
	return at ? (const char *)s->texts.data + at : NULL;
}

/* ---- reading ---- */

/* Read the whole file dirfd/name into b. 0 or -errno. */
static int read_all(int dirfd, const char *name, struct buf *b)
{
	int fd = openat(dirfd, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = buf_add_file(b, fd, MAX_BYTES);
	close(fd);
	return err;
}

/* Add a text and a NUL to texts; *at is its offset. 0 or -ENOMEM. */
static int keep_text(struct session_json *s, const struct buf *text, size_t *at)
{
	if (!s->texts.len && buf_add(&s->texts, "", 1))
		return -ENOMEM;
	*at = s->texts.len;
	return buf_add(&s->texts, text->data, text->len) || buf_add(&s->texts, "", 1) ? -ENOMEM : 0;
}

/* Keep a member if it is a string. 0 or -ENOMEM. */
static int keep_string(struct session_json *s, const struct json_member *m, size_t *at)
{
	struct buf text = { 0 };
	int err = json_member_string(m, &text) ? keep_text(s, &text, at) : 0;

	buf_free(&text);
	return err;
}

/* Keep a command: a string, or an array of words, which are joined by spaces. 0 or -ENOMEM. */
static int keep_command(struct session_json *s, const struct json_member *m, size_t *at)
{
	struct buf joined = { 0 }, word = { 0 };
	bool first = true;
	struct json_pull j;
	int err = 0;

	if (!json_member_enter(m, JT_ARRAY, &j))
		return keep_string(s, m, at);
	while (!err && json_pull_element(&j)) {
		if (!first)
			err = buf_add(&joined, " ", 1);
		first = false;
		if (json_pull_type(&j) != JT_STRING)
			json_pull_skip(&j);
		else if (!err && json_pull_string(&j, &word))
			err = buf_add(&joined, word.data, word.len);
	}
	if (!err)
		err = keep_text(s, &joined, at);
	buf_free(&joined);
	buf_free(&word);
	return err;
}

/* Keep a thread's name if its key is a number and the name a string. 0 or -errno. */
static int keep_name(struct thread_names *names, const struct buf *key, struct json_pull *j,
		     struct buf *name)
{
	const char *digits = (const char *)key->data;
	char *end;
	uint64_t tid = strtoull(digits, &end, 10);

	if (*digits < '0' || *digits > '9' || *end || json_pull_type(j) != JT_STRING) {
		json_pull_skip(j);
		return 0;
	}
	if (!json_pull_string(j, name) || buf_add(name, "", 1))
		return -ENOMEM;
	return thread_names_set(names, tid, (const char *)name->data);
}

static int keep_names(struct process *p, const struct json_member *m)
{
	struct buf key = { 0 }, name = { 0 };
	struct json_pull j;
	int err = 0;

	if (!json_member_enter(m, JT_OBJECT, &j))
		return 0;
	while (!err && json_pull_key(&j, &key)) {
		if (!p->names)
			p->names = thread_names_new();
		err = p->names && !buf_add(&key, "", 1) ? keep_name(p->names, &key, &j, &name) :
							  -ENOMEM;
	}
	buf_free(&key);
	buf_free(&name);
	return err == -ENOSPC ? 0 : err;
}

/* The offset in the text of a member that is an object; 0: it is no object. */
static size_t place_of(const struct json_member *m)
{
	return json_member_is(m, JT_OBJECT) ? json_pull_offset(&m->value) : 0;
}

/* Keep an element of "processes". If a file is listed twice, the last element counts. */
static int keep_process(struct session_json *s, struct json_pull *j)
{
	enum { FILE_NAME, PID, COMM, COMMAND, UNIT, CONTAINER, LOSSES, NAMES, FREE, GIL, CNT };
	struct json_member m[CNT] = {
		[FILE_NAME] = { SESSION_FILE }, [PID] = { SESSION_PID }, [COMM] = { SESSION_COMM },
		[COMMAND] = { SESSION_COMMAND }, [UNIT] = { "unit" }, [CONTAINER] = { "container" },
		[LOSSES] = { SESSION_LOST }, [NAMES] = { "thread_names" },
		[FREE] = { SESSION_FREE_THREADED },
		[GIL] = { "gil" },
	};
	struct json_member container[2] = { { .key = "label" }, { .key = "image" } };
	struct buf file = { 0 };
	struct process p = { 0 };
	const char *name;
	uint64_t pid;
	uint32_t id;
	int err = 0;

	if (!json_members(j, m, CNT))
		return -ENOMEM;		/* not a JSON error: the text was parsed once before */
	if (!json_member_string(&m[FILE_NAME], &file))
		goto out;
	json_member_object(&m[CONTAINER], container, 2);
	p.tgid = json_member_count(&m[PID], &pid) && pid <= UINT32_MAX ? (uint32_t)pid : 0;
	p.free_threaded = json_member_is(&m[FREE], JT_TRUE);
	p.lost = place_of(&m[LOSSES]);
	p.gil = place_of(&m[GIL]);
	if (keep_string(s, &m[COMM], &p.comm) || keep_command(s, &m[COMMAND], &p.command) ||
	    keep_string(s, &m[UNIT], &p.unit) || keep_string(s, &container[0], &p.container) ||
	    keep_string(s, &container[1], &p.image) || keep_names(&p, &m[NAMES]))
		err = -ENOMEM;
	name = strrchr((const char *)file.data, '/');
	name = name ? name + 1 : (const char *)file.data;
	if (!err)
		err = intern_string(s->files, name, strlen(name), &id);
	if (!err && id == process_cnt(s)) {
		err = buf_add(&s->processes, &p, sizeof(p));
	} else if (!err) {
		thread_names_drop(process_at(s, id)->names);
		*process_at(s, id) = p;
	}
	if (err)
		thread_names_drop(p.names);
out:
	buf_free(&file);
	return err;
}

static int keep_processes(struct session_json *s)
{
	struct json_pull j;
	int err = 0;

	if (!json_member_enter(&s->top[PROCESSES], JT_ARRAY, &j))
		return 0;
	while (!err && json_pull_element(&j)) {
		if (json_pull_type(&j) == JT_OBJECT)
			err = keep_process(s, &j);
		else
			json_pull_skip(&j);
	}
	return err;
}

/* 0, -ENOMEM, or -EBADMSG with a reason in why. */
static int read_text(struct session_json *s, char *why, size_t why_size)
{
	static const struct json_member top[TOP_CNT] = {
		[DURATION] = { .key = SESSION_DURATION_S }, [KERNEL] = { .key = SESSION_KERNEL },
		[START_TIME] = { .key = SESSION_START_TIME },
		[START_US] = { .key = SESSION_START_MONOTONIC_US },
		[LOST] = { .key = SESSION_LOST }, [PROCESSES] = { .key = SESSION_PROCESSES },
	};
	struct json_pull j;

	json_pull_start(&j, s->text.data, s->text.len, 0);
	memcpy(s->top, top, sizeof(top));
	if (!json_members(&j, s->top, TOP_CNT) || !json_pull_finish(&j)) {
		snprintf(why, why_size, "expected %s at byte %zu", j.err, json_pull_offset(&j));
		return -EBADMSG;
	}
	s->files = intern_new();
	if (!s->files || keep_string(s, &s->top[KERNEL], &s->kernel) ||
	    keep_string(s, &s->top[START_TIME], &s->start_time))
		return -ENOMEM;
	return keep_processes(s);
}

struct session_json *session_json_parse(struct buf *text, char *why, size_t why_size)
{
	struct session_json *s = calloc(1, sizeof(*s));
	int err = -ENOMEM;

	if (s) {
		s->text = *text;
		*text = (struct buf){ 0 };
		err = read_text(s, why, why_size);
	}
	if (!err)
		return s;
	if (err == -ENOMEM)
		snprintf(why, why_size, "%s", strerror(ENOMEM));
	session_json_free(s);
	errno = -err;
	return NULL;
}

/* NULL with errno, and why. */
static struct session_json *read_file(int dirfd, const char *name, char *why, size_t why_size)
{
	struct session_json *s = NULL;
	struct buf text = { 0 };
	int err = read_all(dirfd, name, &text);

	if (err) {
		snprintf(why, why_size, "%s", strerror(-err));
	} else {
		s = session_json_parse(&text, why, why_size);
		err = s ? 0 : -errno;
	}
	buf_free(&text);
	errno = -err;
	return s;
}

struct session_json *session_json_read(int dirfd, const char *shown)
{
	char why[128];
	struct session_json *s = read_file(dirfd, SESSION_FILE_NAME, why, sizeof(why));
	int err = errno;

	if (!s && err != ENOENT)
		log_error("cannot use '%s': %s; names and losses are missing", shown, why);
	errno = err;
	return s;
}

static bool is_called_tach(const char *file)
{
	size_t len = strlen(file);

	return len > 5 && !strcmp(file + len - 5, ".tach");
}

/* Only the JSON beside a .tach file must be ours; another file's may be anything. */
struct session_json *session_json_read_beside(int dirfd, const char *file, const char *shown)
{
	struct session_json *s = NULL;
	char name[NAME_MAX + 1], why[128];
	int err = ENOENT;

	if (snprintf(name, sizeof(name), "%s" SESSION_BESIDE_SUFFIX, file) < (int)sizeof(name)) {
		s = read_file(dirfd, name, why, sizeof(why));
		err = errno;
	}
	if (s && process_cnt(s) == 1) {
		s->is_beside = true;
		return s;
	}
	if (s || err == EISDIR || (err == EBADMSG && !is_called_tach(file)))
		err = ENOENT;
	session_json_free(s);
	if (err != ENOENT && shown)
		log_error("cannot use '%s" SESSION_BESIDE_SUFFIX "': %s; names and losses are "
			  "missing", shown, why);
	errno = err;
	return NULL;
}

void session_json_free(struct session_json *s)
{
	uint32_t i;

	if (!s)
		return;
	for (i = 0; i < process_cnt(s); i++)
		thread_names_drop(process_at(s, i)->names);
	buf_free(&s->text);
	buf_free(&s->texts);
	buf_free(&s->processes);
	intern_free(s->files);
	free(s);
}

/* ---- access ---- */

/* Returns NULL if the file is not listed. */
static const struct process *find(const struct session_json *s, const char *file)
{
	uint32_t id;

	if (s->is_beside)
		return process_at(s, 0);
	return intern_find_string(s->files, file, strlen(file), &id) ? process_at(s, id) : NULL;
}

void session_json_process(const struct session_json *s, const char *file,
			  struct session_process *out)
{
	const struct process *p = find(s, file);

	memset(out, 0, sizeof(*out));
	if (!p)
		return;
	out->tgid = p->tgid;
	out->comm = text_at(s, p->comm);
	out->command = text_at(s, p->command);
	out->container = text_at(s, p->container);
	out->image = text_at(s, p->image);
	out->unit = text_at(s, p->unit);
	out->thread_names = p->names;
}

double session_json_duration(const struct session_json *s)
{
	struct json_pull j = s->top[DURATION].value;
	double seconds;

	if (!json_member_is(&s->top[DURATION], JT_NUMBER) || !json_pull_double(&j, &seconds))
		return 0;
	return seconds > 0 && seconds < 1e12 ? seconds : 0;
}

const char *session_json_kernel(const struct session_json *s)
{
	return text_at(s, s->kernel);
}

uint64_t session_json_utc_ns(const struct session_json *s, uint64_t monotonic_us)
{
	struct json_pull start = s->top[START_US].value;
	const char *when = text_at(s, s->start_time), *end;
	struct tm tm = { 0 };
	uint64_t from;
	int64_t utc_us;

	end = when ? strptime(when, "%Y-%m-%dT%H:%M:%SZ", &tm) : NULL;
	if (!end || *end || monotonic_us > INT64_MAX / 4)
		return 0;
	if (!json_member_is(&s->top[START_US], JT_NUMBER) || !json_pull_uint(&start, &from) ||
	    from > INT64_MAX / 4)
		return 0;
	utc_us = (int64_t)timegm(&tm);
	if (utc_us <= 0 || utc_us > INT64_MAX / 4000000000)
		return 0;
	utc_us = utc_us * 1000000 + (int64_t)monotonic_us - (int64_t)from;
	return utc_us > 0 && utc_us < INT64_MAX / 1000 ? (uint64_t)utc_us * 1000 : 0;
}

/* The object at an offset of the text, as a member; 0: an empty member. */
static struct json_member object_at(const struct session_json *s, size_t at)
{
	struct json_member m = { 0 };

	if (at)
		json_pull_start(&m.value, s->text.data + at, s->text.len - at, at);
	return m;
}

/* Collect losses: cnts[id in causes] is the number of a cause; if it comes twice, the last one. */
static void add_losses(const struct json_member *lost, struct intern *causes, struct buf *cnts)
{
	struct buf key = { 0 };
	const char *cause;
	struct json_pull j;
	uint64_t cnt;
	uint32_t id;
	int err = 0;

	if (!json_member_enter(lost, JT_OBJECT, &j))
		return;
	while (!err && json_pull_key(&j, &key)) {
		const struct json_member value = { .value = j };

		json_pull_skip(&j);
		if (!json_member_count(&value, &cnt))
			continue;
		err = buf_add(&key, "", 1);
		cause = (const char *)key.data;
		if (!err)
			err = intern_string(causes, cause, strlen(cause) + 1, &id);
		if (!err && id == cnts->len / sizeof(cnt))
			err = buf_add(cnts, &cnt, sizeof(cnt));
		else if (!err)
			((uint64_t *)(void *)cnts->data)[id] = cnt;
	}
	buf_free(&key);
}

void session_json_losses(const struct session_json *s, const char *file,
			 void (*each)(void *ctx, const char *cause, uint64_t cnt), void *ctx)
{
	const struct process *p = file ? find(s, file) : NULL;
	struct json_member lost = file ? object_at(s, p ? p->lost : 0) : s->top[LOST];
	struct intern *causes = intern_new();
	struct buf cnts = { 0 };
	uint32_t i;

	if (causes)
		add_losses(&lost, causes, &cnts);
	for (i = 0; i < cnts.len / sizeof(uint64_t); i++)
		each(ctx, intern_tables(causes)->strings[i].data,
		     ((uint64_t *)(void *)cnts.data)[i]);
	buf_free(&cnts);
	intern_free(causes);
}

/* Members of "gil" of a process, and of its threads. */
enum { WAIT_NS, WAITS, LONGEST, THREADS, THREAD, NAME, GIL_CNT };
#define GIL_MEMBERS                                                                                \
	{ [WAIT_NS] = { "wait_ns" }, [WAITS] = { "waits" }, [LONGEST] = { "longest_wait_ns" },     \
	  [THREADS] = { "threads" }, [THREAD] = { "thread" }, [NAME] = { "name" } }

static struct session_gil get_gil(const struct json_member m[GIL_CNT])
{
	struct session_gil gil = { 0 };

	gil.known = json_member_count(&m[WAIT_NS], &gil.wait_ns);
	json_member_count(&m[WAITS], &gil.waits);
	json_member_count(&m[LONGEST], &gil.longest_wait_ns);
	return gil;
}

static void find_gil(const struct session_json *s, const char *file,
		     struct json_member m[GIL_CNT])
{
	const struct process *p = find(s, file);
	struct json_member gil = object_at(s, p ? p->gil : 0);

	json_member_object(&gil, m, GIL_CNT);
}

void session_json_gil(const struct session_json *s, const char *file, struct session_gil *out)
{
	struct json_member m[GIL_CNT] = GIL_MEMBERS;

	find_gil(s, file, m);
	*out = get_gil(m);
}

int session_json_gil_threads(const struct session_json *s, const char *file,
			     int (*each)(void *ctx, uint64_t thread_id, const char *name,
					 const struct session_gil *gil), void *ctx)
{
	struct json_member m[GIL_CNT] = GIL_MEMBERS;
	struct buf name = { 0 };
	struct json_pull j;
	int err = 0;

	find_gil(s, file, m);
	if (!json_member_enter(&m[THREADS], JT_ARRAY, &j))
		return 0;
	while (!err && json_pull_element(&j)) {
		const struct json_member element = { .value = j };
		struct session_gil gil;
		uint64_t tid = 0;

		json_pull_skip(&j);
		json_member_object(&element, m, GIL_CNT);
		gil = get_gil(m);
		json_member_count(&m[THREAD], &tid);
		if (gil.known)
			err = each(ctx, tid, json_member_string(&m[NAME], &name) ?
					     (const char *)name.data : NULL, &gil);
	}
	buf_free(&name);
	return err;
}

bool session_json_free_threaded(const struct session_json *s, const char *file)
{
	const struct process *p = find(s, file);

	return p && p->free_threaded;
}
