// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* jail.c - see jail.h. The filter is libseccomp's. */
#include "worker/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/util.h"
#include "worker/landlock.h"

int jail_keep_caps(uint64_t caps)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	size_t i;

	if (syscall(SYS_capget, &head, data))
		return -errno;
	for (i = 0; i < ARRAY_SIZE(data); i++) {
		data[i].permitted &= (uint32_t)(caps >> 32 * i);
		data[i].effective &= data[i].permitted;
		data[i].inheritable = 0;
	}
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &head, data) ? -errno : 0;
}

#define NOBODY 65534

/*
 * Not setuid(): then processes of nobody's could stop us. The kernel takes the file-related
 * capabilities away; we set them again.
 */
void jail_leave_files(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	static bool done;	/* also by the process that has started us */

	if (done || geteuid())
		return;
	done = true;
	if (syscall(SYS_capget, &head, data))
		return;
	setgroups(0, NULL);
	setfsgid(NOBODY);
	setfsuid(NOBODY);
	syscall(SYS_capset, &head, data);
}

bool jail_can_leave_files(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	const uint32_t both = 1u << CAP_SETUID | 1u << CAP_SETGID;

	return geteuid() || (!syscall(SYS_capget, &head, data) &&
			     (data[0].effective & both) == both);
}

int jail_filter_works(void)
{
	uint32_t action = SECCOMP_RET_KILL_PROCESS;

	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) ? -errno : 0;
}

#if defined(__SANITIZE_ADDRESS__)

static int limit_memory(uint64_t bytes)
{
	return 0;
}

static int filter_calls(const struct jail *jail)
{
	return 0;
}

int jail_limit_files(const char *const *reads_below, const char *writes_below)
{
	return 0;
}

#else

/* Memory, the socket to the client, the clock, exit. An architecture may lack some of them. */
static const char *const common_calls[] = {
	"recvmsg", "sendmsg", "close", "brk", "mmap", "munmap", "mremap", "madvise", "futex",
	"clock_gettime", "rt_sigreturn", "rt_sigprocmask", "rt_sigaction", "restart_syscall",
	"getpid", "gettid", "tgkill", "getrandom", "exit", "exit_group", NULL,
};

static int limit_memory(uint64_t bytes)
{
	struct rlimit limit = { bytes, bytes };

	return bytes && setrlimit(RLIMIT_AS, &limit) ? -errno : 0;
}

/* Set the action for these calls. 0 or -errno. */
static int rule_calls(scmp_filter_ctx filter, uint32_t action, const char *const *calls)
{
	int nr, err = 0;

	for (; !err && calls && *calls; calls++) {
		nr = seccomp_syscall_resolve_name(*calls);
		if (nr != __NR_SCMP_ERROR)
			err = seccomp_rule_add(filter, action, nr, 0);
		if (err == -EDOM)	/* not on this architecture */
			err = 0;
	}
	return err;
}

/* Allow opening a file for reading, but not creating one. flags: index of the flags argument. */
static int allow_reading(scmp_filter_ctx filter)
{
	const scmp_datum_t writes = O_ACCMODE | O_CREAT | O_TRUNC;
	int err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
				   SCMP_A2(SCMP_CMP_MASKED_EQ, writes, O_RDONLY));

	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(open), 1,
				       SCMP_A1(SCMP_CMP_MASKED_EQ, writes, O_RDONLY));
	return err == -EDOM ? 0 : err;
}

/*
 * A socket of AF_UNIX would lead to services that take its user for root. The C library's resolver
 * tries one, and continues if that fails.
 */
static int allow_internet(scmp_filter_ctx filter)
{
	const uint32_t no = SCMP_ACT_ERRNO(EAFNOSUPPORT);
	int err = seccomp_rule_add(filter, no, SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_EQ, AF_UNIX));

	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
				       SCMP_A0(SCMP_CMP_EQ, AF_INET));
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
				       SCMP_A0(SCMP_CMP_EQ, AF_INET6));
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 2,
				       SCMP_A0(SCMP_CMP_EQ, AF_NETLINK),
				       SCMP_A2(SCMP_CMP_EQ, NETLINK_ROUTE));
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
				       SCMP_A1(SCMP_CMP_EQ, FIONREAD));
	return err;
}

/* No filter can see the flags of clone3(); without it the C library uses clone(). */
static int allow_threads(scmp_filter_ctx filter)
{
	int err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
				   SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));

	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	return err;
}

/* If libseccomp does not know the calls, a filter that is already active does not, either. */
int jail_limit_files(const char *const *reads_below, const char *writes_below)
{
	if (seccomp_syscall_resolve_name("landlock_restrict_self") == __NR_SCMP_ERROR)
		return 0;
	return landlock_limit(reads_below, writes_below);
}

static int filter_calls(const struct jail *jail)
{
	scmp_filter_ctx filter;
	int err;

	if (jail_filter_works())
		return 0;
	filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	err = filter ? rule_calls(filter, SCMP_ACT_ALLOW, common_calls) : -ENOMEM;
	if (!err)
		err = rule_calls(filter, SCMP_ACT_ALLOW, jail->calls);
	if (!err)
		err = rule_calls(filter, SCMP_ACT_ERRNO(EACCES), jail->refused);
	if (!err && jail->reads_below)
		err = allow_reading(filter);
	if (!err && jail->internet)
		err = allow_internet(filter);
	if (!err && jail->threads)
		err = allow_threads(filter);
	if (!err)
		err = seccomp_load(filter);
	seccomp_release(filter);
	return err;
}

#endif

int jail_enter(const struct jail *jail)
{
	const struct rlimit none = { 0, 0 };
	int err;

	if (setrlimit(RLIMIT_CORE, &none))	/* it may contain memory of other processes */
		return -errno;
	err = jail_keep_caps(jail->caps);
	if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = -errno;
	if (!err && jail->secret && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		err = -errno;
	if (!err)
		err = limit_memory(jail->memory_bytes);
	if (!err && jail->reads_below)
		err = jail_limit_files(jail->reads_below, NULL);
	return err ? err : filter_calls(jail);
}
