// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * opener.c - see opener.h.
 *
 * If root starts the helper, its environment is built anew: variables of root's session name root's
 * files, and sudo has removed those of the user's session, which can be found again in /run/user.
 */
#include "host/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/output.h"
#include "base/util.h"
#include "host/users.h"

#define PROGRAM "xdg-open"
#define SAFE_PATH "/usr/local/bin:/usr/bin:/bin"
#define FAILS_WITHIN_MS 1000	/* xdg-open reports within this time that it finds no browser */

/* Variables that may be kept from the environment that sudo has left: screen and language. */
static const char *const kept[] = {
	"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "LANG", "LC_ALL", "LC_CTYPE", "BROWSER",
	"XDG_CURRENT_DESKTOP", "XDG_SESSION_TYPE", "DESKTOP_SESSION", "XDG_DATA_DIRS",
};

/* Returns true if there is such a file or socket of the user's in /run/user/UID. */
static bool in_runtime_dir(uid_t uid, const char *name, char path[PATH_MAX])
{
	struct stat st;

	snprintf(path, PATH_MAX, "/run/user/%u%s%s", uid, *name ? "/" : "", name);
	return !lstat(path, &st) && st.st_uid == uid && !S_ISLNK(st.st_mode);
}

static bool has_display(uid_t uid)
{
	const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
	char path[PATH_MAX];

	return (x && *x) || (wayland && *wayland) || in_runtime_dir(uid, "wayland-0", path);
}

/* Restore variables of the user's session that sudo removes. */
static void find_session(uid_t uid)
{
	char path[PATH_MAX], address[PATH_MAX + 16];

	if (!in_runtime_dir(uid, "", path))
		return;
	setenv("XDG_RUNTIME_DIR", path, 1);
	if (in_runtime_dir(uid, "bus", path)) {
		snprintf(address, sizeof(address), "unix:path=%s", path);
		setenv("DBUS_SESSION_BUS_ADDRESS", address, 1);
	}
	if (in_runtime_dir(uid, "wayland-0", path))
		setenv("WAYLAND_DISPLAY", "wayland-0", 0);
}

static int clean_environment(const struct passwd *pw)
{
	char *values[ARRAY_SIZE(kept)];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kept); i++) {
		const char *value = getenv(kept[i]);

		values[i] = value ? strdup(value) : NULL;
	}
	if (clearenv())
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(kept); i++)
		if (values[i])
			setenv(kept[i], values[i], 1);
	setenv("PATH", SAFE_PATH, 1);
	setenv("HOME", pw->pw_dir, 1);
	setenv("USER", pw->pw_name, 1);
	setenv("LOGNAME", pw->pw_name, 1);
	find_session(pw->pw_uid);
	return 0;
}

/* Become the user, permanently. 0 or -errno. */
static int become_user(const struct passwd *pw, gid_t gid)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (geteuid() == 0 && (user_take_groups(pw->pw_name, gid) || setresgid(gid, gid, gid) ||
			       setresuid(pw->pw_uid, pw->pw_uid, pw->pw_uid)))
		return -errno;
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capset, &head, none))
		return -errno;
	/* Verify that nothing of root is left. */
	return setuid(0) && geteuid() == pw->pw_uid && getegid() == gid ? 0 : -EPERM;
}

/* Read everything from the pipe. Returns false if no path came: nothing is to be opened. */
static bool read_path(int fd, char path[PATH_MAX])
{
	size_t len = 0;
	ssize_t n;

	while ((n = read(fd, path + len, PATH_MAX - 1 - len)) > 0)
		len += n;
	path[len] = '\0';
	return !n && len;
}

/* Keep none of our files open in a program that may run for days. */
static void leave_streams(void)
{
	int null = open("/dev/null", O_RDWR);

	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	if (null > STDERR_FILENO)
		close(null);
}

