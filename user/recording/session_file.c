// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * session_file.c - see session_file.h. Reads by json-c, as container_names.c does.
 */
#include "recording/session_file.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "model/thread_names.h"

/* json-c takes an int, and 10,000 processes with long command lines need a tenth of this. */
#define MAX_BYTES (256u << 20)
#define MAX_DEPTH 16

struct session_file {
	struct json_object *root;
	struct json_object *by_name;	/* file name -> its process object */
};

/* All of dirfd/session.json into b. 0 or -errno. */
static int read_all(int dirfd, struct buf *b)
{
	int fd = openat(dirfd, SESSION_FILE_NAME, O_RDONLY | O_NONBLOCK | O_CLOEXEC), err = 0;
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		err = -EINVAL;
	while (!err) {
		err = b->len > MAX_BYTES ? -EFBIG : buf_reserve(b, 65536);
		if (err)
			break;
		n = read(fd, b->data + b->len, b->cap - b->len);
		if (n == 0 || (n < 0 && errno != EINTR)) {
			err = n ? -errno : 0;
			break;
		}
		b->len += n > 0 ? (size_t)n : 0;
	}
	close(fd);
	return err;
}

static struct json_object *get(struct json_object *o, const char *key, enum json_type type)
{
	struct json_object *value;

	if (!json_object_is_type(o, json_type_object) ||
	    !json_object_object_get_ex(o, key, &value) || !json_object_is_type(value, type))
		return NULL;
	return value;
}

static const char *get_string(struct json_object *o, const char *key)
{
	struct json_object *value = get(o, key, json_type_string);

	return value ? json_object_get_string(value) : NULL;
}

/* A command given as an array of words becomes one string, so that readers see one shape. */
static int join_command(struct json_object *process)
{
	struct json_object *words = get(process, "command", json_type_array), *joined;
	struct buf b = { 0 };
	size_t i;
	int err = 0;

	if (!words)
		return 0;
	for (i = 0; !err && i < json_object_array_length(words); i++) {
		struct json_object *word = json_object_array_get_idx(words, i);

		if (i)
			err = buf_add(&b, " ", 1);
		if (!err && json_object_is_type(word, json_type_string))
			err = buf_add(&b, json_object_get_string(word),
				      json_object_get_string_len(word));
	}
	joined = !err ? json_object_new_string_len((char *)b.data, (int)b.len) : NULL;
	buf_free(&b);
	if (!joined || json_object_object_add(process, "command", joined)) {
		json_object_put(joined);
		return -ENOMEM;
	}
	return 0;
}

static void drop_names(struct json_object *process, void *names)
{
	thread_names_drop(names);
}

/* As a table, which lives as long as the process' object. What is no name is left out. */
static int read_names(struct json_object *process)
{
	struct json_object *map = get(process, "thread_names", json_type_object);
	struct thread_names *names;
	char *end;
	int err;

	if (!map || !json_object_object_length(map))
		return 0;
	names = thread_names_new();
	if (!names)
		return -ENOMEM;
	json_object_set_userdata(process, names, drop_names);
	json_object_object_foreach(map, key, value) {
		uint64_t tid = strtoull(key, &end, 10);

		if (*key < '0' || *key > '9' || *end || !json_object_is_type(value, json_type_string))
			continue;
		err = thread_names_set(names, tid, json_object_get_string(value));
		if (err)
			return err == -ENOSPC ? 0 : err;
	}
	return 0;
}

static int index_processes(struct session_file *s)
{
	struct json_object *list = get(s->root, "processes", json_type_array);
	size_t i, cnt = list ? json_object_array_length(list) : 0;

	s->by_name = json_object_new_object();
	if (!s->by_name)
		return -ENOMEM;
	for (i = 0; i < cnt; i++) {
		struct json_object *process = json_object_array_get_idx(list, i);
		const char *file = get_string(process, "file");

		if (!file)
			continue;
		file = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
		if (join_command(process) || read_names(process) ||
		    json_object_object_add(s->by_name, file, json_object_get(process)))
			return -ENOMEM;
	}
	return 0;
}

/* The text's object, NULL with a reason in why. */
static struct json_object *parse(const struct buf *b, const char **why)
{
	struct json_tokener *tok = json_tokener_new_ex(MAX_DEPTH);
	struct json_object *root;

	*why = strerror(ENOMEM);
	if (!tok)
		return NULL;
	root = json_tokener_parse_ex(tok, (const char *)b->data, (int)b->len);
	if (json_tokener_get_error(tok) == json_tokener_continue)
		*why = "it ends too early";
	else
		*why = json_tokener_error_desc(json_tokener_get_error(tok));
	json_tokener_free(tok);
	if (root && !json_object_is_type(root, json_type_object)) {
		*why = "it is not a JSON object";
		json_object_put(root);
		root = NULL;
	}
	return root;
}

struct session_file *session_file_read(int dirfd, const char *shown)
{
	struct session_file *s = NULL;
	const char *why = "";
	struct buf b = { 0 };
	int err = read_all(dirfd, &b);

