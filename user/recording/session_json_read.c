// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * session_json_read.c - see session_json.h.
 *
 * The author of the file may have put anything there, so there are limits on what is kept. At first
 * only the offsets of its processes are kept, by their files' names. A process is read on request,
 * and only what is needed is copied. A large file is mapped, and its pages are released once they
 * were read (json_pull.h).
 */
#include "recording/session_json.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/json_members.h"
#include "base/string_ref.h"
#include "base/u64map.h"
#include "base/util.h"
#include "host/regular.h"
#include "model/intern.h"
#include "model/thread_names.h"
#include "recording/session_json_keep.h"
#include "resolve/record_mode.h"

/* Of session.json: 100,000 processes take about 100 MB. A larger one would take too long. */
#define MAX_BYTES ((size_t)256 << 20)
/* Of FILE.json, which is about one process and its threads. */
#define BESIDE_MAX_BYTES ((size_t)4 << 20)
/* A larger file is mapped. */
#define READ_MAX_BYTES ((size_t)1 << 20)
/* Files that it may list: each costs 32 bytes. */
#define FILES_MAX (1u << 18)
/* Limit of causes of losses, and of threads with waits for the GIL. */
#define CAUSES_MAX 256
#define GIL_THREADS_MAX THREAD_NAMES_MAX

/* Members of the outermost object. */
enum { DURATION, KERNEL, MODE, EVENT, START_TIME, START_US, LOST, PROCESSES, TOP_CNT };

/* Members of a process. */
enum { FILE_NAME, PID, COMM, COMMAND, UNIT, CONTAINER, LOSSES, LOST_THREADS, NAMES, FREE, JIT,
       GIL, OTHER_ROOT, SERVICE, MEMBERS, PROCESS_CNT };
#define PROCESS_MEMBERS                                                                            \
	{ [FILE_NAME] = { SESSION_FILE }, [PID] = { SESSION_PID }, [COMM] = { SESSION_COMM },      \
	  [COMMAND] = { SESSION_COMMAND }, [UNIT] = { "unit" }, [CONTAINER] = { "container" },     \
	  [LOSSES] = { SESSION_LOST }, [LOST_THREADS] = { SESSION_LOST_THREADS },                  \
	  [NAMES] = { "thread_names" }, [FREE] = { SESSION_FREE_THREADED },                        \
	  [JIT] = { SESSION_JIT }, [GIL] = { "gil" }, [OTHER_ROOT] = { SESSION_OTHER_ROOT },       \
	  [SERVICE] = { SESSION_SERVICE }, [MEMBERS] = { SESSION_MEMBERS } }

struct session_json {
	struct buf text;		/* session.json, unless it is mapped */
	void *map;			/* NULL: not mapped */
	size_t map_bytes;
	bool is_beside;			/* it is about one file, whatever its name */
	struct json_member top[TOP_CNT];
	struct u64map elements;		/* hash of a file's name -> 1 + offset of its process */
	size_t last;			/* 1 + offset of the last process; 0: there is none */
	struct kept *kept;
};

/* ---- finding processes ---- */

static uint64_t key_of(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return hash_bytes(name, strlen(name));
}

/* Starts to read the text at an offset. */
static void start_at(const struct session_json *s, size_t at, struct json_pull *j)
{
	const uint8_t *data = s->map ? s->map : s->text.data;
	size_t len = s->map ? s->map_bytes : s->text.len;

	json_pull_start(j, data, len, 0);
	j->at = j->dropped = at > j->at ? at : j->at;
	j->string_max = KEPT_STRING_BYTES;
	j->mapped = s->map;
}

/* Stores the offset of the element of "processes" that begins here. 0, -ENOMEM or -E2BIG. */
static int note_process(struct session_json *s, struct json_pull *j)
{
	struct json_member file = { .key = SESSION_FILE };
	size_t at = json_pull_offset(j);
	struct buf name = { 0 };
	int err = 0;

	if (!json_members(j, &file, 1))
		return -ENOMEM;		/* not a JSON error: the text was read once before */
	/* If a file is listed twice, the last element counts. */
	if (json_member_string(&file, &name)) {
		err = u64map_put(&s->elements, key_of((const char *)name.data),
				 (void *)(uintptr_t)(at + 1));
		s->last = at + 1;
	}
	buf_free(&name);
	return err ? err : s->elements.cnt > FILES_MAX ? -E2BIG : 0;
}

static int note_processes(struct session_json *s)
{
	struct json_pull j;
	int err = 0;

	if (!json_member_enter(&s->top[PROCESSES], JT_ARRAY, &j))
		return 0;
	while (!err && json_pull_element(&j)) {
		if (json_pull_type(&j) == JT_OBJECT)
			err = note_process(s, &j);
		else
			json_pull_skip(&j);
	}
	return err;
}

