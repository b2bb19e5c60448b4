// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* spool_place.c - see spool_place.h. */
#include "delivery/spool_place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"

#define SHOWN_BYTES 512
#define LOCK_NAME "lock"

static int log_failure(const char *what, const char *path, int err)
{
	char shown[SHOWN_BYTES];

	escape_text(path, strlen(path), shown, sizeof(shown));
	log_error("cannot %s the spool directory '%s': %s; use a dedicated "
		  "directory for the spool", what, shown, strerror(err));
	return -err;
}

/* Checks its owner and permissions. Returns 0, or -EPERM after logging it. */
static int check_owner(int fd, const char *path, mode_t forbidden)
{
	char shown[SHOWN_BYTES];
	struct stat st;

	if (fstat(fd, &st))
		return log_failure("look at", path, errno);
	/* In a sticky directory only the owner of a name can remove it. */
	if ((st.st_uid == 0 || st.st_uid == geteuid()) &&
	    (!(st.st_mode & forbidden) || (forbidden == 022 && st.st_mode & S_ISVTX)))
		return 0;
	escape_text(path, strlen(path), shown, sizeof(shown));
	if (st.st_uid && st.st_uid != geteuid())
		log_error("'%s' belongs to user %u, who could modify the data that is sent; use "
			  "another directory for the spool", shown, st.st_uid);
	else
		log_error("other users have access to '%s' (mode %03o); run: chmod %s '%s'", shown,
			  st.st_mode & 0777, forbidden == 022 ? "go-w" : "700", shown);
	return -EPERM;
}

/* Splits the path: its directory, and its last component. Returns 0 or -errno. */
static int split_path(const char *path, char dir[PATH_MAX], const char **name)
{
	size_t len = strlen(path);
	char *slash;

	if (!len || len >= PATH_MAX || path[len - 1] == '/')
		return log_failure("use", path, len >= PATH_MAX ? ENAMETOOLONG : EINVAL);
	strcpy(dir, path);
	slash = strrchr(dir, '/');
	*name = slash ? path + (slash - dir) + 1 : path;
	strcpy(slash ? slash + 1 : dir, slash ? "" : ".");
	return 0;
}

/* Returns the descriptor or -errno, which was logged. */
static int open_dir(const char *path)
{
	char parent[PATH_MAX];
	const char *name;
	int fd, up, err = split_path(path, parent, &name);

	if (err)
		return err;
	mkdir(parent, 0700);		/* usually it exists; otherwise the next step fails */
	up = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (up < 0)
		return log_failure("open the parent of", path, errno);
	err = check_owner(up, parent, 022);
	if (!err && mkdirat(up, name, 0700) && errno != EEXIST)
		err = log_failure("create", path, errno);
	fd = err ? -1 : openat(up, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (!err && fd < 0)
		err = log_failure("open", path, errno);
	close(up);
	if (!err)
		err = check_owner(fd, path, 077);
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

int spool_place_open(const char *path, int *dirfd, int *lock)
{
	int fd = open_dir(path), err = 0;

	if (fd < 0)
		return fd;
	*lock = openat(fd, LOCK_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (*lock < 0)
		err = log_failure("lock", path, errno);
	else if (flock(*lock, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		err = -EBUSY;
	else if (!err && flock(*lock, LOCK_EX | LOCK_NB))
		err = log_failure("lock", path, errno);
	if (err == -EBUSY)
		log_error("another tachbpf agent uses the spool directory '%s'; stop it, or use "
			  "another directory for this one", path);
	if (err) {
		if (*lock >= 0)
			close(*lock);
		close(fd);
		return err;
	}
	*dirfd = fd;
	return 0;
}
