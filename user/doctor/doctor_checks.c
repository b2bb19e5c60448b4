// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * doctor_checks.c - checks of the kernel, this user's rights and the machine. See doctor.h.
 *
 * Each check has a function. The order of the table is that of the output.
 */
#include "doctor/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/text.h"
#include "base/util.h"
#include "doctor/bpf_features.h"
#include "doctor/doctor_memory.h"
#include "doctor/doctor_native.h"
#include "doctor/precheck.h"
#include "doctor/worker_calls.h"
#include "host/containers.h"
#include "host/proc.h"
#include "worker/jail.h"

#define KVER(a, b, c) ((a) << 16 | (b) << 8 | (c))
#define CAP_DAC_READ_SEARCH_BIT 2
#define CAP_SYS_PTRACE_BIT 19
#define CAP_SYS_ADMIN_BIT 21
#define CAP_SYS_RESOURCE_BIT 24
#define CAP_PERFMON_BIT 38
#define CAP_BPF_BIT 39
/* Bytes of the maps on a small machine; checked where maps count as locked memory. */
#define MAPS_BYTES (64ull * 1024 * 1024)

/* The inode of the host's cgroup namespace (include/linux/proc_ns.h, PROC_CGROUP_INIT_INO) */
#define FIRST_CGROUP_NS 0xeffffffbu

/* Reads a file's first line, without its newline. Returns 0 or -errno. */
static int read_line(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	out[0] = '\0';
	if (fd < 0)
		return -errno;
	n = read(fd, out, size - 1);
	close(fd);
	if (n < 0)
		return -errno;
	out[n] = '\0';
	out[strcspn(out, "\n")] = '\0';
	return 0;
}

static bool has_cap(int bit)
{
	return precheck_caps() >> bit & 1;
}

/* ---- kernel ---- */

static void check_version(const struct doctor_check *c, struct finding *f)
{
	struct utsname u;
	unsigned int v;

	uname(&u);
	v = precheck_kernel_version(u.release, u.version);
	if (!v) {
		finding_set(f, VERDICT_NOTE, "%s: unknown version", u.release);
	} else if (v < KVER(5, 8, 0)) {
		finding_set(f, VERDICT_BAD, "%s is too old", u.release);
		finding_fix(f, "5.8 or newer is needed");
	} else if (precheck_kernel_can_freeze(v)) {
		finding_set(f, VERDICT_BAD, "%s can freeze when a BPF program reads user memory "
			    "from a perf event", u.release);
		finding_fix(f, "update to 6.1.36, 6.3.10, 6.4 or newer, or take the risk with "
			    "--ignore-kernel-bugs");
	} else {
		finding_set(f, VERDICT_OK, "%s (%u.%u.%u) has no known bug that affects recording",
			    u.release, v >> 16, v >> 8 & 255, v & 255);
	}
}

static void check_btf(const struct doctor_check *c, struct finding *f)
{
	struct stat st;

	if (!access("/sys/kernel/btf/vmlinux", R_OK) && !stat("/sys/kernel/btf/vmlinux", &st)) {
		finding_set(f, VERDICT_OK, "/sys/kernel/btf/vmlinux, %lld KiB",
			    (long long)st.st_size / 1024);
		return;
	}
	finding_set(f, VERDICT_BAD, "no type information: /sys/kernel/btf/vmlinux: %s",
		    strerror(errno));
	finding_fix(f, "mount /sys, or use a kernel built with CONFIG_DEBUG_INFO_BTF=y, as "
		    "distribution kernels are");
}

static void check_lockdown(const struct doctor_check *c, struct finding *f)
{
	char line[128];

	if (read_line("/sys/kernel/security/lockdown", line, sizeof(line))) {
		finding_set(f, VERDICT_OK, "none found");
	} else if (strstr(line, "[confidentiality]")) {
		finding_set(f, VERDICT_BAD, "confidentiality: BPF may not read memory");
		finding_fix(f, "boot with lockdown=integrity or without lockdown");
	} else {
		finding_set(f, VERDICT_OK, "%s", strstr(line, "[integrity]") ?
			    "integrity: recording works" : "none");
	}
}

static void check_jit(const struct doctor_check *c, struct finding *f)
{
	char line[16];
	int err = read_line("/proc/sys/net/core/bpf_jit_enable", line, sizeof(line));

	if (err == -ENOENT) {
		finding_set(f, VERDICT_OK, "always on");
	} else if (err) {
		finding_set(f, VERDICT_UNKNOWN, "only root may read it");
	} else if (line[0] == '0') {
		finding_set(f, VERDICT_OFF, "BPF programs are interpreted: each sample takes "
			    "several times as long");
		finding_fix(f, "sysctl net.core.bpf_jit_enable=1");
	} else {
		finding_set(f, VERDICT_OK, "on");
	}
}

