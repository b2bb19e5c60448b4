// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * output.c - see output.h.
 *
 * The threat: root records, and another local user prepares the directory where the files
 * are created. If there is a link or a file of his with the final name, it is unlinked or
 * refused, and never opened. A directory of his is refused, because he could exchange names
 * in it between our steps. In a sticky directory of root's (/tmp), O_EXCL and O_NOFOLLOW
 * suffice. Parent directories that the user named are trusted, as by cp(1).
 */
#include "base/output.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/pager.h"
#include "base/util.h"

/* How many bytes of a comm are in a file name; the kernel's has 15. */
#define COMM_BYTES 64
#define SHOWN_BYTES 512

static const char *shown(const char *path, char buf[SHOWN_BYTES])
{
	return escape_text(path, strlen(path), buf, SHOWN_BYTES);
}

/* What the user can do about err. */
static const char *remedy(int err)
{
	static const struct {
		int err;
		const char *text;
	} remedies[] = {
		{ EACCES, "; give -o a place that you may write to" },
		{ EPERM, "; give -o a place that you may write to" },
		{ EROFS, "; give -o a place that is writable" },
		{ ENOENT, "; create its directory first" },
		{ ENOTDIR, "; a part of the path is not a directory: give another with -o" },
		{ ENAMETOOLONG, "; give a shorter one with -o" },
		{ ENOSPC, "; make room or give another place with -o" },
		{ EDQUOT, "; make room or give another place with -o" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(remedies); i++)
		if (remedies[i].err == err)
			return remedies[i].text;
	return "";
}

static int fail(const char *what, const char *path, int err)
{
	char buf[SHOWN_BYTES];

	log_error("cannot %s '%s': %s%s", what, shown(path, buf), strerror(err), remedy(err));
	return -err;
}

/* Parse a decimal id from the environment. */
static bool env_id(const char *name, unsigned int *id)
{
	const char *text = getenv(name);
	unsigned long value;
	char *end;

	if (!text || !isdigit((unsigned char)*text))
		return false;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || value >= UINT_MAX)
		return false;
	*id = (unsigned int)value;
	return true;
}

bool output_sudo_user(uid_t *uid, gid_t *gid)
{
	return geteuid() == 0 && env_id("SUDO_UID", uid) && env_id("SUDO_GID", gid);
}

static int give_away(int fd, const char *path)
{
	uid_t uid;
	gid_t gid;

	if (output_sudo_user(&uid, &gid) && fchown(fd, uid, gid))
		return fail("give to the calling user", path, errno);
	return 0;
}

int output_check_dir(int dirfd, const char *path)
{
	char buf[SHOWN_BYTES];
	uid_t uid = 0;
	struct stat st;
	gid_t gid;

	if (fstat(dirfd, &st))
		return fail("look at", path, errno);
	if (!S_ISDIR(st.st_mode))
		return fail("write into", path, ENOTDIR);
	if (geteuid() != 0 || st.st_uid == 0 || (output_sudo_user(&uid, &gid) && st.st_uid == uid))
		return 0;
	log_error("directory '%s' belongs to user %u, who could misuse root's writing there; "
		  "give another place with -o",
		  shown(path, buf), st.st_uid);
	return -EPERM;
}

int output_open_parent(const char *path, char name[OUTPUT_NAME_MAX], bool dir_wanted)
{
	char dir[PATH_MAX], *slash;
	size_t len = strlen(path);
	int fd, err;

	while (dir_wanted && len > 1 && path[len - 1] == '/')
		len--;
	if (!len || len >= sizeof(dir))
		return fail("create", path, len ? ENAMETOOLONG : ENOENT);
	memcpy(dir, path, len);
	dir[len] = '\0';
	slash = strrchr(dir, '/');
	if (strlen(slash ? slash + 1 : dir) >= OUTPUT_NAME_MAX)
		return fail("create", path, ENAMETOOLONG);
	strcpy(name, slash ? slash + 1 : dir);
	if (!*name && dir_wanted)
		strcpy(name, ".");	/* "/" */
	if (!*name)
		return fail("create", path, EISDIR);
	if (slash)
		slash[1] = '\0';
	else
		strcpy(dir, ".");
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return fail("create", path, errno);
	err = output_check_dir(fd, dir);
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

static int open_dir(int parent, const char *name, const char *path)
{
	char buf[SHOWN_BYTES];
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 || (errno != ENOTDIR && errno != ELOOP))
		return fd >= 0 ? fd : fail("open directory", path, errno);
	log_error("'%s' exists and is not a directory; give another name with -o",
		  shown(path, buf));
	return -ENOTDIR;
}