static void run_helper(int path_fd, int err_fd, const struct passwd *pw, gid_t gid)
{
	char path[PATH_MAX];
	int err = 0;

	setsid();	/* Ctrl-C ends the recording, not us */
	if (pw)
		err = become_user(pw, gid);
	if (!err && pw)
		err = clean_environment(pw);
	if (!read_path(path_fd, path))
		_exit(0);
	if (!err) {
		if (chdir("/"))
			_exit(126);
		leave_streams();
		execlp(PROGRAM, PROGRAM, path, (char *)NULL);
		err = -errno;
	}
	err = -err;
	if (write(err_fd, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

static void fork_helper(struct opener *o, const struct passwd *pw, gid_t gid)
{
	int paths[2], errors[2];

	o->why_not = "too many open files or processes";
	if (pipe2(paths, O_CLOEXEC))
		return;
	if (pipe2(errors, O_CLOEXEC)) {
		close(paths[0]);
		close(paths[1]);
		return;
	}
	o->pid = fork();
	if (!o->pid) {
		close(paths[1]);
		close(errors[0]);
		run_helper(paths[0], errors[1], pw, gid);
	}
	close(paths[0]);
	close(errors[1]);
	o->path_fd = paths[1];
	o->err_fd = errors[0];
	if (o->pid > 0) {
		o->why_not = NULL;
		return;
	}
	o->pid = 0;
	close(paths[1]);
	close(errors[0]);
}

void opener_start(struct opener *o)
{
	struct passwd *pw = NULL;
	uid_t uid = getuid();
	gid_t gid = 0;

	*o = (struct opener){ 0 };
	if (geteuid() == 0) {
		if (!output_sudo_user(&uid, &gid) || uid == 0) {
			o->why_not = "root has no desktop, and sudo was not used";
			return;
		}
		pw = user_by_uid(uid);
		if (!pw) {
			o->why_not = "the user who called sudo is unknown";
			return;
		}
	} else if (getauxval(AT_SECURE)) {
		/* We have rights that the user has not, and that must not be passed on. */
		pw = user_by_uid(uid);
		gid = getgid();
		if (!pw)
			o->why_not = "this user has no name";
	}
	if (o->why_not)
		return;
	if (has_display(uid))
		fork_helper(o, pw, gid);
	else
		o->why_not = "no display: neither DISPLAY nor WAYLAND_DISPLAY is set";
}

/* Wait briefly whether xdg-open fails. Returns its exit status; 0: no failure so far. */
static int early_status(pid_t pid)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	int status, i;

	for (i = 0; i < FAILS_WITHIN_MS / 10; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		nanosleep(&pause, NULL);
	}
	return 0;
}

static void hand_over(struct opener *o, const char *path)
{
	int err = write_all(o->path_fd, path, strlen(path)), status = 0;
	int sent = -err;

	close(o->path_fd);
	o->path_fd = -1;
	/* A successful exec closes the pipe; otherwise the helper writes its errno to it. */
	if (!sent && read(o->err_fd, &sent, sizeof(sent)) != sizeof(sent))
		sent = 0;
	if (!sent)
		status = early_status(o->pid);
	if (sent == ENOENT)
		o->why_not = "xdg-open not found: install the package xdg-utils";
	else if (sent)
		o->why_not = "cannot run xdg-open";
	else if (status)
		o->why_not = "xdg-open found no browser";
	close(o->err_fd);
	o->pid = 0;
}

void opener_show(struct opener *o, const char *path)
{
	char whole[PATH_MAX], shown[4 * 256];

	if (!o->why_not && !realpath(path, whole))
		o->why_not = strerror(errno);
	if (!o->why_not && o->pid)
		hand_over(o, whole);
	if (o->why_not)
		log_warn("cannot open '%s' in a browser: %s",
			 escape_text(path, strlen(path), shown, sizeof(shown)), o->why_not);
}

void opener_stop(struct opener *o)
{
	if (!o->pid)
		return;
	close(o->path_fd);
	close(o->err_fd);
	waitpid(o->pid, NULL, 0);
	o->pid = 0;
}