static void check_stats(const struct doctor_check *c, struct finding *f)
{
	char line[16];

	if (read_line("/proc/sys/kernel/bpf_stats_enabled", line, sizeof(line)))
		finding_set(f, VERDICT_OK, "off");
	else if (line[0] == '0')
		finding_set(f, VERDICT_OK, "off");
	else
		finding_set(f, VERDICT_NOTE,
			    "on: the kernel times every run of a BPF program, which adds "
			    "about 50 ns");
}

/* ---- rights ---- */

static void check_cap(const struct doctor_check *c, struct finding *f)
{
	/* CAP_SYS_ADMIN includes the capabilities that were part of it before 5.8. */
	bool by_admin = (c->bit == CAP_BPF_BIT || c->bit == CAP_PERFMON_BIT) &&
			has_cap(CAP_SYS_ADMIN_BIT);

	if (has_cap(c->bit)) {
		finding_set(f, VERDICT_OK, "present: %s", c->purpose);
	} else if (by_admin) {
		finding_set(f, VERDICT_OK, "CAP_SYS_ADMIN includes it: %s", c->purpose);
	} else {
		finding_set(f, c->without, "missing: %s", c->purpose);
		if (c->without == VERDICT_BAD)
			finding_fix(f, "run as root, or once: "
				    "sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace=ep tachbpf");
	}
}

static void check_bpf(const struct doctor_check *c, struct finding *f)
{
	int err = features_bpf_usable();

	if (!err) {
		finding_set(f, VERDICT_OK, "usable");
		return;
	}
	finding_set(f, VERDICT_BAD, "refused: %s", strerror(-err));
	if (err == -ENOSYS)
		finding_fix(f, "the kernel has no bpf(2), or a seccomp filter hides it");
	else if (has_cap(CAP_BPF_BIT) || has_cap(CAP_SYS_ADMIN_BIT))
		finding_fix(f, "the capabilities are present: a seccomp filter or a security "
			    "module refuses; check the container's profile, lockdown and the "
			    "audit log");
	else
		finding_fix(f, "the capabilities above are needed");
}

static int open_clock(uint32_t type, uint64_t config)
{
	struct perf_event_attr attr = {
		.type = type, .size = sizeof(attr), .config = config, .sample_period = 10000000,
		.disabled = 1,
	};
	int *cpus = NULL, cpu, fd;

	cpu = proc_online_cpus(&cpus) > 0 ? cpus[0] : 0;
	free(cpus);
	fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static void check_perf(const struct doctor_check *c, struct finding *f)
{
	int err = open_clock(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	char paranoid[16] = "?";

	read_line("/proc/sys/kernel/perf_event_paranoid", paranoid, sizeof(paranoid));
	if (!err) {
		finding_set(f, VERDICT_OK, "usable on whole CPUs (perf_event_paranoid is %s)",
			    paranoid);
		return;
	}
	finding_set(f, VERDICT_BAD, "refused: %s (perf_event_paranoid is %s)", strerror(-err),
		    paranoid);
	finding_fix(f, has_cap(CAP_PERFMON_BIT) || has_cap(CAP_SYS_ADMIN_BIT) ?
		    "the capabilities are present: a seccomp filter or a security module refuses" :
		    "CAP_PERFMON is needed; a lower perf_event_paranoid is not enough for BPF");
}

static void check_unprivileged(const struct doctor_check *c, struct finding *f)
{
	static const char *const says[] = {
		"unprivileged users may use some of it", "root and CAP_BPF only, until reboot",
		"root and CAP_BPF only",
	};
	char line[16];

	if (read_line("/proc/sys/kernel/unprivileged_bpf_disabled", line, sizeof(line)))
		finding_set(f, VERDICT_NOTE, "cannot be read");
	else
		finding_set(f, VERDICT_OK, "%s: %s", line,
			    line[0] >= '0' && line[0] <= '2' ? says[line[0] - '0'] : "?");
}

static void check_kptr(const struct doctor_check *c, struct finding *f)
{
	char line[16];

	if (read_line("/proc/sys/kernel/kptr_restrict", line, sizeof(line)))
		finding_set(f, VERDICT_NOTE, "cannot be read");
	else
		finding_set(f, VERDICT_OK, "%s: no kernel address is needed", line);
}

/* Workers do all work that can block or be attacked. */
static void check_workers(const struct doctor_check *c, struct finding *f)
{
	const char *name;
	int err = worker_calls_try(&name);

	if (!err) {
		finding_set(f, VERDICT_OK, "can be started");
		return;
	}
	finding_set(f, VERDICT_BAD, "cannot be started: %s(2) is refused: %s", name,
		    strerror(-err));
	finding_fix(f, "probably by a seccomp filter: " WORKER_CALLS_FIX);
}

/* Returns true if helpers can install their own filter. */
static bool can_filter(struct finding *f)
{
	int err = jail_filter_works();

	if (!err)
		return true;
	finding_set(f, VERDICT_OFF, "seccomp(2) is refused: %s: workers may make any system call",
		    strerror(-err));
	finding_fix(f, "if a filter refuses it: " WORKER_CALLS_FIX);
	return false;
}

static void check_seccomp(const struct doctor_check *c, struct finding *f)
{
	char line[256];
	FILE *s = fopen("/proc/self/status", "re");
	int mode = 0;

	while (s && fgets(line, sizeof(line), s))
		if (sscanf(line, "Seccomp: %d", &mode) == 1)
			break;
	if (s)
		fclose(s);
	if (!can_filter(f))
		return;
	if (mode)
		finding_set(f, VERDICT_NOTE, "a filter is on; the checks above show whether it "
			    "refuses anything");
	else
		finding_set(f, VERDICT_OK, "no filter");
}

/* The BPF side sees the process ids of the host's PID namespace. */
static void check_pid_ns(const struct doctor_check *c, struct finding *f)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st)) {
		finding_set(f, VERDICT_UNKNOWN, "/proc/self/ns/pid: %s", strerror(errno));
	} else if (!precheck_in_pid_namespace()) {
		finding_set(f, VERDICT_OK, "the host's");
	} else {
		finding_set(f, VERDICT_BAD, "not the host's: process ids here differ from "
			    "those that the kernel reports");
		finding_fix(f, "run on the host, or in a container with the host's PID namespace "
			    "(--pid=host)");
	}
}