/* Refuse a directory that has a recording. 0, or -EEXIST after logging it. */
static int refuse_recording(int fd, const char *path)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;
	char buf[SHOWN_BYTES];
	struct dirent *e;
	DIR *d = copy < 0 ? NULL : fdopendir(copy);

	if (!d) {
		err = fail("look into", path, errno);
		if (copy >= 0)
			close(copy);
		return err;
	}
	while (!err && (e = readdir(d))) {
		const char *dot = strrchr(e->d_name, '.');

		if (!strcmp(e->d_name, "session.json") || (dot && !strcmp(dot, ".tach")))
			err = -EEXIST;
	}
	closedir(d);
	if (err)
		log_error("'%s' already holds a recording; remove it or give another directory "
			  "with -o", shown(path, buf));
	return err;
}

int output_create_dir(const char *path)
{
	char name[OUTPUT_NAME_MAX];
	int parent, fd, err = 0;
	bool made;

	parent = output_open_parent(path, name, true);
	if (parent < 0)
		return parent;
	made = !mkdirat(parent, name, 0700);
	if (!made && errno != EEXIST) {
		fd = fail("create directory", path, errno);
		goto out;
	}
	fd = open_dir(parent, name, path);
	if (fd < 0)
		goto out;
	err = output_check_dir(fd, path);
	if (!err)
		err = made ? give_away(fd, path) : refuse_recording(fd, path);
	if (!err && faccessat(fd, ".", W_OK | X_OK, AT_EACCESS))
		err = fail("write into", path, errno);
	if (err) {
		close(fd);
		fd = err;
	}
out:
	close(parent);
	return fd;
}

int output_check_replaceable(int dirfd, const char *name)
{
	char buf[SHOWN_BYTES];
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : fail("look at", name, errno);
	if (S_ISREG(st.st_mode))
		return 0;
	log_error("'%s' exists and is a %s; give another name with -o", shown(name, buf),
		  S_ISDIR(st.st_mode) ? "directory" :
		  S_ISLNK(st.st_mode) ? "symbolic link, which is not followed" :
					"device, pipe or socket");
	return S_ISDIR(st.st_mode) ? -EISDIR : -EEXIST;
}

static int create_exclusive(int dirfd, const char *name, mode_t mode)
{
	int fd, err;

	fd = openat(dirfd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0)
		return fail("create", name, errno);
	err = give_away(fd, name);
	if (err) {
		close(fd);
		unlinkat(dirfd, name, 0);
		return err;
	}
	return fd;
}

int output_create_file(int dirfd, const char *name)
{
	int err = output_check_replaceable(dirfd, name);

	if (err)
		return err;
	if (unlinkat(dirfd, name, 0) && errno != ENOENT)
		return fail("replace", name, errno);
	return create_exclusive(dirfd, name, 0600);
}

int output_create_path(const char *path)
{
	char name[OUTPUT_NAME_MAX];
	int dirfd = output_open_parent(path, name, false), fd;

	if (dirfd < 0)
		return dirfd;
	fd = output_create_file(dirfd, name);
	close(dirfd);
	return fd;
}