/* Finds the members of a file's process. Returns false if the file is not listed. */
static bool find_process(const struct session_json *s, const char *file,
			 struct json_member m[PROCESS_CNT])
{
	static const struct json_member wanted[PROCESS_CNT] = PROCESS_MEMBERS;
	uintptr_t at = s->is_beside ? s->last : (uintptr_t)u64map_get(&s->elements, key_of(file));
	struct json_pull j;

	memcpy(m, wanted, sizeof(wanted));
	if (!at)
		return false;
	start_at(s, at - 1, &j);
	return json_members(&j, m, PROCESS_CNT);
}

/* ---- reading ---- */

/* 0, -ENOMEM, or -EBADMSG or -E2BIG with a reason in why. */
static int read_text(struct session_json *s, char *why, size_t why_size)
{
	static const struct json_member top[TOP_CNT] = {
		[DURATION] = { .key = SESSION_DURATION_S }, [KERNEL] = { .key = SESSION_KERNEL },
		[MODE] = { .key = SESSION_MODE }, [EVENT] = { .key = SESSION_EVENT },
		[START_TIME] = { .key = SESSION_START_TIME },
		[START_US] = { .key = SESSION_START_MONOTONIC_US },
		[LOST] = { .key = SESSION_LOST }, [PROCESSES] = { .key = SESSION_PROCESSES },
	};
	struct json_pull j;
	int err;

	start_at(s, 0, &j);
	memcpy(s->top, top, sizeof(top));
	if (!json_members(&j, s->top, TOP_CNT) || !json_pull_finish(&j)) {
		snprintf(why, why_size, "expected %s at byte %zu", j.err, json_pull_offset(&j));
		return -EBADMSG;
	}
	s->kept = kept_new();
	err = s->kept ? note_processes(s) : -ENOMEM;
	if (err == -E2BIG)
		snprintf(why, why_size, "it lists more than %u files", FILES_MAX);
	return err;
}

/* Reads the text of s. Returns s, or frees it: NULL with errno, and why. */
static struct session_json *parse_text(struct session_json *s, char *why, size_t why_size)
{
	int err = read_text(s, why, why_size);

	if (!err)
		return s;
	if (err == -ENOMEM)
		snprintf(why, why_size, "%s", strerror(ENOMEM));
	session_json_free(s);
	errno = -err;
	return NULL;
}

struct session_json *session_json_parse(struct buf *text, char *why, size_t why_size)
{
	struct session_json *s = calloc(1, sizeof(*s));

	if (!s) {
		snprintf(why, why_size, "%s", strerror(ENOMEM));
		return NULL;
	}
	s->text = *text;
	*text = (struct buf){ 0 };
	return parse_text(s, why, why_size);
}

/* Reads or maps a file of at most max bytes. 0 or -errno. */
static int get_text(struct session_json *s, int fd, size_t max)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return -EINVAL;
	if ((uint64_t)st.st_size > max)
		return -EFBIG;
	if ((uint64_t)st.st_size <= READ_MAX_BYTES || max <= BESIDE_MAX_BYTES)
		return buf_add_file(&s->text, fd, max);
	s->map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (s->map == MAP_FAILED) {
		s->map = NULL;
		return -errno;
	}
	s->map_bytes = (size_t)st.st_size;
	return 0;
}

/* Reads the file dirfd/name of at most max bytes. NULL with errno, and why. */
static struct session_json *read_file(int dirfd, const char *name, size_t max, char *why,
				      size_t why_size)
{
	int fd = open_regular(dirfd, name, 0), err;
	struct session_json *s = NULL;

	if (fd < 0) {
		err = fd;
	} else {
		s = calloc(1, sizeof(*s));
		err = s ? get_text(s, fd, max) : -ENOMEM;
		close(fd);
	}
	if (!err)
		return parse_text(s, why, why_size);
	if (err == -EFBIG)
		snprintf(why, why_size, "it is larger than %zu MiB", max >> 20);
	else
		snprintf(why, why_size, "%s", strerror(-err));
	session_json_free(s);
	errno = -err;
	return NULL;
}

struct session_json *session_json_read(int dirfd, const char *shown)
{
	char why[128];
	struct session_json *s = read_file(dirfd, SESSION_FILE_NAME, MAX_BYTES, why,
					     sizeof(why));
	int err = errno;

	if (!s && err != ENOENT)
		log_error("cannot use '%s': %s; names and losses are missing", shown, why);
	errno = err;
	return s;
}

/* Only the JSON next to a .tach file must be ours; another file's may be anything. */
struct session_json *session_json_read_beside(int dirfd, const char *file, const char *shown)
{
	struct session_json *s = NULL;
	char name[NAME_MAX + 1], why[128];
	int err = ENOENT;

