// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* doctor_native.c - see doctor_native.h. Only --native needs this. */
#include "doctor/doctor_native.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "capture/capture.h"
#include "doctor/doctor.h"
#include "elf_helper/elf_start.h"
#include "host/kallsyms.h"

/* The helper has lost its peers, and ends within this time. */
#define HELPER_ENDS_MS 2000

/* ---- the helper ---- */

/* Returns 0 if it ends as it should, or -errno. */
static int wait_for_end(pid_t pid, int pidfd)
{
	struct pollfd ended = { .fd = pidfd, .events = POLLIN };
	int status = -1;

	if (poll(&ended, 1, HELPER_ENDS_MS) != 1)
		kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -ECHILD;
}

/* Starts it, and closes its sockets. */
static int try_helper(void)
{
	int to_main[2] = { -1, -1 }, to_opener[2] = { -1, -1 }, err, pidfd, i;
	pid_t pid;

	err = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, to_main) ||
	      socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, to_opener) ? -errno : 0;
	if (!err)
		err = elf_helper_start(ELF_ROLE_NAMES, to_main[1], to_opener[1], &pid, &pidfd);
	for (i = 0; i < 2; i++) {
		if (to_main[i] >= 0)
			close(to_main[i]);
		if (to_opener[i] >= 0)
			close(to_opener[i]);
	}
	if (err)
		return err;
	err = wait_for_end(pid, pidfd);
	close(pidfd);
	return err;
}

void doctor_native_helper(const struct doctor_check *c, struct finding *f)
{
	char path[PATH_MAX] = "", shown[160];
	int err = elf_helper_find(path, sizeof(path));

	escape_text(path, strlen(path), shown, sizeof(shown));
	if (err == -EPERM) {
		finding_set(f, VERDICT_OFF, "other users can change %s: --native does not start it",
			    shown);
		finding_fix(f, "make root its owner, and the only user who can write to it");
		return;
	}
	if (err) {
		finding_set(f, VERDICT_OFF, ELF_HELPER_NAME " %s: --native is unavailable",
			    err == -ENOENT ? "is missing" : strerror(-err));
		finding_fix(f, "install the whole package; to build it: make check-deps, make");
		return;
	}
	err = try_helper();
	if (!err) {
		finding_set(f, VERDICT_OK, "%s works", shown);
		return;
	}
	finding_set(f, VERDICT_OFF, "%s does not start: --native is unavailable%s%s", shown,
		    err == -ECHILD ? "" : ": ", err == -ECHILD ? "" : strerror(-err));
	finding_fix(f, "ldd %s shows missing libraries", shown);
}

/* ---- rights ---- */

/* Opens the first file that this process has mapped. Returns 0 or -errno. */
static int open_a_mapped_file(void)
{
	DIR *dir = opendir("/proc/self/map_files");
	struct dirent *e;
	int fd, err = dir ? -ENOENT : -errno;

	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			break;
	if (dir && e) {
		fd = openat(dirfd(dir), e->d_name, O_RDONLY | O_CLOEXEC);
		err = fd < 0 ? -errno : close(fd);
	}
	if (dir)
		closedir(dir);
	return err;
}

void doctor_native_mapped_files(const struct doctor_check *c, struct finding *f)
{
	int err = open_a_mapped_file();

	if (!err) {
		finding_set(f, VERDICT_OK, "libraries can be opened as processes have mapped them");
		return;
	}
	finding_set(f, VERDICT_OFF, "/proc/PID/map_files: %s: --native is unavailable",
		    strerror(-err));
	finding_fix(f, "grant CAP_CHECKPOINT_RESTORE (since 5.9) or CAP_SYS_ADMIN");
}

void doctor_native_kernel(const struct doctor_check *c, struct finding *f)
{
	struct kallsyms *k = kallsyms_read("/proc/kallsyms");

	if (k) {
		finding_set(f, VERDICT_OK, "known, from /proc/kallsyms");
		kallsyms_free(k);
		return;
	}
	finding_set(f, VERDICT_NOTE, "/proc/kallsyms %s: stacks end at the entry to the kernel",
		    errno == EPERM ? "hides its addresses" : strerror(errno));
	finding_fix(f, "run as root with the sysctl kernel.kptr_restrict set to 1 or 0, or grant "
		    "CAP_SYSLOG");
}

/* ---- tables on disk ---- */

/* Removes the last component. Returns false if none is left. */
static bool go_up(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash || slash == path)
		return false;
	*slash = '\0';
	return true;
}

void doctor_native_tables(const struct doctor_check *c, struct finding *f)
{
	char path[] = CAPTURE_NATIVE_TABLES;

	while (access(path, F_OK) && go_up(path))
		;
	if (!access(path, W_OK | X_OK)) {
		finding_set(f, VERDICT_OK, "kept in " CAPTURE_NATIVE_TABLES);
		return;
	}
	finding_set(f, VERDICT_NOTE, "%s: %s: each recording rebuilds them", path,
		    strerror(errno));
}