int output_open(struct output_file *f, const char *path)
{
	int err;

	f->fd = -1;
	f->dirfd = output_open_parent(path, f->name, false);
	if (f->dirfd < 0)
		return f->dirfd;
	err = output_check_replaceable(f->dirfd, f->name);
	if (err)
		goto out;
	/*
	 * The name does not derive from the final one,
	 * which may already have the maximum length.
	 */
	snprintf(f->temp, sizeof(f->temp), ".tachbpf-%d.tmp", (int)getpid());
	/* A killed process with the same pid may have left it: O_EXCL would fail on it for ever. */
	unlinkat(f->dirfd, f->temp, 0);
	f->fd = create_exclusive(f->dirfd, f->temp, 0666);
	err = f->fd < 0 ? f->fd : 0;
out:
	if (err)
		close(f->dirfd);
	return err;
}

int output_commit(struct output_file *f)
{
	int err = 0;

	if (close(f->fd))	/* some file systems report a full disk only here */
		err = fail("write", f->name, errno);
	else if (renameat(f->dirfd, f->temp, f->dirfd, f->name))
		err = fail("create", f->name, errno);
	if (err)
		unlinkat(f->dirfd, f->temp, 0);
	close(f->dirfd);
	return err;
}

void output_abort(struct output_file *f)
{
	close(f->fd);
	unlinkat(f->dirfd, f->temp, 0);
	close(f->dirfd);
}

/* The directory and the last component of path. false: it has none, or it cannot be looked at. */
static bool locate(const char *path, struct stat *dir, char name[OUTPUT_NAME_MAX])
{
	char parent[PATH_MAX], *slash;
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	if (!len || len >= sizeof(parent))
		return false;
	memcpy(parent, path, len);
	parent[len] = '\0';
	slash = strrchr(parent, '/');
	if (strlen(slash ? slash + 1 : parent) >= OUTPUT_NAME_MAX)
		return false;
	strcpy(name, slash ? slash + 1 : parent);
	if (slash)
		slash[1] = '\0';
	return !stat(slash ? parent : ".", dir);
}

bool output_same_file(const char *a, const char *b)
{
	char name_a[OUTPUT_NAME_MAX], name_b[OUTPUT_NAME_MAX];
	struct stat dir_a, dir_b;

	return locate(a, &dir_a, name_a) && locate(b, &dir_b, name_b) &&
	       dir_a.st_dev == dir_b.st_dev && dir_a.st_ino == dir_b.st_ino &&
	       !strcmp(name_a, name_b);
}

int output_flush_stdout(void)
{
	int err = 0;

	errno = 0;
	if (fflush(stdout) || ferror(stdout))
		err = errno ? errno : EIO;
	if (err == EPIPE && pager_is_started())
		return 0;	/* the user has seen enough */
	if (err && err != EPIPE)
		log_error("cannot write to standard output: %s", strerror(err));
	return -err;
}

void output_file_name(char out[OUTPUT_NAME_MAX], uint32_t tgid, const char *comm,
		      unsigned int seq)
{
	size_t len = strlen(comm), i, n, o;
	char safe[COMM_BYTES + 1];
	bool leading = true;
	uint32_t cp;

	for (i = 0, o = 0; i < len && o + 4 <= COMM_BYTES; i += n ? n : 1) {
		n = utf8_char(comm + i, len - i, &cp);
		leading &= n && cp == '.';
		if (!n || !utf8_printable(cp) || cp == '/' || leading) {
			safe[o++] = '_';
		} else {
			memcpy(safe + o, comm + i, n);
			o += n;
		}
	}
	safe[o] = '\0';
	if (seq)
		snprintf(out, OUTPUT_NAME_MAX, "%u-%s.%u.tach", tgid, o ? safe : "_", seq);
	else
		snprintf(out, OUTPUT_NAME_MAX, "%u-%s.tach", tgid, o ? safe : "_");
}

void output_default_name(char out[OUTPUT_NAME_MAX])
{
	char host[COMM_BYTES + 1] = "", when[32], *c;
	time_t now = time(NULL);
	struct tm utc;

	if (gethostname(host, sizeof(host) - 1) || !*host)
		strcpy(host, "localhost");
	for (c = host; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '-' && *c != '_' &&
		    (*c != '.' || c == host))
			*c = '_';
	gmtime_r(&now, &utc);
	strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", &utc);
	snprintf(out, OUTPUT_NAME_MAX, "tachbpf-%s-%s", host, when);
}
