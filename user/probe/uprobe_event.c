// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* uprobe_event.c - see uprobe_event.h. */
#include "probe/uprobe_event.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/util.h"

/* Documentation/ABI/testing/sysfs-bus-event_source-devices */
#define TYPE_FILE "/sys/bus/event_source/devices/uprobe/type"
/* kernel/events/core.c, PERF_PROBE_CONFIG_IS_RETPROBE; as in format/retprobe: "config:0" */
#define IS_RETPROBE 1
/* kernel/events/core.c, PERF_UPROBE_REF_CTR_OFFSET_SHIFT; format/ref_ctr_offset: "config:32-63" */
#define SEMAPHORE_SHIFT 32

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

int uprobe_event_open(int type, pid_t tgid, const char *path, const struct uprobe_place *place)
{
	struct perf_event_attr attr = {
		.type = (uint32_t)type,
		.size = sizeof(attr),
		.config = (place->returns ? IS_RETPROBE : 0) | place->semaphore << SEMAPHORE_SHIFT,
		.uprobe_path = (uint64_t)(uintptr_t)path,
		.probe_offset = place->offset,
	};
	int fd;

	if (place->semaphore > UINT32_MAX)
		return -E2BIG;
	fd = (int)syscall(SYS_perf_event_open, &attr, tgid ? tgid : -1, tgid ? -1 : 0, -1,
			  PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
