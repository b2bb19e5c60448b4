// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* look_thread.c - see look_thread.h. */
#include "look/look_thread.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/util.h"
#include "bpf/abi.h"
#include "host/proc.h"
#include "host/syscall_name.h"
#include "model/python_waits.h"

/* ---- its status ---- */

#define STATUS_BYTES 4096

static ssize_t status_of(pid_t tgid, uint32_t tid, char text[STATUS_BYTES])
{
	char name[32];

	snprintf(name, sizeof(name), "task/%" PRIu32 "/status", tid);
	return proc_read(tgid, name, text, STATUS_BYTES);
}

static const char *find_field(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? at + strlen(name) : "";
}

uint32_t look_own_tid(pid_t tgid, uint32_t tid)
{
	char text[STATUS_BYTES];
	const char *at;
	uint32_t own = 0;
	int used;

	if (status_of(tgid, tid, text) <= 0)
		return 0;
	at = find_field(text, "\nNSpid:");
	while (sscanf(at, " %" SCNu32 "%n", &own, &used) == 1)
		at += used;
	return own;
}

uint64_t look_switches(pid_t tgid, uint32_t tid)
{
	char text[STATUS_BYTES];
	uint64_t own = 0, forced = 0;

	if (status_of(tgid, tid, text) <= 0 || *find_field(text, "\nState:\t") != 'S')
		return 0;
	sscanf(find_field(text, "\nvoluntary_ctxt_switches:"), "%" SCNu64, &own);
	sscanf(find_field(text, "\nnonvoluntary_ctxt_switches:"), "%" SCNu64, &forced);
	return own + forced;
}

#define BLOCKED "<blocked in "
#define IN_KERNEL "the kernel"	/* syscall_name() */
#define FD_MAX (1 << 30)

const char *look_state_name(enum look_state state)
{
	static const char *const names[LOOK_STATE_CNT] = {
		[LOOK_RUNNING] = "running", [LOOK_RUNNABLE] = "waits for a CPU",
		[LOOK_GIL] = "waits for the GIL", [LOOK_LOCK] = "waits for a lock",
		[LOOK_SLEEP] = "sleeps", [LOOK_IO] = "waits for I/O",
		[LOOK_KERNEL] = "waits in the kernel", [LOOK_HELD] = "held",
		[LOOK_OTHER] = "waits",
	};

	return names[state];
}

/* Calls whose first argument is a descriptor, sorted. */
static const char *const fd_calls[] = {
	"accept", "accept4", "connect", "copy_file_range", "epoll_pwait", "epoll_pwait2",
	"epoll_wait", "fallocate", "fdatasync", "flock", "fsync", "ftruncate", "getdents64",
	"ioctl", "pread64", "preadv", "preadv2", "pwrite64", "pwritev", "pwritev2", "read",
	"readv", "recvfrom", "recvmmsg", "recvmsg", "sendmmsg", "sendmsg", "sendto", "splice",
	"sync_file_range", "syncfs", "write", "writev",
};

static int by_name(const void *key, const void *item)
{
	return strcmp(key, *(const char *const *)item);
}

static bool takes_fd(const char *call)
{
	return bsearch(call, fd_calls, ARRAY_SIZE(fd_calls), sizeof(*fd_calls), by_name) != NULL;
}

/* Copies the text of a frame between the first `before` bytes and its last, ">". */
static void set_inner(char *out, size_t size, const struct string_ref *frame, size_t before)
{
	size_t len = frame->len > before ? frame->len - before - 1 : 0;

	if (len >= size)
		len = size - 1;
	memcpy(out, frame->data + before, len);
	out[len] = '\0';
}

/* From "<blocked in read>". */
static void set_call(struct look_thread *t, const struct string_ref *frame)
{
	size_t before = strlen(BLOCKED);

	if (frame->len > before && !memcmp(frame->data, BLOCKED, before))
		set_inner(t->call, sizeof(t->call), frame, before);
	if (strcmp(t->call, IN_KERNEL) != 0)
		return;
	t->call[0] = '\0';
	t->state = LOOK_KERNEL;
}

/* Returns true if this is the frame of a wait, and sets the state. */
static bool take_wait(struct look_thread *t, const struct string_ref *frame)
{
	static const enum look_state states[PYTHON_WAITS] = {
		[PYTHON_WAIT_LOCK] = LOOK_LOCK, [PYTHON_WAIT_IO] = LOOK_IO,
		[PYTHON_WAIT_SLEEP] = LOOK_SLEEP, [PYTHON_WAIT_RUNNABLE] = LOOK_RUNNABLE,
		[PYTHON_WAIT_HELD] = LOOK_HELD, [PYTHON_WAIT_OTHER] = LOOK_OTHER,
	};
	static const char gil[] = "<waiting for the GIL>";
	enum python_wait wait = python_wait_of(frame);

	if (frame->len == strlen(gil) && !memcmp(frame->data, gil, frame->len)) {
		t->state = LOOK_GIL;
		return true;
	}
	if (wait == PYTHON_WAITS)
		return false;
	t->state = states[wait];
	if (wait == PYTHON_WAIT_HELD)
		set_inner(t->held, sizeof(t->held), frame, 1);
	else
		set_call(t, frame);
	return true;
}

void look_thread_take(struct look_thread *t, const struct event *ev,
		      const struct profile_tables *tables)
{
	const struct frame *top = ev->nframes ? &tables->frames[ev->frames[0]] : NULL;
	bool wait;

	t->tid = ev->thread_id;
	t->time_us = ev->time_us;
	t->status = ev->status;
	t->state = ev->status & STATUS_ON_CPU ? LOOK_RUNNING : LOOK_OTHER;
	t->moved = t->advanced = t->futex_timed = t->futex_scanned = false;
	t->futex = 0;
	t->lock = NULL;
	t->deadlock = 0;
	t->variables = NULL;
	t->kernel[0] = '\0';
	t->waited_us = t->idle_ms = 0;
	t->fd = -1;
	t->call[0] = t->held[0] = t->file[0] = '\0';
	wait = top && top->kind == FRAME_SYNTHETIC && take_wait(t, &tables->strings[top->func]);
	t->frames = ev->frames + wait;
	t->nframes = ev->nframes - wait;
}

