// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* privileges.c - see privileges.h. */
#include "host/privileges.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/output.h"
#include "base/util.h"
#include "host/users.h"
#include "worker/jail.h"

/* include/uapi/linux/capability.h, since 5.8; older headers lack them */
#define CAP_PERFMON_BIT 38	/* perf events on CPUs that come online */
#define CAP_BPF_BIT 39		/* map entries for new processes, before 5.19 */

static int keep_caps(uint64_t caps)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : jail_keep_caps(caps);
}

int privileges_drop_all(void)
{
	return keep_caps(0);
}

/*
 * The rights to files are those of the user who called sudo: root does not write on behalf of that
 * user what that user may not write. The kernel then also takes away root's rights to files.
 */
static int become_for_files(void)
{
	struct passwd *pw;
	uid_t uid;
	gid_t gid;

	if (!output_owner(&uid, &gid))
		return 0;
	pw = user_by_uid(uid);
	/* The user does not get root's groups. */
	if (pw ? user_take_groups(pw->pw_name, gid) : setgroups(0, NULL))
		return -errno;
	setfsgid(gid);
	setfsuid(uid);
	/* The calls return the previous id; a second call shows whether the first one worked. */
	if ((uid_t)setfsuid(-1) == uid && (gid_t)setfsgid(-1) == gid)
		return 0;
	setfsuid(geteuid());
	setfsgid(getegid());
	return -EPERM;
}

/* Find where path is created: in its directory, or path itself if it is an existing directory. */
static void find_place(const char *path, bool is_dir, char place[PATH_MAX], struct stat *st)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	snprintf(place, PATH_MAX, "%s", path ? path : "");
	if (is_dir && path && !stat(place, st))
		return;
	snprintf(place, PATH_MAX, "%.*s", slash ? (int)(slash - path) + 1 : 1,
		 slash ? path : ".");
	if (stat(place, st))
		st->st_uid = 0;
}

bool privileges_user_may_create(const char *path, bool is_dir)
{
	char place[PATH_MAX];
	int status = -1, mode;
	struct stat st;
	uid_t uid;
	gid_t gid;
	pid_t pid;

	if (!output_sudo_user(&uid, &gid))
		return true;
	find_place(path, is_dir, place, &st);
	if (st.st_uid == uid)
		return true;	/* and root may not, either, once the rights are gone */
	/* Root creates a new directory and hands it over: the user must only reach it. */
	mode = is_dir && !(path && !strcmp(place, path)) ? X_OK : W_OK | X_OK;
	/* In a separate process, because finding out takes the user's rights. */
	pid = fork();
	if (!pid)
		_exit(become_for_files() || faccessat(AT_FDCWD, place, mode, AT_EACCESS));
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status == 0;
}

uint64_t privileges_for_recording(uint64_t has)
{
	const uint64_t both = 1ull << CAP_PERFMON_BIT | 1ull << CAP_BPF_BIT;

	/* CAP_SYS_ADMIN replaces these two if they are missing. */
	return has & ((has & both) == both ? both : both | 1ull << CAP_SYS_ADMIN);
}

int privileges_drop_for_recording(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	uint64_t has;
	int err;

	if (syscall(SYS_capget, &head, data))
		return -errno;
	has = data[0].permitted | (uint64_t)data[1].permitted << 32;
	err = become_for_files();
	return err ? err : keep_caps(privileges_for_recording(has));
}