	if (err == -ENOENT)
		goto out;
	if (!err) {
		s = calloc(1, sizeof(*s));
		err = s ? 0 : -ENOMEM;
	}
	if (!err) {
		s->root = parse(&b, &why);
		err = s->root ? index_processes(s) : -EBADMSG;
	}
	if (err) {
		log_error("cannot use '%s': %s; names and losses are missing", shown,
			  err == -EBADMSG ? why : strerror(-err));
		session_file_free(s);
	}
out:
	buf_free(&b);
	errno = -err;
	return err ? NULL : s;
}

void session_file_free(struct session_file *s)
{
	if (!s)
		return;
	json_object_put(s->by_name);
	json_object_put(s->root);
	free(s);
}

void session_file_process(const struct session_file *s, const char *file,
			  struct session_process *out)
{
	struct json_object *process = get(s->by_name, file, json_type_object);
	struct json_object *pid = get(process, "pid", json_type_int);
	struct json_object *container = get(process, "container", json_type_object);
	int64_t tgid = pid ? json_object_get_int64(pid) : 0;

	out->tgid = tgid > 0 && tgid <= UINT32_MAX ? (uint32_t)tgid : 0;
	out->comm = get_string(process, "comm");
	out->command = get_string(process, "command");
	out->container = get_string(container, "label");
	out->image = get_string(container, "image");
	out->unit = get_string(process, "unit");
	out->thread_names = process ? json_object_get_userdata(process) : NULL;
}

double session_file_duration(const struct session_file *s)
{
	struct json_object *value = NULL;
	double seconds;

	json_object_object_get_ex(s->root, "duration_s", &value);
	seconds = json_object_get_double(value);
	return seconds > 0 && seconds < 1e12 ? seconds : 0;
}

const char *session_file_kernel(const struct session_file *s)
{
	return get_string(s->root, "kernel");
}

uint64_t session_file_utc_ns(const struct session_file *s, uint64_t monotonic_us)
{
	struct json_object *start = get(s->root, "start_monotonic_us", json_type_int);
	const char *when = get_string(s->root, "start_time"), *end;
	struct tm tm = { 0 };
	int64_t utc_us, from;

	end = when ? strptime(when, "%Y-%m-%dT%H:%M:%SZ", &tm) : NULL;
	if (!end || *end || !start || monotonic_us > INT64_MAX / 4)
		return 0;
	from = json_object_get_int64(start);
	utc_us = (int64_t)timegm(&tm);
	if (from < 0 || from > INT64_MAX / 4 || utc_us <= 0 || utc_us > INT64_MAX / 4000000000)
		return 0;
	utc_us = utc_us * 1000000 + (int64_t)monotonic_us - from;
	return utc_us > 0 && utc_us < INT64_MAX / 1000 ? (uint64_t)utc_us * 1000 : 0;
}

void session_file_losses(const struct session_file *s, const char *file,
			 void (*each)(void *ctx, const char *cause, uint64_t cnt), void *ctx)
{
	struct json_object *owner = file ? get(s->by_name, file, json_type_object) : s->root;
	struct json_object *lost = get(owner, "lost", json_type_object);

	if (!lost)
		return;
	json_object_object_foreach(lost, cause, cnt)
		if (json_object_is_type(cnt, json_type_int))
			each(ctx, cause, json_object_get_uint64(cnt));
}

static uint64_t get_count(struct json_object *o, const char *key)
{
	struct json_object *value = get(o, key, json_type_int);

	/* A negative number is none. */
	return value && json_object_get_int64(value) > 0 ? json_object_get_uint64(value) : 0;
}

static struct session_gil get_gil(struct json_object *o)
{
	return (struct session_gil){
		.known = get(o, "wait_ns", json_type_int) != NULL,
		.wait_ns = get_count(o, "wait_ns"),
		.waits = get_count(o, "waits"),
		.longest_wait_ns = get_count(o, "longest_wait_ns"),
	};
}

static struct json_object *gil_of(const struct session_file *s, const char *file)
{
	return get(get(s->by_name, file, json_type_object), "gil", json_type_object);
}

void session_file_gil(const struct session_file *s, const char *file, struct session_gil *out)
{
	*out = get_gil(gil_of(s, file));
}

int session_file_gil_threads(const struct session_file *s, const char *file,
			     int (*each)(void *ctx, uint64_t thread_id, const char *name,
					 const struct session_gil *gil), void *ctx)
{
	struct json_object *list = get(gil_of(s, file), "threads", json_type_array);
	size_t i, cnt = list ? json_object_array_length(list) : 0;
	int err = 0;

	for (i = 0; !err && i < cnt; i++) {
		struct json_object *thread = json_object_array_get_idx(list, i);
		struct session_gil gil = get_gil(thread);

		if (gil.known)
			err = each(ctx, get_count(thread, "thread"), get_string(thread, "name"),
				   &gil);
	}
	return err;
}

bool session_file_free_threaded(const struct session_file *s, const char *file)
{
	struct json_object *process = get(s->by_name, file, json_type_object);
	struct json_object *said = get(process, "free_threaded", json_type_boolean);

	return said && json_object_get_boolean(said);
}
