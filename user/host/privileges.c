// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* privileges.c - see privileges.h. Two system calls do not justify another library. */
#include "host/privileges.h"

#include <errno.h>
#include <linux/capability.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/util.h"

/* include/uapi/linux/capability.h, since 5.8 and 5.9; older headers lack them */
#define CAP_PERFMON_BIT 38
#define CAP_BPF_BIT 39
#define CAP_CHECKPOINT_RESTORE_BIT 40

static const struct {
	int bit;
	const char *why;
} needed[] = {
	{ CAP_BPF_BIT, "map entries for new processes, before 5.19" },
	{ CAP_PERFMON_BIT, "perf events on CPUs that come online" },
	{ CAP_SYS_PTRACE, "/proc and memory of other users' processes" },
	{ CAP_DAC_READ_SEARCH, "other users' executables" },
	{ CAP_CHECKPOINT_RESTORE_BIT, "deleted executables: /proc/PID/map_files" },
	{ CAP_DAC_OVERRIDE, "files in a directory of the user who called sudo" },
	{ CAP_CHOWN, "these files get that user as owner" },
	{ CAP_FOWNER, "these files are still ours to change afterwards" },
	{ CAP_KILL, "kill(pid, 0): does the process still exist?" },
};

int privileges_drop(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	uint64_t keep = 0, has;
	size_t i;

	if (syscall(SYS_capget, &head, data))
		return -errno;
	has = data[0].permitted | (uint64_t)data[1].permitted << 32;
	for (i = 0; i < ARRAY_SIZE(needed); i++)
		keep |= 1ull << needed[i].bit;
	/* CAP_SYS_ADMIN replaces these two where they are missing. */
	if (!(has >> CAP_BPF_BIT & 1) || !(has >> CAP_PERFMON_BIT & 1))
		keep |= 1ull << CAP_SYS_ADMIN;
	keep &= has;
	for (i = 0; i < ARRAY_SIZE(data); i++) {
		data[i].permitted = (uint32_t)(keep >> 32 * i);
		data[i].effective &= data[i].permitted;
		data[i].inheritable = 0;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_capset, &head, data))
		return -errno;
	return 0;
}
