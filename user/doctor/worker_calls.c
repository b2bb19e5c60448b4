// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* worker_calls.c - see worker_calls.h. */
#include "doctor/worker_calls.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/util.h"

/* Several times the memory that a worker shares. */
#define FILE_SIZE_MIN (4u << 20)

/* Closes the new descriptor. Returns 0 or -errno. */
static int close_tried(int fd)
{
	int err = fd < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return err;
}

static int try_socketpair(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	close(pair[0]);
	return close_tried(pair[1]);
}

static int try_memfd(void)
{
	return close_tried(memfd_create("tachbpf", MFD_CLOEXEC | MFD_ALLOW_SEALING));
}

static int try_pidfd(void)
{
	return close_tried(syscall(SYS_pidfd_open, getpid(), 0));
}

static int try_prctl(void)
{
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) < 0 ? -errno : 0;
}

/* Sets the capabilities that we already have. */
static int try_capset(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	return syscall(SYS_capget, &head, data) || syscall(SYS_capset, &head, data) ? -errno : 0;
}

static const struct {
	const char *name;
	int (*try)(void);
} calls[] = {
	{ "socketpair", try_socketpair }, { "memfd_create", try_memfd },
	{ "pidfd_open", try_pidfd }, { "prctl", try_prctl }, { "capset", try_capset },
};

/* EMFILE and the like are no refusal: they may be gone when a worker is needed. */
static bool is_refusal(int err)
{
	return err == -EPERM || err == -EACCES || err == -ENOSYS || err == -EINVAL;
}

int worker_calls_try(const char **name)
{
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		err = calls[i].try();
		if (!is_refusal(err))
			continue;
		*name = calls[i].name;
		return err;
	}
	return 0;
}

/* Memory that is shared with workers counts as a file. */
static int check_file_size(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur >= FILE_SIZE_MIN)
		return 0;
	log_error("the limit of file sizes (ulimit -f) is %llu KiB: raise it to at least %u KiB",
		  (unsigned long long)limit.rlim_cur >> 10, FILE_SIZE_MIN >> 10);
	return -EFBIG;
}

int worker_calls_check(void)
{
	const char *name;
	int err = check_file_size();

	if (err)
		return err;
	err = worker_calls_try(&name);

	if (err)
		log_error("%s(2) is refused (%s), probably by a seccomp filter: " WORKER_CALLS_FIX,
			  name, strerror(-err));
	return err;
}
