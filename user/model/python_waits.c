// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* python_waits.c - see python_waits.h. docs/agent-metrics.md has the table for users. */
#include "model/python_waits.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/util.h"

#define BLOCKED "<blocked in "

static const char *const locks[] = { "flock", "futex", "futex_waitv", "semop", "semtimedop" };
static const char *const sleeps[] = {
	"clock_nanosleep", "nanosleep", "pause", "rt_sigsuspend", "rt_sigtimedwait",
};
static const char *const ios[] = {
	"accept", "accept4", "access", "close", "connect", "copy_file_range", "creat",
	"epoll_pwait", "epoll_pwait2", "epoll_wait", "faccessat", "faccessat2", "fallocate",
	"fdatasync", "fstat", "fsync", "ftruncate", "getdents", "getdents64", "getrandom",
	"io_getevents", "io_pgetevents", "io_uring_enter", "link", "linkat", "lstat", "mkdir",
	"mkdirat", "mq_timedreceive", "mq_timedsend", "msgrcv", "msgsnd", "msync", "newfstatat",
	"open", "openat", "openat2", "page fault", "poll", "ppoll", "pread64", "preadv", "preadv2",
	"pselect6", "pwrite64", "pwritev", "pwritev2", "read", "readlink", "readlinkat", "readv",
	"recvfrom", "recvmmsg", "recvmsg", "rename", "renameat", "renameat2", "rmdir", "select",
	"sendfile", "sendmmsg", "sendmsg", "sendto", "shutdown", "splice", "stat", "statx", "sync",
	"sync_file_range", "syncfs", "tee", "truncate", "unlink", "unlinkat", "vmsplice", "write",
	"writev",
};

static int compare_name(const void *key, const void *item)
{
	const struct string_ref *name = key;
	const char *other = *(const char *const *)item;
	size_t len = strlen(other);
	int order = memcmp(name->data, other, name->len < len ? name->len : len);

	return order ? order : name->len < len ? -1 : name->len > len;
}

static bool has_name(const char *const *sorted, size_t cnt, const struct string_ref *name)
{
	return bsearch(name, sorted, cnt, sizeof(*sorted), compare_name) != NULL;
}

static bool is_name(const struct string_ref *s, const char *text)
{
	return s->len == strlen(text) && !memcmp(s->data, text, s->len);
}

static bool is_held(const struct string_ref *s)
{
	static const char *const held[] = { "<stopped", "<traced", "<frozen" };
	size_t i, len;

	for (i = 0; i < ARRAY_SIZE(held); i++) {
		len = strlen(held[i]);
		if (s->len > len && !memcmp(s->data, held[i], len) &&
		    (s->data[len] == ' ' || s->data[len] == '>'))
			return true;
	}
	return false;
}

enum python_wait python_wait_of(const struct string_ref *frame)
{
	const size_t before = strlen(BLOCKED);
	struct string_ref name;

	if (is_name(frame, "<waiting for a CPU>"))
		return PYTHON_WAIT_RUNNABLE;
	if (is_held(frame))
		return PYTHON_WAIT_HELD;
	if (frame->len <= before + 1 || memcmp(frame->data, BLOCKED, before))
		return PYTHON_WAITS;
	name = (struct string_ref){ frame->data + before, frame->len - (uint32_t)before - 1 };
	if (has_name(locks, ARRAY_SIZE(locks), &name))
		return PYTHON_WAIT_LOCK;
	if (has_name(sleeps, ARRAY_SIZE(sleeps), &name))
		return PYTHON_WAIT_SLEEP;
	return has_name(ios, ARRAY_SIZE(ios), &name) ? PYTHON_WAIT_IO : PYTHON_WAIT_OTHER;
}
