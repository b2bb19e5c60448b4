// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* uprobe_event.c - see uprobe_event.h. */
#include "heap/uprobe_event.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/util.h"

/* Documentation/ABI/testing/sysfs-bus-event_source-devices */
#define TYPE_FILE "/sys/bus/event_source/devices/uprobe/type"
/* kernel/events/core.c, PERF_PROBE_CONFIG_IS_RETPROBE; format/retprobe says the same: "config:0" */
#define IS_RETPROBE 1

int uprobe_event_type(void)
{
	int fd = open(TYPE_FILE, O_RDONLY | O_CLOEXEC), err;
	char text[16];
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	err = n > 0 ? 0 : n ? -errno : -ENODATA;
	close(fd);
	if (err)
		return err;
	text[n] = '\0';
	return (int)strtol(text, NULL, 10);
}

int uprobe_event_open(int type, pid_t tgid, const char *path, uint64_t offset, bool returns)
{
	struct perf_event_attr attr = {
		.type = (uint32_t)type,
		.size = sizeof(attr),
		.config = returns ? IS_RETPROBE : 0,
		.uprobe_path = (uint64_t)(uintptr_t)path,
		.probe_offset = offset,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, tgid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}
