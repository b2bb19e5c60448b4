// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * precheck.c - refuses to record before anything has begun, and names the remedy. See precheck.h.
 */
#include "doctor/precheck.h"

#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/util.h"
#include "doctor/worker_calls.h"

#define KVER(a, b, c) ((a) << 16 | (b) << 8 | (c))

/* include/uapi/linux/capability.h, since 5.8; older headers lack them */
#define CAP_PERFMON_BIT 38
#define CAP_BPF_BIT 39
#define CAP_SYS_PTRACE_BIT 19
#define CAP_SYS_ADMIN_BIT 21

uint64_t precheck_caps(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &head, data))
		return 0;
	return (uint64_t)data[1].effective << 32 | data[0].effective;
}

static int check_caps(void)
{
	char program[PATH_MAX] = { 0 };
	uint64_t caps = precheck_caps();
	bool admin = caps >> CAP_SYS_ADMIN_BIT & 1;
	char missing[64] = "";

	if (!admin && !(caps >> CAP_BPF_BIT & 1))
		strcat(missing, " CAP_BPF");
	if (!admin && !(caps >> CAP_PERFMON_BIT & 1))
		strcat(missing, " CAP_PERFMON");
	if (!(caps >> CAP_SYS_PTRACE_BIT & 1))
		strcat(missing, " CAP_SYS_PTRACE");
	if (!missing[0])
		return 0;
	if (readlink("/proc/self/exe", program, sizeof(program) - 1) < 0)
		strcpy(program, "tachbpf");
	log_error("recording needs%s, which this user lacks: run it as `sudo %s ...`, or once "
		  "`sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace=ep %s`",
		  missing, program, program);
	return -EPERM;
}

unsigned int precheck_kernel_version(const char *release, const char *version)
{
	unsigned int a = 0, b = 0, c = 0;
	const char *debian = strstr(version, "Debian ");

	if (sscanf(release, "%u.%u.%u", &a, &b, &c) < 2)
		return 0;
	if (!c && debian) {
		unsigned int da, db, dc;

		if (sscanf(debian, "Debian %u.%u.%u", &da, &db, &dc) == 3 && da == a && db == b)
			c = dc;
	}
	return KVER(a, b, c > 255 ? 255 : c);
}

bool precheck_kernel_can_freeze(unsigned int v)
{
	return (v >= KVER(5, 19, 0) && v <= KVER(6, 1, 35)) ||
	       (v >= KVER(6, 2, 0) && v <= KVER(6, 3, 9));
}

static int check_kernel(bool ignore_bugs)
{
	struct utsname u;
	unsigned int v;

	if (uname(&u))
		return -errno;
	v = precheck_kernel_version(u.release, u.version);
	if (v < KVER(5, 8, 0) && v) {
		log_error("kernel %s has no BPF ring buffer: 5.8 or newer is needed", u.release);
		return -ENOSYS;
	}
	if (precheck_kernel_can_freeze(v) && !ignore_bugs) {
		log_error("kernel %s can freeze when a BPF program reads user memory from a perf "
			  "event (5.19 to 6.1.35, 6.2 to 6.3.9): update it, or take the risk with "
			  "--ignore-kernel-bugs", u.release);
		return -ENOSYS;
	}
	if (access("/sys/kernel/btf/vmlinux", R_OK)) {
		log_error("kernel %s has no type information (/sys/kernel/btf/vmlinux): use one "
			  "built with CONFIG_DEBUG_INFO_BTF=y, as distribution kernels are",
			  u.release);
		return -ENOSYS;
	}
	return 0;
}

/* The inode of the host's PID namespace (include/linux/proc_ns.h, PROC_PID_INIT_INO) */
#define FIRST_PID_NS 0xeffffffcu

bool precheck_in_pid_namespace(void)
{
	struct stat st;

	return !stat("/proc/self/ns/pid", &st) && st.st_ino != FIRST_PID_NS;
}

static int check_pid_namespace(void)
{
	if (!precheck_in_pid_namespace())
		return 0;
	log_error("this container has its own PID namespace: process ids here differ from those "
		  "that the kernel reports. Run it on the host, or with the host's PID "
		  "namespace (docker or podman run --pid=host, Kubernetes hostPID: true)");
	return -ENOTSUP;
}

int precheck_proc(void)
{
	if (!access("/proc/self/status", R_OK))
		return 0;
	log_error("/proc is not mounted here, but is needed to find processes: mount -t proc proc "
		  "/proc");
	return -ENOENT;
}

int precheck_record(bool ignore_kernel_bugs)
{
	int err = precheck_proc();

	if (!err)
		err = check_pid_namespace();
	if (!err)
		err = check_caps();
	if (!err)
		err = worker_calls_check();
	return err ? err : check_kernel(ignore_kernel_bugs);
}