/* ---- machine ---- */

static void check_clock(const struct doctor_check *c, struct finding *f)
{
	if (!open_clock(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES))
		finding_set(f, VERDICT_OK, "hardware cycles");
	else
		finding_set(f, VERDICT_NOTE, "no hardware cycles, as in most virtual machines: "
			    "the kernel's CPU clock is used instead");
}

static void check_memlock(const struct doctor_check *c, struct finding *f)
{
	struct rlimit r;

	if (feature_probe(FEATURE_MEMCG) != 0) {
		finding_set(f, VERDICT_OK, "not applicable: maps are charged to the memory cgroup");
		return;
	}
	getrlimit(RLIMIT_MEMLOCK, &r);
	if (has_cap(CAP_SYS_RESOURCE_BIT) || r.rlim_max >= MAPS_BYTES) {
		finding_set(f, VERDICT_OK, "maps count as locked memory here, and the limit can "
			    "be raised");
		return;
	}
	finding_set(f, VERDICT_OFF, "maps count as locked memory here; %llu KiB may be too little",
		    (unsigned long long)r.rlim_max / 1024);
	finding_fix(f, "run ulimit -l unlimited as root first, or grant CAP_SYS_RESOURCE");
}

static void check_nofile(const struct doctor_check *c, struct finding *f)
{
	int *cpus = NULL, cnt = proc_online_cpus(&cpus);
	struct rlimit r;

	free(cpus);
	getrlimit(RLIMIT_NOFILE, &r);
	/* A perf event for each CPU, a file for each process, and a few dozen others. */
	if (cnt > 0 && r.rlim_max < (rlim_t)cnt + 128) {
		finding_set(f, VERDICT_OFF, "%llu: too low for %d %s",
			    (unsigned long long)r.rlim_max, cnt, text_plural(cnt, "CPU", "CPUs"));
		finding_fix(f, "run ulimit -n 65536 first");
	} else {
		finding_set(f, VERDICT_OK, "%llu, for %d %s",
			    (unsigned long long)r.rlim_max, cnt, text_plural(cnt, "CPU", "CPUs"));
	}
}

static const char *cgroup_layout(void)
{
	if (!access("/sys/fs/cgroup/cgroup.controllers", F_OK))
		return "version 2";
	if (!access("/sys/fs/cgroup/unified/cgroup.controllers", F_OK))
		return "hybrid: version 1 with version 2 under unified";
	return access("/sys/fs/cgroup", F_OK) ? "none mounted" : "version 1, or none";
}

/*
 * In a cgroup namespace, a path outside our own cgroup begins with "..", which replaces the part
 * that has a pod's uid.
 */
static void check_cgroup(const struct doctor_check *c, struct finding *f)
{
	struct stat st;

	if (stat("/proc/self/ns/cgroup", &st) || st.st_ino == FIRST_CGROUP_NS) {
		finding_set(f, VERDICT_OK, "%s", cgroup_layout());
		return;
	}
	finding_set(f, VERDICT_NOTE, "%s; not the host's cgroup namespace: containers are "
		    "identified, pods not always", cgroup_layout());
	finding_fix(f, "run with the host's cgroup namespace (--cgroupns=host) if pods matter");
}