bool look_thread_advances(const struct look_thread *before, const struct look_thread *now)
{
	return now->state != LOOK_GIL || before->state != LOOK_GIL ||
	       now->nframes != before->nframes ||
	       memcmp(now->frames, before->frames, now->nframes * sizeof(*now->frames)) != 0;
}

/*
 * Parse the text of /proc/PID/task/TID/syscall: "0 0x3 0x7ff... ..." is read(3, ...). 0; -EAGAIN:
 * the thread runs; -EBADMSG.
 */
static int look_parse_syscall(const char *text, struct look_syscall *call)
{
	uint64_t *a = call->args;
	int parsed;

	*call = (struct look_syscall){ .nr = -1 };
	if (!strncmp(text, "running", 7))
		return -EAGAIN;
	parsed = sscanf(text, "%d %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64, &call->nr, &a[0],
			&a[1], &a[2], &a[3]);
	if (parsed < 1 || call->nr < -1 || call->nr > UINT16_MAX || (call->nr >= 0 && parsed < 5))
		return -EBADMSG;
	if (call->nr < 0)	/* the rest are registers */
		*call = (struct look_syscall){ .nr = -1 };
	return 0;
}

int look_read_syscall(pid_t tgid, uint64_t tid, struct look_syscall *call)
{
	char name[64], text[192];
	ssize_t n;

	snprintf(name, sizeof(name), "task/%" PRIu64 "/syscall", tid);
	n = proc_read(tgid, name, text, sizeof(text));
	return n < 0 ? (int)n : look_parse_syscall(text, call);
}

uint64_t look_futex_of(const struct look_syscall *call, bool *timed)
{
	uint64_t op = call->args[1] & FUTEX_CMD_MASK;

	*timed = call->args[3] != 0;
	return call->nr == SYS_futex && (op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET) ?
		call->args[0] : 0;
}

/* A select() or poll() without descriptors only waits for its timeout. */
static bool is_pure_timeout(const char *call, uint64_t first_arg)
{
	return !first_arg && (!strcmp(call, "select") || !strcmp(call, "pselect6"));
}

static void find_file(struct look_thread *t, pid_t tgid, uint64_t fd)
{
	char name[32];

	if (fd > FD_MAX)
		return;
	t->fd = (int)fd;
	snprintf(name, sizeof(name), "fd/%d", t->fd);
	if (proc_link(tgid, name, t->file, sizeof(t->file)) < 0)
		t->file[0] = '\0';
}

static bool waits_in_call(const struct look_thread *t)
{
	return *t->call && strcmp(t->call, "page fault") != 0;
}

static bool is_its_call(const struct look_thread *t, const struct look_syscall *call)
{
	char buf[SYSCALL_NAME_MAX];

	return call->nr >= 0 && !strcmp(syscall_name((uint16_t)call->nr, buf), t->call);
}

/* Takes what the arguments tell. Returns false if the first one is a descriptor. */
static bool take_arguments(struct look_thread *t, const struct look_syscall *call)
{
	if (is_pure_timeout(t->call, call->args[0]))
		t->state = LOOK_SLEEP;
	else if (takes_fd(t->call))
		return false;
	else if (t->state == LOOK_LOCK)
		t->futex = look_futex_of(call, &t->futex_timed);
	return true;
}

bool look_thread_settle(struct look_thread *t, const struct look_syscall *call)
{
	if (!waits_in_call(t))
		return true;
	t->futex_scanned = is_its_call(t, call) && take_arguments(t, call);
	return t->futex_scanned;
}

void look_thread_detail(struct look_thread *t, pid_t tgid)
{
	struct look_syscall call;
	int err;

	if (!waits_in_call(t))
		return;
	err = look_read_syscall(tgid, t->tid, &call);
	if (err && err != -EAGAIN)
		return;
	t->moved = err || !is_its_call(t, &call);
	if (!t->moved && !take_arguments(t, &call))
		find_file(t, tgid, call.args[0]);
}

/* Finds a function's name in "[<0>] name+0x5b/0xe0". Returns its length; 0: none. */
static size_t function_in(const char *line, const char **name)
{
	size_t len = strcspn(line, "\n");
	const char *at = memchr(line, ']', len);

	if (!at || at[1] != ' ')
		return 0;
	*name = at + 2;
	return strspn(*name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
}

/* Take the functions out of that file's text: "[<0>] do_wait+0x5b/0xe0". out: as kernel. */
static void look_parse_stack(const char *text, char out[LOOK_KERNEL_BYTES])
{
	const char *name;
	size_t used = 0, n;

	for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
		n = function_in(text, &name);
		if (!n)
			continue;
		if (n + 2 > LOOK_KERNEL_BYTES - used)
			break;
		memcpy(out + used, name, n);
		used += n;
		out[used++] = '\n';
	}
	out[used] = '\0';
}

void look_thread_kernel(struct look_thread *t, pid_t tgid)
{
	char name[64], text[4096];

	t->kernel[0] = '\0';
	if (t->state == LOOK_RUNNING || t->state == LOOK_RUNNABLE)
		return;
	snprintf(name, sizeof(name), "task/%" PRIu64 "/stack", t->tid);
	if (proc_read(tgid, name, text, sizeof(text)) > 0)
		look_parse_stack(text, t->kernel);
}
