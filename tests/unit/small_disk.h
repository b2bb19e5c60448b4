/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * small_disk.h - ever so small disks: tmpfs in a mount namespace of our own. Sizes are pages.
 */
#ifndef TACHBPF_SMALL_DISK_H
#define TACHBPF_SMALL_DISK_H

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "tests/unit/tach_test.h"

#define SMALL_DISK_PAGE_KB 4

static inline void small_disk_put_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* Become root of a user namespace. */
static inline bool small_disk_own_users(void)
{
	unsigned int uid = getuid(), gid = getgid();
	char map[32];

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return false;
	small_disk_put_text("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "0 %u 1", uid);
	small_disk_put_text("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "0 %u 1", gid);
	small_disk_put_text("/proc/self/gid_map", map);
	return true;
}

/* Can there be such disks here? To be called once, before threads. */
static inline bool small_disk_possible(void)
{
	return (!unshare(CLONE_NEWNS) || small_disk_own_users()) &&
	       !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

/* A page more than so many KiB, which a file takes: size=0 would mean without a limit. */
static inline void small_disk_mount(const char *at, unsigned int kb)
{
	char options[32], path[80], page[SMALL_DISK_PAGE_KB * 1024] = "";
	int fd;

	snprintf(options, sizeof(options), "size=%uk,mode=700", kb + SMALL_DISK_PAGE_KB);
	assert_int_equal(mount("none", at, "tmpfs", 0, options), 0);
	snprintf(path, sizeof(path), "%s/filler", at);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	assert_int_equal(write(fd, page, sizeof(page)), sizeof(page));
	close(fd);
}

static inline void small_disk_grow(const char *at, unsigned int kb)
{
	char options[32];

	snprintf(options, sizeof(options), "size=%uk", kb);
	assert_int_equal(mount("none", at, "tmpfs", MS_REMOUNT, options), 0);
}

static inline void small_disk_unmount(const char *at)
{
	assert_int_equal(umount2(at, MNT_DETACH), 0);
}

#endif