/* Container runtimes keep container names in these directories. */
static void check_names(const struct doctor_check *c, struct finding *f)
{
	static const struct {
		const char *runtime, *path;
	} places[] = {
		{ "docker", "/var/lib/docker/containers" },
		{ "containerd", "/run/containerd/io.containerd.runtime.v2.task" },
		{ "podman", "/var/lib/containers/storage" },
		{ "kubelet", "/var/log/containers" },
	};
	char path[128], seen[64] = "", hidden[64] = "";
	size_t i;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		char *list = seen;

		snprintf(path, sizeof(path), "%s%s", container_host_root(), places[i].path);
		if (access(path, R_OK | X_OK)) {
			if (errno != EACCES)
				continue;
			list = hidden;
		}
		snprintf(list + strlen(list), sizeof(seen) - strlen(list), "%s%s",
			 *list ? ", " : "", places[i].runtime);
	}
	finding_set(f, *hidden ? VERDICT_OFF : VERDICT_OK, "%s%s%s%s",
		    *seen ? seen : "no runtime found", *hidden ? "; not readable: " : "", hidden,
		    *hidden ? ": containers are shown by id only" : "");
	if (*hidden)
		finding_fix(f, "grant CAP_DAC_READ_SEARCH as well");
}

const struct doctor_check doctor_checks[] = {
	{ "kernel", "version", check_version, 0, 0, NULL },
	{ "kernel", "type information", check_btf, 0, 0, NULL },
	{ "kernel", "lockdown", check_lockdown, 0, 0, NULL },
	{ "kernel", "BPF JIT", check_jit, 0, 0, NULL },
	{ "kernel", "BPF statistics", check_stats, 0, 0, NULL },
	{ "rights", "CAP_BPF", check_cap, CAP_BPF_BIT, VERDICT_BAD, "load BPF programs" },
	{ "rights", "CAP_PERFMON", check_cap, CAP_PERFMON_BIT, VERDICT_BAD,
	  "sample other users' processes" },
	{ "rights", "CAP_SYS_PTRACE", check_cap, CAP_SYS_PTRACE_BIT, VERDICT_BAD,
	  "read other processes' memory" },
	{ "rights", "CAP_DAC_READ_SEARCH", check_cap, CAP_DAC_READ_SEARCH_BIT, VERDICT_NOTE,
	  "read other users' files: interpreters, container names" },
	{ "rights", "CAP_SYS_ADMIN", check_cap, CAP_SYS_ADMIN_BIT, VERDICT_NOTE,
	  "not needed if the others are present" },
	{ "rights", "CAP_SYS_RESOURCE", check_cap, CAP_SYS_RESOURCE_BIT, VERDICT_NOTE,
	  "raise limits on kernels before 5.11" },
	{ "rights", "bpf(2)", check_bpf, 0, 0, NULL },
	{ "rights", "perf events", check_perf, 0, 0, NULL },
	{ "rights", "unprivileged_bpf_disabled", check_unprivileged, 0, 0, NULL },
	{ "rights", "kptr_restrict", check_kptr, 0, 0, NULL },
	{ "rights", "worker processes", check_workers, 0, 0, NULL },
	{ "rights", "seccomp", check_seccomp, 0, 0, NULL },
	{ "rights", "PID namespace", check_pid_ns, 0, 0, NULL },
	{ "machine", "clock", check_clock, 0, 0, NULL },
	{ "machine", "locked memory", check_memlock, 0, 0, NULL },
	{ "machine", "open files", check_nofile, 0, 0, NULL },
	{ "machine", "cgroups", check_cgroup, 0, 0, NULL },
	{ "machine", "names of containers", check_names, 0, 0, NULL },
	{ "--mode mem", "page faults", doctor_memory_faults, 0, 0, NULL },
	{ "--mode mem", "pages", doctor_memory_pages, 0, 0, NULL },
	{ "--mode mem", "moves of memory", doctor_memory_moves, 0, 0, NULL },
	{ "--mode mem", "huge pages", doctor_memory_huge, 0, 0, NULL },
	{ "--mode mem", "--allocations", doctor_memory_probes, 0, 0, NULL },
	{ "--native", "helper", doctor_native_helper, 0, 0, NULL },
	{ "--native", "mapped files", doctor_native_mapped_files, 0, 0, NULL },
	{ "--native", "kernel's functions", doctor_native_kernel, 0, 0, NULL },
	{ "--native", "tables on disk", doctor_native_tables, 0, 0, NULL },
};
const size_t doctor_check_cnt = ARRAY_SIZE(doctor_checks);
