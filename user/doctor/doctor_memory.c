// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* doctor_memory.c - see doctor_memory.h. Only --mode mem needs this. */
#include "doctor/doctor_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/util.h"
#include "doctor/bpf_features.h"
#include "doctor/doctor.h"
#include "host/proc.h"

/* Documentation/admin-guide/mm/pagemap.rst */
#define PAGEMAP_PRESENT (1ull << 63)
#define PAGEMAP_FRAME ((1ull << 55) - 1)
#define UPROBE_TYPE "/sys/bus/event_source/devices/uprobe/type"
#define HUGE_PAGES "/sys/kernel/mm/transparent_hugepage/enabled"

/* Opens an event that does not count. Returns 0 or -errno. */
static int try_event(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	int fd;

	attr->size = sizeof(*attr);
	attr->disabled = 1;
	fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : close(fd);
}

void doctor_memory_faults(const struct doctor_check *c, struct finding *f)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS_MIN,
		.sample_period = 1000,
	};
	int *cpus = NULL, cpu = proc_online_cpus(&cpus) > 0 ? cpus[0] : 0, err;

	free(cpus);
	err = try_event(&attr, -1, cpu);
	if (!err) {
		finding_set(f, VERDICT_OK, "can be sampled");
		return;
	}
	finding_set(f, VERDICT_OFF, "cannot be sampled: %s: --mode mem is unavailable",
		    strerror(-err));
	finding_fix(f, "CAP_PERFMON is needed, and perf_event_open(2), which a container's "
		    "seccomp filter may refuse");
}

/* Reads the kernel's entry for the page at p. Returns 0 or -errno. */
static int pagemap_of(const void *p, uint64_t *entry)
{
	off_t at = (off_t)((uintptr_t)p / (uintptr_t)sysconf(_SC_PAGESIZE) * sizeof(*entry));
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = pread(fd, entry, sizeof(*entry), at);
	close(fd);
	return n == sizeof(*entry) ? 0 : n < 0 ? -errno : -EIO;
}

void doctor_memory_pages(const struct doctor_check *c, struct finding *f)
{
	uint64_t entry = 0;
	int err = pagemap_of(&entry, &entry);
	bool flags = !access("/proc/kpageflags", R_OK);

	if (err || !(entry & PAGEMAP_PRESENT)) {
		finding_set(f, VERDICT_OFF, "/proc/PID/pagemap: %s: touched memory is known, but "
			    "not whether it is still held",
			    err ? strerror(-err) : "it shows no pages");
		finding_fix(f, "use a kernel with CONFIG_PROC_PAGE_MONITOR, and an unmasked "
			    "/proc");
	} else if (!(entry & PAGEMAP_FRAME) || !flags) {
		finding_set(f, VERDICT_OFF, "visible, without frame numbers: a page that was "
			    "freed and touched again counts as held throughout");
		finding_fix(f, "grant CAP_SYS_ADMIN, or run as root");
	} else {
		finding_set(f, VERDICT_OK, "visible, with frame numbers");
	}
}

void doctor_memory_moves(const struct doctor_check *c, struct finding *f)
{
	int found = features_has_typedef("btf_trace_vm_unmapped_area");

	if (found > 0)
		finding_set(f, VERDICT_OK, "tracked");
	else if (!found)
		finding_set(f, VERDICT_NOTE, "not tracked (needs 5.8): when realloc() moves "
			    "memory, its owner is no longer known");
	else
		finding_set(f, VERDICT_UNKNOWN, "no type information");
}

void doctor_memory_huge(const struct doctor_check *c, struct finding *f)
{
	char line[64] = "", *open, *end;
	FILE *file = fopen(HUGE_PAGES, "re");

	if (file && !fgets(line, sizeof(line), file))
		line[0] = '\0';
	if (file)
		fclose(file);
	open = strchr(line, '[');
	end = open ? strchr(open, ']') : NULL;
	if (!end) {
		finding_set(f, VERDICT_OK, "none");
		return;
	}
	*end = '\0';
	finding_set(f, VERDICT_OK, "%s%s", open + 1, strcmp(open + 1, "always") ? "" :
		    ": one fault maps 2 MiB, so stacks are less precise");
}

/* Returns the type number of the kernel's uprobe events, or -errno. */
static int uprobe_type(void)
{
	FILE *file = fopen(UPROBE_TYPE, "re");
	int type;

	if (!file)
		return -errno;
	if (fscanf(file, "%d", &type) != 1)
		type = -EIO;
	fclose(file);
	return type;
}

void doctor_memory_probes(const struct doctor_check *c, struct finding *f)
{
	/* At the first byte of our own executable, which is no code: it is never hit. */
	struct perf_event_attr attr = {
		.config1 = (uintptr_t)"/proc/self/exe", .config2 = 0, .sample_period = 1,
	};
	int type = uprobe_type(), err;

	attr.type = (uint32_t)type;
	err = type < 0 ? type : try_event(&attr, getpid(), -1);
	if (!err) {
		finding_set(f, VERDICT_OK, "uprobes work");
		return;
	}
	finding_set(f, VERDICT_NOTE, "no uprobes: %s: --allocations is unavailable",
		    strerror(-err));
	if (type >= 0)
		finding_fix(f, "CAP_SYS_ADMIN is needed (CAP_PERFMON is enough before 6.15)");
	else
		finding_fix(f, "mount /sys, or use a kernel with CONFIG_UPROBE_EVENTS");
}