	if (snprintf(name, sizeof(name), "%s" SESSION_BESIDE_SUFFIX, file) < (int)sizeof(name)) {
		s = read_file(dirfd, name, BESIDE_MAX_BYTES, why, sizeof(why));
		err = errno;
	}
	if (s && s->elements.cnt == 1) {
		s->is_beside = true;
		return s;
	}
	if (s || err == EISDIR || (err == EBADMSG && !ends_with(file, ".tach")))
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
	if (!s)
		return;
	if (s->map)
		munmap(s->map, s->map_bytes);
	buf_free(&s->text);
	u64map_free(&s->elements);
	kept_free(s->kept);
	free(s);
}

/* ---- access ---- */

/* Finds the parts of a service. */
static void read_service(const struct json_member *m, struct json_member parts[SERVICE_PART_CNT])
{
	size_t i;

	for (i = 0; i < SERVICE_PART_CNT; i++)
		parts[i] = (struct json_member){ .key = service_part_keys[i] };
	json_member_object(m, parts, SERVICE_PART_CNT);
}

void session_json_process(const struct session_json *s, const char *file,
			  struct session_process *out)
{
	struct json_member m[PROCESS_CNT];
	struct json_member container[2] = { { .key = "label" }, { .key = "image" } };
	struct json_member service[SERVICE_PART_CNT];
	uint64_t pid;
	size_t i;

	memset(out, 0, sizeof(*out));
	if (!find_process(s, file, m))
		return;
	json_member_object(&m[CONTAINER], container, 2);
	out->tgid = json_member_count(&m[PID], &pid) && pid <= UINT32_MAX ? (uint32_t)pid : 0;
	out->comm = kept_string(s->kept, &m[COMM]);
	out->command = kept_command(s->kept, &m[COMMAND]);
	out->container = kept_string(s->kept, &container[0]);
	out->image = kept_string(s->kept, &container[1]);
	out->unit = kept_string(s->kept, &m[UNIT]);
	read_service(&m[SERVICE], service);
	for (i = 0; i < SERVICE_PART_CNT; i++)
		out->service.part[i] = kept_string(s->kept, &service[i]);
	out->thread_names = kept_names(s->kept, &m[NAMES]);
	out->elsewhere = out->container || json_member_is(&m[OTHER_ROOT], JT_TRUE);
}

/* Reads a member's service to texts, one buffer a part. Returns false if it has none. */
static bool member_service(const struct json_member *m, struct buf texts[SERVICE_PART_CNT],
			   struct profile_service *out)
{
	struct json_member parts[SERVICE_PART_CNT];
	size_t i;

	read_service(m, parts);
	for (i = 0; i < SERVICE_PART_CNT; i++)
		out->part[i] = json_member_string(&parts[i], &texts[i]) ?
				       (const char *)texts[i].data : NULL;
	return out->part[SERVICE_NAME];
}

int session_json_members(const struct session_json *s, const char *file,
			 int (*each)(void *ctx, uint32_t tgid,
				     const struct profile_service *service), void *ctx)
{
	struct json_member m[PROCESS_CNT];
	struct buf texts[SERVICE_PART_CNT] = { { 0 } };
	struct profile_service service;
	uint32_t cnt = 0;
	struct json_pull j;
	uint64_t pid;
	int err = 0;
	size_t i;

	if (!find_process(s, file, m) || !json_member_enter(&m[MEMBERS], JT_ARRAY, &j))
		return 0;
	while (!err && cnt++ < FILES_MAX && json_pull_element(&j)) {
		const struct json_member element = { .value = j };
		struct json_member parts[] = { { .key = SESSION_PID }, { .key = SESSION_SERVICE } };

		json_pull_skip(&j);
		json_member_object(&element, parts, ARRAY_SIZE(parts));
		if (json_member_count(&parts[0], &pid) && pid <= UINT32_MAX &&
		    member_service(&parts[1], texts, &service))
			err = each(ctx, (uint32_t)pid, &service);
	}
	for (i = 0; i < SERVICE_PART_CNT; i++)
		buf_free(&texts[i]);
	return err;
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
	return kept_string(s->kept, &s->top[KERNEL]);
}

bool session_json_is_offcpu(const struct session_json *s)
{
	const char *mode = kept_string(s->kept, &s->top[MODE]);

	return mode && !strcmp(mode, record_modes[RECORD_OFFCPU].name);
}

const char *session_json_event(const struct session_json *s)
{
	return kept_string(s->kept, &s->top[EVENT]);
}

uint64_t session_json_utc_ns(const struct session_json *s, uint64_t monotonic_us)
{
	struct json_pull start = s->top[START_US].value;
	const char *when = kept_string(s->kept, &s->top[START_TIME]), *end;
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

/*
 * Collects losses: cnts[id in causes] is the number of a cause; if it occurs twice, the last one.
 */
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
	while (!err && cnts->len < CAUSES_MAX * sizeof(cnt) && json_pull_key(&j, &key)) {
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

static void each_loss(const struct json_member *lost,
		      void (*each)(void *ctx, const char *cause, uint64_t cnt), void *ctx)
{
	struct intern *causes = intern_new();
	struct buf cnts = { 0 };
	uint32_t i;

	if (causes)
		add_losses(lost, causes, &cnts);
	for (i = 0; i < cnts.len / sizeof(uint64_t); i++)
		each(ctx, intern_tables(causes)->strings[i].data,
		     ((uint64_t *)(void *)cnts.data)[i]);
	buf_free(&cnts);
	intern_free(causes);
}

void session_json_losses(const struct session_json *s, const char *file,
			 void (*each)(void *ctx, const char *cause, uint64_t cnt), void *ctx)
{
	struct json_member m[PROCESS_CNT] = { 0 };

	if (file)
		find_process(s, file, m);
	each_loss(file ? &m[LOSSES] : &s->top[LOST], each, ctx);
}

/* Passes the thread on with each of its losses. */
struct of_thread {
	uint64_t id;
	void (*each)(void *ctx, uint64_t thread_id, const char *cause, uint64_t cnt);
	void *ctx;
};

static void pass_on(void *ctx, const char *cause, uint64_t cnt)
{
	const struct of_thread *t = ctx;

	t->each(t->ctx, t->id, cause, cnt);
}

void session_json_thread_losses(const struct session_json *s, const char *file,
				void (*each)(void *ctx, uint64_t thread_id, const char *cause,
					     uint64_t cnt), void *ctx)
{
	struct of_thread t = { .each = each, .ctx = ctx };
	struct json_member m[PROCESS_CNT];
	struct buf key = { 0 };
	struct json_pull j;
	int cnt = 0;

	if (!find_process(s, file, m) || !json_member_enter(&m[LOST_THREADS], JT_OBJECT, &j))
		return;
	while (cnt++ < THREAD_NAMES_MAX && json_pull_key(&j, &key) && !buf_add(&key, "", 1)) {
		const struct json_member of_one = { .value = j };

		json_pull_skip(&j);
		t.id = strtoull((const char *)key.data, NULL, 10);
		each_loss(&of_one, pass_on, &t);
	}
	buf_free(&key);
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
	struct json_member process[PROCESS_CNT];

	find_process(s, file, process);
	json_member_object(&process[GIL], m, GIL_CNT);
}

void session_json_gil(const struct session_json *s, const char *file, struct session_gil *out)
{
	struct json_member m[GIL_CNT] = GIL_MEMBERS;

	find_gil(s, file, m);
	*out = get_gil(m);
}

/* Returns a thread's name, cut to the length of other thread names; NULL: it has none. */
static const char *thread_name(const struct json_member *m, struct buf *name)
{
	if (!json_member_string(m, name))
		return NULL;
	if (name->len >= THREAD_NAME_BYTES)
		name->data[THREAD_NAME_BYTES - 1] = '\0';
	return (const char *)name->data;
}

int session_json_gil_threads(const struct session_json *s, const char *file,
			     int (*each)(void *ctx, uint64_t thread_id, const char *name,
					 const struct session_gil *gil), void *ctx)
{
	struct json_member m[GIL_CNT] = GIL_MEMBERS;
	struct buf name = { 0 };
	struct json_pull j;
	int err = 0, cnt = 0;

	find_gil(s, file, m);
	if (!json_member_enter(&m[THREADS], JT_ARRAY, &j))
		return 0;
	while (!err && cnt++ < GIL_THREADS_MAX && json_pull_element(&j)) {
		const struct json_member element = { .value = j };
		struct session_gil gil;
		uint64_t tid = 0;

		json_pull_skip(&j);
		json_member_object(&element, m, GIL_CNT);
		gil = get_gil(m);
		json_member_count(&m[THREAD], &tid);
		if (gil.known)
			err = each(ctx, tid, thread_name(&m[NAME], &name), &gil);
	}
	buf_free(&name);
	return err;
}

bool session_json_free_threaded(const struct session_json *s, const char *file)
{
	struct json_member m[PROCESS_CNT];

	return find_process(s, file, m) && json_member_is(&m[FREE], JT_TRUE);
}

bool session_json_jit(const struct session_json *s, const char *file)
{
	struct json_member m[PROCESS_CNT];

	return find_process(s, file, m) && json_member_is(&m[JIT], JT_TRUE);
}
